package frontier

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"headway/visit"
)

// forbidding is a frontier with hosts whose robots.txt forbids /no.
func forbidding(t *testing.T) *rig {
	return newRig(t, Config{Forbidden: func(it *visit.Item) *visit.Visit {
		if !strings.Contains(it.URL.String(), "/no/") {
			return nil
		}
		return &visit.Visit{Item: *it, Outcome: visit.Skipped, Reason: visit.RobotsDisallow}
	}})
}

// mixed returns n URLs on a host, every other one forbidden.
func mixed(host string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("https://%s/%s/%d", host, []string{"yes", "no"}[i%2], i)
	}
	return list
}

// resolved ends the resolved visits of the last batch, each once.
func (r *rig) resolved() (requests []Request) {
	r.t.Helper()
	for _, x := range r.batch.Resolved {
		if x.Settled.Verdict != Ended || !strings.Contains(x.Request.Item.URL.String(), "/no/") {
			r.t.Errorf("%s was resolved as %v", x.Request.Item.URL, x.Settled.Verdict)
		}
		r.end(x.Request, x.Visit.Outcome)
		requests = append(requests, x.Request)
	}
	r.batch.Resolved = nil
	return requests
}

// forbiddenWaits is how many forbidden URLs wait in the store.
func (r *rig) forbiddenWaits() (n int) {
	for _, list := range r.urlStore.waiting {
		for _, it := range list {
			if strings.Contains(it.URL.String(), "/no/") {
				n++
			}
		}
	}
	return n
}

// TestForbiddenEndsWithoutTurn: forbidden URLs end when robots.txt arrives, and later
// ones when they are found, while the host waits for its pace.
func TestForbiddenEndsWithoutTurn(t *testing.T) {
	r := forbidding(t)
	r.robots = RobotsState{}
	r.add(1, mixed("a.example", 20)...)
	file := r.one()
	if file.Kind != Robots || len(r.batch.Resolved) > 0 {
		t.Fatalf("%v comes first, %d resolved", file.Kind, len(r.batch.Resolved))
	}
	r.do(file, status(http.StatusOK))
	r.f.SetRobots(r.now, "https://a.example", RobotsState{Known: true, Ever: true})
	r.f.Judge(r.now, "https://a.example")
	r.none() // the pace counts from robots.txt
	ended := r.resolved()
	if len(ended) != 10 || r.forbiddenWaits() != 0 {
		t.Errorf("%d ended when robots.txt came, %d wait", len(ended), r.forbiddenWaits())
	}
	r.commit(ended...)
	r.add(1, "https://a.example/no/later", "https://a.example/yes/later")
	r.none()
	if ended = r.resolved(); len(ended) != 1 {
		t.Errorf("%d ended when found", len(ended))
	}
	r.commit(ended...)
	for _, url := range r.drain(100) {
		if strings.Contains(url, "/no/") {
			t.Errorf("%s had a turn", url)
		}
	}
}

// sift checks a queue as it is in the store now.
func (r *rig) sift(s Sift) (list []*visit.Visit) {
	for _, it := range r.urlStore.waiting[queueKey{s.Host, s.Job}] {
		if v := r.f.cfg.Forbidden(&it); v != nil {
			list = append(list, v)
		}
	}
	return list
}

// TestForbiddenEndsOnce checks what waits beyond the head, while some of it is read
// into memory and ends there.
func TestForbiddenEndsOnce(t *testing.T) {
	r := forbidding(t)
	r.put(1, mixed("a.example", 1000)...)
	r.warm()
	for range 100 {
		if r.next(); len(r.batch.Sift) > 0 {
			break
		}
		r.commit(r.resolved()...)
		r.pass(time.Second)
	}
	if len(r.batch.Sift) != 1 {
		t.Fatalf("%d queues to be judged, want one", len(r.batch.Sift))
	}
	sift := r.batch.Sift[0]
	list := r.sift(sift)
	r.commit(r.resolved()...) // after the store was read
	if r.f.Idle() {
		t.Error("idle while a queue is being judged")
	}
	if !r.f.Forbid(r.now, sift, list) {
		t.Error("told to stop")
	}
	r.f.Next(r.now, 0, visit.WaitWorkers)
	r.batch = Batch{Resolved: r.f.out.Resolved}
	ended := r.resolved()
	if r.forbiddenWaits() != 0 {
		t.Errorf("%d ended, %d forbidden URLs wait", len(ended), r.forbiddenWaits())
	}
	r.commit(ended...)
	r.f.Sifted(r.now, sift)
}

// TestForbiddenEndsOnceDespiteRefill: URLs end while a refill is in progress that read
// them before.
func TestForbiddenEndsOnceDespiteRefill(t *testing.T) {
	r := forbidding(t)
	r.manual = true
	r.put(1, mixed("a.example", 40)...)
	r.warm()
	r.next()
	for _, name := range r.batch.Load {
		r.load(name)
	}
	r.next()
	wants := r.batch.Refill
	items := r.urlStore.heads(r.now, wants[0])
	r.add(1, "https://a.example/no/new") // enters memory meanwhile
	items = append(items, r.urlStore.heads(r.now, Want{Host: wants[0].Host, Job: 1, Max: 100})[40:]...)
	r.next()
	r.commit(r.resolved()...)
	r.f.Refilled(r.now, wants, items)
	r.next()
	r.commit(r.resolved()...)
	if n := r.forbiddenWaits(); n != 0 {
		t.Errorf("%d forbidden URLs wait", n)
	}
}
