package frontier

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// The tests of this file cover waits that would never end, and URLs requested again
// after they ended.

func limited(id job.ID) Job {
	j := plainJob(id)
	j.Limited = true
	return j
}

// A host that waits for URLs while its job uses the last token must be woken by the
// next token.
func TestHungryHostWithoutTokens(t *testing.T) {
	r := newRig(t, Config{Head: 1}, limited(1))
	r.manual = true
	r.add(1, "https://a.example/1")
	r.next()
	r.load("https://a.example")
	r.next()
	r.refill(r.batch.Refill)
	r.next()
	r.f.Grant(r.now, 1, PageToken, 1)
	// b.example waits for URLs while a.example takes the token.
	r.put(1, "https://b.example/1")
	r.f.Warm(r.now, mustURL("https://b.example/"), []job.ID{1})
	r.f.loading.pop(0)
	r.f.loads++
	r.load("https://b.example")
	h := r.f.hosts.find("https://b.example")
	h.robots = robotsKnown
	r.f.look(h, r.now)
	if h.line != inHungry {
		t.Fatalf("b.example: line %d, %s", h.line, h.doing())
	}
	a := r.one()
	r.ok(a)
	r.manual = false
	r.next()
	r.f.Grant(r.now, 1, PageToken, 1)
	if b := r.one(); b.Host != "https://b.example" {
		t.Errorf("%s got the token", b.Host)
	}
}

// A returned token goes to a host that can use it, though others queued before it and
// no longer need one.
func TestTokenPassesHostsWithoutUseForIt(t *testing.T) {
	r := newRig(t, Config{}, limited(1))
	r.tokens[1] = 1
	r.add(1, "https://a.example/1")
	a := r.one()
	r.sent(a)
	for _, host := range []string{"b", "c", "d"} {
		r.add(1, "https://"+host+".example/1")
	}
	r.none()
	for _, name := range []string{"https://b.example", "https://c.example"} {
		r.f.GiveUp(r.now, name, visit.Skipped, visit.CrawlDelayTooLong)
	}
	r.none()
	r.settle(a, status(http.StatusFound)) // no page: the token is returned
	r.commit(a)
	if d := r.one(); d.Host != "https://d.example" {
		t.Errorf("%s got the token", d.Host)
	}
}

// Nothing is requested for a stopped job.
func TestStoppedJobAsksForNothing(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{}
	r.add(1, "https://a.example/1")
	r.f.Run(r.now, Errand{URL: mustURL("https://b.example/sitemap.xml"), Job: 1})
	r.states["https://b.example"] = HostState{State: politeness.New("https://b.example"), Robots: RobotsState{Known: true}}
	r.limit = 0
	r.next()
	r.limit = 10
	r.f.StopJob(r.now, 1)
	r.none()
	r.add(1, "https://c.example/1")
	r.none()
}

// A closed robots.txt without a time is fetched again, and allows no page.
func TestClosedWithoutTime(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{Known: true, Closed: true}
	r.add(1, "https://a.example/1")
	if req := r.one(); req.Kind != Robots {
		t.Errorf("kind %d handed out, want robots.txt", req.Kind)
	}
}

// A job does not wait longer than its patience for a robots.txt that is due later.
func TestPatienceWithClosedRobots(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{}
	r.add(1, "https://a.example/1")
	req := r.one()
	r.do(req, status(http.StatusInternalServerError))
	r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Closed: true, Due: r.now.Add(12 * time.Hour)})
	r.drain(10)
	if got := r.urlStore.ended[jobURL{1, mustURL("https://a.example/1")}]; got != visit.Skipped || r.now.Sub(start) > 11*time.Minute {
		t.Errorf("ended %q after %v", got, r.now.Sub(start))
	}
}

// The count of pages per host survives the queue of a job, which is dropped while other
// jobs use the host.
func TestPagesPerHostOutliveTheQueue(t *testing.T) {
	few := plainJob(1)
	few.MaxPagesPerHost = 2
	r := newRig(t, Config{}, few, plainJob(2))
	r.add(1, "https://a.example/1")
	r.add(2, pages("a.example", 3)...)
	r.drain(20)
	r.add(2, "https://a.example/9")
	r.add(1, pages("a.example", 5)...)
	r.drain(100)
	fetched := 0
	for u, o := range r.urlStore.ended {
		if u.job == 1 && o == visit.Fetched {
			fetched++
		}
	}
	if fetched != 2 {
		t.Errorf("%d pages of job 1, want 2", fetched)
	}
}

// Only the errands of the job that gives up are dropped.
func TestParkLeavesOtherErrands(t *testing.T) {
	few := plainJob(1)
	few.MaxPagesPerHost = 1
	r := newRig(t, Config{}, few, plainJob(2))
	r.add(1, pages("a.example", 3)...)
	req := r.one()
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/one.xml"), Job: 1})
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/two.xml"), Job: 2})
	r.ok(req)
	r.pass(2 * time.Second)
	if req := r.one(); req.Kind != Sitemap || req.Job != 2 {
		t.Errorf("kind %d of job %d handed out, want the sitemap of job 2", req.Kind, req.Job)
	}
}

// An errand does not extend the wait for a host beyond the job's patience.
func TestPatienceWithErrand(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, "https://a.example/1")
	req := r.one()
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/sitemap.xml"), Job: 1})
	r.sent(req)
	r.settle(req, reply{status: http.StatusNotFound})
	r.commit(req)
	r.pass(2 * time.Second)
	errand := r.one()
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/other.xml"), Job: 1})
	r.do(errand, reply{status: http.StatusTooManyRequests, retryAfter: 24 * time.Hour})
	r.none()
	if !r.f.Idle() {
		t.Errorf("the frontier waits for a sitemap%s", r.describe())
	}
}

// A park ends all that waits, so nothing of the queue may be in flight.
func TestParkWaitsForWhatIsUnderWay(t *testing.T) {
	p := plainJob(1)
	p.Policy = policyWith(func(p *politeness.Policy) { p.Base, p.InFlight, p.FailureThreshold = 0, 8, 3 })
	r := newRig(t, Config{}, p)
	r.add(1, pages("a.example", 400)...)
	for range 20 {
		for _, req := range r.next() {
			r.ok(req)
		}
	}
	var under []Request
	for range 5 {
		r.limit = 5 - len(under)
		reqs := r.next()
		for _, req := range reqs {
			r.sent(req)
		}
		under = append(under, reqs...)
	}
	r.limit = 10
	if len(under) != 5 {
		t.Fatalf("%d requests under way, want 5", len(under))
	}
	for _, req := range under[:3] {
		r.pass(time.Millisecond)
		r.settle(req, reply{fault: politeness.Connect, answered: true})
	}
	r.next() // r.park fails the test
	r.commit(under[:3]...)
	r.next()
	for _, req := range under[3:] {
		r.settle(req, reply{fault: politeness.Connect, answered: true})
	}
	r.commit(under[3:]...)
	r.next()
	if n := len(r.urlStore.waiting[queueKey{"https://a.example", 1}]); n != 0 || !r.f.Idle() {
		t.Errorf("%d URLs wait after the park%s", n, r.describe())
	}
}

// URLs that a refill returns while they are being parked are not kept.
func TestRefillDuringPark(t *testing.T) {
	r := newRig(t, Config{Head: 4})
	r.manual = true
	r.add(1, pages("a.example", 9)...)
	r.next()
	r.load("https://a.example")
	reqs := r.next()
	wants := r.batch.Refill
	if len(wants) != 1 {
		r.ok(reqs[0])
		r.next()
		wants = r.batch.Refill
	} else {
		r.ok(reqs[0])
	}
	for len(wants) == 0 {
		r.pass(2 * time.Second)
		r.ok(r.one())
		wants = r.batch.Refill
	}
	items := r.urlStore.heads(r.now, wants[0])
	r.f.GiveUp(r.now, "https://a.example", visit.Skipped, visit.CrawlDelayTooLong)
	r.next()
	parks := r.batch.Parks
	r.f.Refilled(r.now, wants, items)
	r.next()
	for _, p := range append(parks, r.batch.Parks...) {
		r.park(p)
	}
	r.manual = false
	r.pass(5 * time.Second)
	r.none()
	if !r.f.Idle() {
		t.Errorf("not idle%s", r.describe())
	}
}

// Suspects that were set aside are parked, too.
func TestParkTakesSuspectsThatWait(t *testing.T) {
	r := newRig(t, Config{Suspects: []weburl.URL{mustURL("https://a.example/1"), mustURL("https://b.example/1")}})
	r.add(1, "https://a.example/1", "https://b.example/1")
	first := r.one()
	other := "https://b.example"
	if first.Host == other {
		other = "https://a.example"
	}
	r.f.GiveUp(r.now, other, visit.Skipped, visit.CrawlDelayTooLong)
	r.next()
	r.ok(first)
	r.pass(5 * time.Second)
	r.none()
	if !r.f.Idle() {
		t.Errorf("not idle%s", r.describe())
	}
}

// A suspect of one job that is set aside does not hide the same URL of another.
func TestSuspectOfTwoJobs(t *testing.T) {
	shared := "https://a.example/1"
	r := newRig(t, Config{Suspects: []weburl.URL{mustURL(shared), mustURL("https://b.example/1")}}, plainJob(1), plainJob(2))
	r.add(1, "https://b.example/1")
	first := r.one()
	r.sent(first)
	r.add(1, shared)
	r.none() // set aside
	r.add(2, shared)
	r.none()
	r.settle(first, status(http.StatusOK))
	r.commit(first)
	r.drain(20)
	if n := len(r.urlStore.ended); n != 3 {
		t.Errorf("%d URLs ended, want 3", n)
	}
}

// Many suspects at the front of a queue do not hide what comes after them.
func TestSuspectsBeforeOthers(t *testing.T) {
	var suspects []weburl.URL
	for _, raw := range pages("a.example", 20) {
		suspects = append(suspects, mustURL(raw))
	}
	r := newRig(t, Config{Head: 4, Suspects: append(suspects, mustURL("https://b.example/1"))})
	r.add(1, "https://b.example/1")
	r.sent(r.one())
	r.put(1, pages("a.example", 22)...)
	r.f.Warm(r.now, mustURL("https://a.example/"), []job.ID{1})
	if req := r.one(); req.Item.URL != mustURL("https://a.example/21") {
		t.Errorf("%s handed out, want the first that is not a suspect", req.Item.URL)
	}
}

// Warm during a refill is not forgotten.
func TestWarmDuringRefill(t *testing.T) {
	r := newRig(t, Config{})
	r.manual = true
	r.add(1, "https://a.example/1")
	r.next()
	r.load("https://a.example")
	reqs := r.next()
	wants := r.batch.Refill
	items := r.urlStore.heads(r.now, wants[0])
	r.put(1, "https://a.example/2")
	r.f.Warm(r.now, mustURL("https://a.example/"), []job.ID{1})
	r.f.Refilled(r.now, wants, items)
	r.manual = false
	r.ok(reqs[0])
	r.drain(10)
	if n := len(r.urlStore.ended); n != 2 {
		t.Errorf("%d URLs ended, want 2", n)
	}
}

// Warm with an unknown job does not report that there is no room.
func TestWarmUnknownJob(t *testing.T) {
	r := newRig(t, Config{})
	if !r.f.Warm(r.now, mustURL("https://a.example/"), []job.ID{7, 1}) {
		t.Error("no room in an empty frontier")
	}
	if _, ok := r.f.View("https://a.example"); !ok {
		t.Error("the host of the known job was not taken in")
	}
}

// A host that is moved to the store while the store is read for others is not forgotten
// when the read ends.
func TestColdWhileWarming(t *testing.T) {
	r := newRig(t, Config{HotHosts: 1})
	r.add(1, "https://a.example/1", "https://b.example/1")
	r.ok(r.one())
	for !r.batch.Cold {
		r.pass(10 * time.Second)
		r.none()
	}
	// The caller has read the store to its end and found b; c is added meanwhile.
	r.f.Warm(r.now, mustURL("https://b.example/"), []job.ID{1})
	r.add(1, "https://c.example/1")
	r.f.Warmed()
	if r.ok(r.one()); r.f.Idle() {
		t.Fatal("idle, though c.example rests in the store")
	}
	for !r.batch.Cold {
		r.pass(10 * time.Second)
		r.none()
	}
	r.f.Warm(r.now, mustURL("https://c.example/"), []job.ID{1})
	r.f.Warmed()
	r.drain(20)
	if n := len(r.urlStore.ended); n != 3 {
		t.Errorf("%d URLs ended, want 3", n)
	}
}

// URLs that are not due are not requested from the store over and over.
func TestMoreLaterThanRoom(t *testing.T) {
	r := newRig(t, Config{Head: 4})
	for i := range 20 {
		it := visit.Item{Job: 1, URL: mustURL(fmt.Sprintf("https://a.example/%d", i)), NotBefore: start.Add(time.Duration(30-i) * time.Minute)}
		r.urlStore.add(it)
	}
	r.f.Warm(r.now, mustURL("https://a.example/"), []job.ID{1})
	if wake := r.none(); wake.IsZero() {
		t.Error("nothing to wait for")
	}
	if order := r.drain(5000); len(order) != 20 || order[0] != "https://a.example/19" {
		t.Errorf("order %v", order)
	}
}

// A queue is not refilled over and over while there is no room.
func TestNoRoomForMore(t *testing.T) {
	r := newRig(t, Config{Head: 64, MaxItems: 4})
	for i := range 6 {
		r.put(1, pages(fmt.Sprintf("h%d.example", i), 6)...)
		r.f.Warm(r.now, mustURL(fmt.Sprintf("https://h%d.example/", i)), []job.ID{1})
	}
	r.limit = 0
	r.next() // fails if it makes no progress
	r.limit = 10
	if order := r.drain(500); len(order) != 36 {
		t.Errorf("%d URLs handed out, want 36", len(order))
	}
}

// A state that was stored with requests in flight is loaded without them.
func TestLoadedWithRequestsUnderWay(t *testing.T) {
	r := newRig(t, Config{})
	s := quick.Sent(politeness.New("https://a.example"), start.Add(-time.Hour))
	r.states["https://a.example"] = HostState{State: s, Robots: r.robots}
	r.add(1, "https://a.example/1")
	r.ok(r.one())
}

// The interval of a domain counts from the last request to any of its hosts, even if
// that was before the host was loaded.
func TestDomainIntervalIsLoaded(t *testing.T) {
	r := newRig(t, Config{})
	s := quick.Sent(politeness.New("https://a.example.com"), start)
	s, _ = quick.Observe(s, start, politeness.Answer{SentAt: start, Status: http.StatusOK})
	r.states["https://a.example.com"] = HostState{State: s, Robots: r.robots}
	r.at(10 * time.Millisecond)
	r.add(1, "https://a.example.com/1", "https://b.example.com/1")
	r.none()
	r.waits("b.example.com", visit.WaitDomainInterval)
	r.at(500 * time.Millisecond)
	if req := r.one(); req.Host != "https://b.example.com" {
		t.Errorf("%s handed out", req.Host)
	}
}

// A host that waits only for us is not given up because it failed long ago.
func TestPatienceIsWithTheHost(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("a.example", 3)...)
	r.do(r.one(), reply{fault: politeness.Connect, answered: true})
	r.limit = 0
	r.pass(time.Hour) // no worker was free
	r.next()
	r.limit = 10
	if len(r.batch.Parks) > 0 {
		t.Fatal("parked without having been asked again")
	}
	r.ok(r.one())
	r.drain(20)
	for u, o := range r.urlStore.ended {
		if o != visit.Fetched {
			t.Errorf("%s ended %s", u.url, o)
		}
	}
}

// An outage of our own network is not charged to robots.txt either.
func TestOutageAtTheStart(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{}
	for i := range 30 {
		r.add(1, fmt.Sprintf("https://h%d.example/1", i))
	}
	for _, req := range r.next() {
		r.sent(req)
		r.pass(time.Millisecond)
		r.settle(req, reply{fault: politeness.DNS, local: true})
		r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Closed: true, Due: r.now.Add(time.Minute)})
	}
	if !r.f.Stats().Down {
		t.Fatal("our network is not taken to be down")
	}
	for r.now.Before(start.Add(9 * time.Minute)) {
		for _, req := range r.next() {
			r.sent(req)
			r.settle(req, reply{fault: politeness.Timeout})
			r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Closed: true, Due: r.now.Add(time.Minute)})
		}
		r.now = r.batch.Wake
	}
	if len(r.urlStore.ended) > 0 {
		t.Errorf("%d URLs ended while our network was down", len(r.urlStore.ended))
	}
	for range 100 {
		for _, req := range r.next() {
			r.ok(req)
			if req.Kind == Robots {
				r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Ever: true})
			}
		}
		if r.f.Idle() {
			break
		}
		r.now = r.batch.Wake
	}
	if n := len(r.urlStore.ended); n != 30 {
		t.Errorf("%d URLs ended, want 30%s", n, r.describe())
	}
}

// Hosts that share an interval are served in turn: none is passed over for a host of its
// domain with an open connection.
func TestSharedIntervalInTurn(t *testing.T) {
	r := newRig(t, Config{})
	for _, host := range []string{"a", "b", "c", "d"} {
		r.add(1, pages(host+".example.com", 200)...)
	}
	served := map[string]int{}
	for r.now.Before(start.Add(time.Minute)) {
		list := r.next()
		for _, req := range list {
			served[req.Host]++
			r.ok(req)
		}
		if len(list) == 0 {
			r.now = r.batch.Wake
		}
	}
	for host, n := range served {
		if n < 29 || n > 31 {
			t.Errorf("%s was served %d times of 120", host, n)
		}
	}
	if len(served) != 4 {
		t.Errorf("served %v", served)
	}
}

// A domain to be yielded is reported once, and hosts added meanwhile send nothing.
func TestYieldWhileLoading(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, "https://a.example.com/1")
	r.limit = 0
	r.next()
	r.limit = 10
	r.f.Yield(r.now, "example.com")
	r.none()
	if len(r.batch.Quiet) != 1 {
		t.Fatalf("quiet %v", r.batch.Quiet)
	}
	r.add(1, "https://a.example.com/2", "https://b.example.com/1")
	r.none()
	if len(r.batch.Quiet) != 0 {
		t.Errorf("announced again: %v", r.batch.Quiet)
	}
	// The state of c was requested before the domain was yielded, and arrives after.
	r.manual = true
	r.add(1, "https://c.example.com/1")
	r.next()
	r.f.Yielded(r.now, "example.com")
	for _, name := range r.batch.Load {
		r.load(name)
	}
	if list := r.next(); len(list) != 0 {
		t.Fatalf("%s asked, though the domain was given up", list[0].Host)
	}
	r.manual = false
	for _, name := range r.batch.Load {
		r.load(name)
	}
	r.drain(20)
	if n := len(r.urlStore.ended); n != 4 {
		t.Errorf("%d URLs ended, want 4", n)
	}
}
