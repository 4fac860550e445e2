package frontier

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

func TestPaceCountsFromSent(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("a.example", 3)...)
	first := r.one()
	r.at(3 * time.Second) // it took long to get a connection
	r.none()
	r.waits("a.example", visit.WaitInFlight) // one request at a time
	r.sent(first)
	r.waitsFetching("a.example") // its interval has not elapsed
	r.settle(first, status(http.StatusOK))
	r.commit(first)
	if wake := r.none(); !wake.Equal(start.Add(4 * time.Second)) {
		t.Errorf("asked again at %v, want one second after it left", wake.Sub(start))
	}
	r.waits("a.example", visit.WaitPace)
	r.at(4*time.Second - time.Millisecond)
	r.none()
	r.at(4 * time.Second)
	r.one()
}

// TestTraceGoesForward: moves are traced in the order of time, as the account records
// them, even if it is reported late that a request was sent.
func TestTraceGoesForward(t *testing.T) {
	var moved []time.Time
	r := newRig(t, Config{Trace: Trace{Moved: func(now time.Time, _ string, _, _ State) { moved = append(moved, now) }}})
	r.add(1, pages("a.example", 3)...)
	first := r.one()
	r.at(3 * time.Second)
	r.add(1, pages("b.example", 1)...)
	before := len(moved)
	r.f.Sent(start.Add(2*time.Second), first)
	if len(moved) == before || !slices.IsSortedFunc(moved, time.Time.Compare) {
		t.Errorf("moved at %v", moved)
	}
}

func TestDomainInterval(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("a.example.com", 2)...)
	r.add(1, pages("b.example.com", 2)...)
	first := r.one()
	r.none()
	r.waits("b.example.com", visit.WaitDomainInterval)
	r.at(200 * time.Millisecond)
	r.sent(first)
	r.at(699 * time.Millisecond)
	r.none()
	r.at(700 * time.Millisecond)
	if second := r.one(); second.Host == first.Host {
		t.Errorf("%s asked twice", second.Host)
	}
}

func TestAddressInterval(t *testing.T) {
	for hosts, want := range map[int]time.Duration{7: 0, 8: 700 * time.Millisecond, 12: 1100 * time.Millisecond} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			r := newRig(t, Config{Addresses: func(netip.Addr) bool { return true }})
			for i := range hosts {
				r.add(1, pages(fmt.Sprintf("h%d.example", i), 2)...)
			}
			for _, req := range r.next() {
				r.sent(req)
				a := Answer{Remote: netip.MustParseAddr("192.0.2.1")}
				a.Status = http.StatusOK
				r.f.Settle(r.now, req, a, &visit.Visit{Item: req.Item, Outcome: visit.Fetched})
				r.urlStore.end(1, req.Item.URL, visit.Fetched)
				r.commit(req)
			}
			r.at(time.Second)
			served := 0
			last := r.now
			for served < hosts {
				list := r.next()
				for _, req := range list {
					r.sent(req)
					served++
					last = r.now
				}
				if len(list) == 0 {
					r.now = r.batch.Wake
				}
			}
			if got := last.Sub(start.Add(time.Second)); got < want || got > want+10*time.Millisecond {
				t.Errorf("%d hosts on one address were asked within %v, want %v", hosts, got, want)
			}
		})
	}
}

func TestInFlightCap(t *testing.T) {
	j := plainJob(1)
	j.Policy = policyWith(func(p *politeness.Policy) { p.Base, p.InFlight = 0, 4 })
	r := newRig(t, Config{}, j)
	r.add(1, pages("a.example", 60)...)
	for range 10 { // the cap grows with clean responses
		for _, req := range r.next() {
			r.ok(req)
		}
	}
	list := r.next()
	if len(list) != 4 {
		t.Fatalf("%d handed out at once, want 4", len(list))
	}
	r.sent(list[0])
	r.sent(list[1])
	r.none() // two were sent, two are about to be
	r.waits("a.example", visit.WaitInFlight)
	r.settle(list[0], status(http.StatusOK))
	r.waitsFetching("a.example") // one more is allowed
	r.one()
}

func TestDNSLookup(t *testing.T) {
	j := plainJob(1)
	j.Policy = policyWith(func(p *politeness.Policy) { p.Base, p.InFlight = 0, 4 })
	r := newRig(t, Config{}, j)
	r.add(1, pages("a.example", 3)...)
	r.ok(r.one())
	list := r.next()
	if len(list) != 2 {
		t.Fatalf("%d handed out at once, want 2", len(list))
	}
	r.f.Looking(r.now, list[0], true)
	r.waitsFetching("a.example") // the other one is in flight
	r.f.Looking(r.now, list[1], true)
	r.waits("a.example", visit.WaitDNS)
	r.f.Looking(r.now, list[0], false)
	r.waitsFetching("a.example")
	r.f.Looking(r.now, list[0], true)
	r.settle(list[0], status(http.StatusOK)) // a settled request is in no lookup
	r.waits("a.example", visit.WaitDNS)
	r.f.Looking(r.now, list[0], false)
	r.f.Looking(r.now, list[1], false)
	r.waitsFetching("a.example")
	r.settle(list[1], status(http.StatusOK))
	r.commit(list...)
	if h := r.f.hosts.find("https://a.example"); h.lookups != 0 {
		t.Errorf("%d lookups are left", h.lookups)
	}
}

func TestRobotsComesFirst(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{}
	r.add(1, pages("a.example", 4)...)
	first := r.one()
	if first.Kind != Robots {
		t.Fatalf("kind %d handed out first", first.Kind)
	}
	r.none()
	r.waits("a.example", visit.WaitRobots)
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/sitemap.xml"), Job: 1})
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/other.xml"), Job: 1})
	r.do(first, status(http.StatusOK))
	r.f.SetRobots(r.now, first.Host, RobotsState{Known: true, Ever: true, Due: start.Add(6 * time.Second)})
	var kinds []Kind
	for i := 1; i <= 7; i++ {
		r.at(time.Duration(i) * time.Second)
		req := r.one()
		kinds = append(kinds, req.Kind)
		r.ok(req)
		if req.Kind == Robots {
			r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Ever: true})
		}
	}
	// Pages and errands alternate, and robots.txt comes again when it is due.
	if want := []Kind{Page, Sitemap, Page, Sitemap, Page, Robots, Page}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

func TestClosedRobots(t *testing.T) {
	r := newRig(t, Config{})
	r.robots = RobotsState{Known: true, Closed: true, Due: start.Add(time.Minute)}
	r.add(1, "https://a.example/1")
	if wake := r.none(); wake.After(start.Add(time.Minute)) {
		t.Errorf("looked at again after %v", wake.Sub(start))
	}
	r.waits("a.example", visit.WaitRobots)
	r.at(time.Minute)
	req := r.one()
	if req.Kind != Robots {
		t.Fatalf("kind %d handed out", req.Kind)
	}
	r.do(req, status(http.StatusOK))
	r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Ever: true, Delay: 5 * time.Second})
	r.at(time.Minute + 4*time.Second)
	r.none()
	r.waits("a.example", visit.WaitCrawlDelay)
	r.at(time.Minute + 5*time.Second)
	r.one()
}

func TestCanaryIsAnotherURL(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("a.example", 3)...)
	var asked []string
	for range 4 {
		req := r.one()
		asked = append(asked, req.Item.URL.Path())
		if s := r.do(req, reply{status: http.StatusTooManyRequests, retryAfter: 10 * time.Second}); s.Verdict != Again {
			t.Fatalf("verdict %d", s.Verdict)
		}
		r.none()
		r.waits("a.example", visit.WaitHold)
		v, _ := r.f.View("https://a.example")
		r.now = v.Until
	}
	if want := []string{"/1", "/2", "/3", "/1"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

func TestRetries(t *testing.T) {
	cases := []struct {
		name    string
		answers []reply
		want    []Verdict
		charged []int
	}{
		{"served", []reply{status(200)}, []Verdict{Ended}, []int{0}},
		{"dead", []reply{status(404)}, []Verdict{Ended}, []int{0}},
		{"redirected", []reply{status(301)}, []Verdict{Ended}, []int{0}},
		{"server errors", []reply{status(500), status(500), status(500)}, []Verdict{Again, Again, Ended}, []int{1, 2, 3}},
		{
			"connection refused",
			[]reply{{fault: politeness.Connect, answered: true}, {fault: politeness.Connect, answered: true}, {fault: politeness.Connect, answered: true}},
			[]Verdict{Again, Again, Ended},
			[]int{1, 2, 3},
		},
		{"only the first refusal is charged", []reply{status(429), status(429), status(503), status(429), status(200)}, []Verdict{Again, Again, Again, Again, Ended}, []int{1, 1, 1, 1, 1}},
		{"our own fault", []reply{{fault: politeness.Ours}, {fault: politeness.Ours}, {fault: politeness.Ours}, {fault: politeness.Ours}}, []Verdict{Again, Again, Again, Again}, []int{0, 0, 0, 0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.add(1, "https://a.example/1")
			for i, a := range c.answers {
				for len(r.next()) == 0 {
					r.now = r.batch.Wake
				}
				s := r.do(r.batch.Requests[0], a)
				if s.Verdict != c.want[i] || s.Attempt != c.charged[i] {
					t.Errorf("answer %d: verdict %d with %d charged, want %d with %d", i+1, s.Verdict, s.Attempt, c.want[i], c.charged[i])
				}
			}
		})
	}
}

func TestStoredAttemptsCount(t *testing.T) {
	for attempts, want := range []int{3, 3, 3, 3, 2, 1} { // failures until it ends: those not used up yet
		r := newRig(t, Config{})
		it := visit.Item{Job: 1, URL: mustURL("https://a.example/1"), Attempt: attempts}
		r.urlStore.add(it)
		r.f.Added(r.now, []visit.Item{it})
		n := 0
		for !r.f.Idle() {
			for len(r.next()) == 0 {
				r.now = r.batch.Wake
			}
			n++
			r.do(r.batch.Requests[0], status(http.StatusInternalServerError))
		}
		if n != want {
			t.Errorf("with %d attempts stored it was tried %d times, want %d", attempts, n, want)
		}
	}
}

func TestParks(t *testing.T) {
	cases := []struct {
		name   string
		job    func(*Job)
		robots RobotsState
		answer reply
		want   map[visit.Outcome]int
	}{
		{
			"failures", func(j *Job) {
				j.Policy = policyWith(func(p *politeness.Policy) { p.FailureThreshold = 4 })
				j.Patience = 100 * time.Hour
			},
			RobotsState{Known: true, Ever: true},
			reply{fault: politeness.Connect, answered: true},
			map[visit.Outcome]int{visit.Failed: 9},
		},
		{
			"patience", func(j *Job) { j.Patience = time.Minute },
			RobotsState{Known: true, Ever: true},
			reply{status: http.StatusTooManyRequests, retryAfter: 2 * time.Minute},
			map[visit.Outcome]int{visit.Deferred: 9},
		},
		{"robots.txt never answered", func(*Job) {}, RobotsState{}, reply{fault: politeness.Connect, answered: true}, map[visit.Outcome]int{visit.Skipped: 9}},
		{"a host too many", func(j *Job) { j.HostLimited = true }, RobotsState{}, status(200), map[visit.Outcome]int{visit.Deferred: 9}},
		{"pages per host", func(j *Job) { j.MaxPagesPerHost = 3 }, RobotsState{Known: true, Ever: true}, status(200), map[visit.Outcome]int{visit.Fetched: 3, visit.Skipped: 6}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := plainJob(1)
			c.job(&j)
			r := newRig(t, Config{}, j)
			r.robots, r.refuse = c.robots, j.HostLimited
			r.add(1, pages("a.example", 9)...)
			for range 200 {
				if r.f.Idle() {
					break
				}
				list := r.next()
				for _, req := range list {
					r.do(req, c.answer)
				}
				if len(list) == 0 && !r.f.Idle() {
					r.now = r.batch.Wake
				}
			}
			got := map[visit.Outcome]int{}
			for _, o := range r.urlStore.ended {
				got[o]++
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("ended %v, want %v%s", got, c.want, r.describe())
			}
		})
	}
}

// TestReserveHosts: a host-limited job requests the reservation of hosts. Nothing is sent to a
// host before the answer, URLs on a refused host end as deferred whenever they come, and
// other jobs are not affected.
func TestReserveHosts(t *testing.T) {
	limited := plainJob(1)
	limited.HostLimited = true
	r := newRig(t, Config{}, limited, plainJob(2))
	r.robots, r.manual = RobotsState{}, true
	r.add(1, pages("a.example", 2)...)
	r.add(1, pages("b.example", 2)...)
	r.next()
	takings := slices.Clone(r.batch.Take)
	if fmt.Sprint(takings) != "[{https://a.example 1} {https://b.example 1}]" {
		t.Fatalf("asked for %v", takings)
	}
	r.load("https://a.example")
	r.load("https://b.example")
	if list := r.next(); len(list) > 0 || len(r.batch.Take) > 0 {
		t.Fatalf("%v before the answer, asked for %v", list, r.batch.Take)
	}
	r.f.Took(r.now, takings[0], true, 0)
	r.f.Took(r.now, takings[1], false, 0)
	if list := r.next(); len(list) != 1 || list[0].Host != "https://a.example" || list[0].Kind != Robots || len(r.batch.Parks) != 1 || r.batch.Parks[0].Outcome != visit.Deferred {
		t.Fatalf("%v, parked %v", list, r.batch.Parks)
	}
	// More URLs are added while the park is being written.
	park := r.batch.Parks[0]
	late := r.put(1, "https://b.example/3")
	r.park(park)
	r.urlStore.waiting[keyOf(&late[0])], r.urlStore.ended = late, map[jobURL]visit.Outcome{}
	r.f.Warm(r.now, late[0].URL, []job.ID{1})
	if list := r.next(); len(list) > 0 || len(r.batch.Parks) != 1 {
		t.Fatalf("%v, parked %v", list, r.batch.Parks)
	}
	r.park(r.batch.Parks[0])
	r.add(2, pages("b.example", 1)...)
	if list := r.next(); len(list) != 1 || list[0].Host != "https://b.example" || len(r.batch.Take)+len(r.batch.Parks) > 0 {
		t.Fatalf("%v for the other job, asked for %v, parked %v", list, r.batch.Take, r.batch.Parks)
	}
}

func TestJobsInTurn(t *testing.T) {
	r := newRig(t, Config{}, plainJob(1), plainJob(2), plainJob(3))
	r.add(1, pages("a.example", 9)...)
	r.add(2, pages("a.example", 9)...)
	r.add(3, pages("a.example", 3)...)
	var jobs []job.ID
	for i := range 9 {
		r.at(time.Duration(i) * time.Second)
		req := r.one()
		jobs = append(jobs, req.Job)
		r.ok(req)
	}
	if want := []job.ID{1, 2, 3, 1, 2, 3, 1, 2, 3}; !slices.Equal(jobs, want) {
		t.Errorf("jobs %v, want %v", jobs, want)
	}
}

func TestOpenConnectionsArePreferred(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("warm.example", 2)...)
	r.ok(r.one())
	for i := range 5 {
		r.add(1, fmt.Sprintf("https://cold%d.example/1", i))
	}
	r.limit = 0
	r.next()
	r.at(2 * time.Second)
	r.next()
	r.limit = 1
	if req := r.one(); req.Host != "https://warm.example" {
		t.Errorf("%s first", req.Host)
	}
	for i := range 5 {
		if req := r.one(); req.Host != fmt.Sprintf("https://cold%d.example", i) {
			t.Errorf("%s in place %d", req.Host, i)
		}
	}
}

func TestHostIsNotPassedOverForLong(t *testing.T) {
	j := plainJob(1)
	j.Policy = policyWith(func(p *politeness.Policy) { p.Base = 0 })
	r := newRig(t, Config{}, j)
	r.add(1, pages("warm.example", 60)...)
	r.ok(r.one())
	r.add(1, "https://cold.example/1")
	r.limit = 1
	r.ok(r.one())
	r.ok(r.one()) // cold.example is queued, and first
	for range maxBypassed + 1 {
		req := r.one()
		r.ok(req)
		if req.Host == "https://cold.example" {
			return
		}
	}
	t.Errorf("passed over more than %d times", maxBypassed)
}

func TestOrderInAQueue(t *testing.T) {
	r := newRig(t, Config{})
	var items []visit.Item
	for _, it := range []visit.Item{
		{URL: mustURL("https://a.example/deep"), Depth: 3},
		{URL: mustURL("https://a.example/old"), Depth: 1},
		{URL: mustURL("https://a.example/important"), Depth: 1, Priority: 8},
		{URL: mustURL("https://a.example/young"), Depth: 1},
		{URL: mustURL("https://a.example/"), Depth: 2},
	} {
		it.Job = 1
		r.urlStore.add(it)
		items = append(items, it)
	}
	r.f.Added(r.now, items)
	want := []string{"https://a.example/", "https://a.example/important", "https://a.example/old", "https://a.example/young", "https://a.example/deep"}
	if order := r.drain(50); !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestRefill(t *testing.T) {
	// The test answers refills itself, late.
	late := func(t *testing.T) (*rig, []Want, []visit.Item, Request) {
		r := newRig(t, Config{Head: 8})
		r.manual = true
		r.add(1, pages("a.example", 2)...)
		r.next()
		r.load("https://a.example")
		req := r.one()
		if len(r.batch.Refill) != 1 {
			t.Fatalf("refills %v", r.batch.Refill)
		}
		return r, slices.Clone(r.batch.Refill), r.urlStore.heads(r.now, r.batch.Refill[0]), req
	}
	t.Run("ignores URLs committed meanwhile", func(t *testing.T) {
		r, wants, items, req := late(t)
		r.ok(req)
		r.f.Refilled(r.now, wants, items)
		r.manual = false
		if order := r.drain(20); len(order) != 1 || order[0] == req.Item.URL.String() {
			t.Errorf("asked for %v after %s", order, req.Item.URL)
		}
	})
	t.Run("keeps URLs added meanwhile", func(t *testing.T) {
		r, wants, items, req := late(t)
		r.add(1, "https://a.example/fresh")
		r.f.Refilled(r.now, wants, items)
		r.ok(req)
		r.manual = false
		if order := r.drain(20); len(order) != 2 {
			t.Errorf("asked for %v", order)
		}
	})
	t.Run("remembers that URLs found no room meanwhile", func(t *testing.T) {
		r, wants, items, req := late(t)
		r.add(1, pages("a.example", 12)...)
		r.f.Refilled(r.now, wants, items)
		r.ok(req)
		r.manual = false
		if order := r.drain(100); len(order) != 11 {
			t.Errorf("asked for %d, want 11", len(order))
		}
	})
	t.Run("a full refill does not mean all", func(t *testing.T) {
		r := newRig(t, Config{Head: 4})
		r.put(1, pages("a.example", 30)...)
		r.f.Warm(r.now, mustURL("https://a.example/"), []job.ID{1})
		if order := r.drain(200); len(order) != 30 {
			t.Errorf("asked for %d, want 30", len(order))
		}
	})
}

// TestUncommittedPages reports pages again that were answered and are not committed yet,
// more of them than are searched one by one: none is handed out twice.
func TestUncommittedPages(t *testing.T) {
	r := newRig(t, Config{})
	const n = 3 * fewURLs
	items := r.put(1, pages("a.test", n)...)
	r.f.Added(r.now, items)
	var reqs []Request
	for range n {
		req := r.one()
		r.sent(req)
		r.settle(req, status(http.StatusOK))
		reqs = append(reqs, req)
		r.pass(time.Second)
	}
	r.f.Added(r.now, items)
	r.none()
	q := r.f.hosts.find(reqs[0].Host).queue(1)
	for i, req := range reqs {
		u := req.Item.URL
		before := q.has(u)
		r.commit(req)
		if after := q.has(u); !before || after {
			t.Fatalf("page %d: known %t before its commit and %t after it", i, before, after)
		}
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t, Config{Head: 4, MaxItems: 10, HotHosts: 5})
	for i := range 40 {
		r.add(1, pages(fmt.Sprintf("h%d.example", i), 6)...)
	}
	order := 0
	for range 3000 {
		list := r.next()
		if r.batch.Cold {
			r.warm()
		}
		for _, req := range list {
			order++
			r.ok(req)
		}
		s := r.f.Stats()
		if s.Hosts > 5 || s.Items > 10+2*s.Hosts {
			t.Fatalf("%d hosts and %d URLs in memory", s.Hosts, s.Items)
		}
		if len(list) == 0 {
			if r.f.Idle() {
				break
			}
			r.now = r.batch.Wake
		}
	}
	if order != 240 || !r.f.Idle() {
		t.Errorf("%d handed out of 240%s", order, r.describe())
	}
}

func TestTokens(t *testing.T) {
	r := newRig(t, Config{}, limited(1))
	r.tokens[1] = 3
	for i := range 6 {
		r.add(1, fmt.Sprintf("https://h%d.example/1", i))
	}
	list := r.next()
	if len(list) != 3 {
		t.Fatalf("%d handed out with 3 tokens", len(list))
	}
	if r.f.Exhausted(1) {
		t.Error("exhausted while tokens may come back")
	}
	r.f.PutBack(r.now, list[0]) // not sent after all
	again := r.one()
	r.do(again, status(http.StatusFound)) // no page
	r.f.Skip(r.now, list[1])
	r.urlStore.end(1, list[1].Item.URL, visit.Skipped)
	r.commit(list[1])
	pages := 0
	for range 10 {
		for _, req := range r.next() {
			pages++
			r.ok(req)
		}
	}
	r.ok(list[2])
	pages++
	r.none()
	if pages != 3 || !r.f.Exhausted(1) {
		t.Errorf("%d pages of 3, exhausted %v", pages, r.f.Exhausted(1))
	}
	waiting := 0
	for i := range 6 {
		if v, ok := r.f.View(fmt.Sprintf("https://h%d.example", i)); ok && v.Doing == Waiting(visit.WaitBudget) {
			waiting++
		}
	}
	if waiting == 0 {
		t.Error("nobody waits for the budget")
	}
	r.f.Grant(r.now, 1, PageToken, 5)
	if n, _ := r.f.Unused(1); n != 5 {
		t.Errorf("%d tokens unused, want 5", n)
	}
}

// TestRequestTokens: each request of a job with a request limit needs a token, also for
// robots.txt and sitemaps. One that was not sent returns it.
func TestRequestTokens(t *testing.T) {
	j := limited(1)
	j.RequestLimited = true
	r := newRig(t, Config{}, j)
	r.robots = RobotsState{}
	r.tokens[1], r.requestTokens[1] = 100, 5
	r.add(1, "https://a.example/1", "https://a.example/2", "https://a.example/3")
	robots := r.one()
	if robots.Kind != Robots || r.f.jobs[1].pools[RequestToken].out != 1 {
		t.Fatalf("%+v without a token", robots)
	}
	r.f.Settle(r.now, robots, Answer{Answer: politeness.Answer{Status: 200}, Sent: true}, nil) // one
	r.f.SetRobots(r.now, "https://a.example", RobotsState{Known: true, Ever: true})
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/sitemap.xml"), Job: 1})
	kinds := map[Kind]int{Robots: 1}
	unsent := 0
	for range 20 {
		for _, req := range r.next() {
			switch {
			case unsent < 2:
				unsent++
				r.f.PutBack(r.now, req)
			case req.Kind == Sitemap:
				kinds[Sitemap]++
				r.f.Sent(r.now, req)
				r.f.Settle(r.now, req, Answer{Answer: politeness.Answer{Status: 200}}, nil)
			default:
				kinds[Page]++
				r.ok(req)
			}
		}
		r.now = r.now.Add(time.Minute)
	}
	if kinds[Page] != 3 || kinds[Sitemap] != 1 || unsent != 2 || r.requestTokens[1] != 0 {
		t.Errorf("%v, %d not sent, %d tokens left in the store", kinds, unsent, r.requestTokens[1])
	}
	// All five are used: a new URL waits, and is requested with a sixth.
	r.add(1, "https://a.example/4")
	r.none()
	if v, ok := r.f.View("https://a.example"); !ok || v.Doing != Waiting(visit.WaitBudget) {
		t.Errorf("it waits for %v", v.Doing)
	}
	r.requestTokens[1] = 1
	r.f.Again(1)
	r.ok(r.one())
	r.f.Again(1)
	r.none()
	if p := r.f.jobs[1].pools[RequestToken]; p.tokens+p.out != 0 {
		t.Errorf("%+v", p)
	}
}

// TestErrandHasItsTurn: a sitemap of a job whose request tokens come late has its turn on a
// host that another job keeps busy, and does not block the host when there are none.
func TestErrandHasItsTurn(t *testing.T) {
	j := plainJob(1)
	j.RequestLimited = true
	r := newRig(t, Config{}, j, plainJob(2))
	var late []Tokens
	r.late = &late
	r.add(2, pages("a.example", 40)...)
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/sitemap.xml"), Job: 1})
	sitemaps, refused, pages := 0, 0, 0
	for range 60 {
		for _, req := range r.next() {
			if req.Kind == Sitemap {
				sitemaps++
				r.f.Sent(r.now, req)
				r.f.Settle(r.now, req, Answer{Answer: politeness.Answer{Status: 200}}, nil)
			} else {
				pages++
				r.ok(req)
			}
		}
		asked := late
		late = nil
		for _, w := range asked {
			if w.N != 1 || w.Kind != RequestToken {
				t.Errorf("asked for %+v", w)
			}
			if pages < 5 {
				refused++
				r.f.Grant(r.now, w.Job, w.Kind, 0)
			} else {
				r.f.Grant(r.now, w.Job, w.Kind, 1)
			}
		}
		if len(asked) == 0 {
			r.f.Again(1)
			r.now = r.now.Add(10 * time.Second)
		}
	}
	if sitemaps != 1 || refused == 0 || pages < 15 {
		t.Errorf("%d sitemaps, %d requests for tokens refused, %d pages of the other job", sitemaps, refused, pages)
	}
}

func TestStopJob(t *testing.T) {
	r := newRig(t, Config{}, plainJob(1), plainJob(2))
	r.add(1, pages("a.example", 5)...)
	r.add(2, pages("b.example", 2)...)
	var stopped Request
	for _, req := range r.next() {
		if r.sent(req); req.Job == 1 {
			stopped = req
		} else {
			r.settle(req, status(http.StatusOK))
			r.commit(req)
		}
	}
	r.f.StopJob(r.now, 1)
	r.settle(stopped, status(http.StatusOK))
	r.commit(stopped)
	r.at(5 * time.Second)
	if req := r.one(); req.Job != 2 {
		t.Errorf("job %d asks on", req.Job)
	}
	r.waits("a.example", visit.WaitBudget)
}

func TestYield(t *testing.T) {
	r := newRig(t, Config{})
	r.add(1, pages("a.example.com", 3)...)
	req := r.one()
	r.sent(req)
	r.f.Yield(r.now, "example.com")
	r.none()
	if len(r.batch.Quiet) > 0 {
		t.Fatal("quiet while a request is under way")
	}
	r.settle(req, status(http.StatusOK))
	r.none()
	if len(r.batch.Quiet) > 0 {
		t.Fatal("quiet before the commit")
	}
	r.commit(req)
	r.at(10 * time.Second)
	r.none()
	if !slices.Equal(r.batch.Quiet, []string{"example.com"}) {
		t.Fatalf("quiet: %v", r.batch.Quiet)
	}
	r.waits("a.example.com", visit.WaitLease)
	r.manual = true
	r.f.Yielded(r.now, "example.com")
	r.none()
	if !slices.Equal(r.batch.Load, []string{"https://a.example.com"}) {
		t.Fatalf("loads %v", r.batch.Load)
	}
	r.f.LeaseWait(r.now, "https://a.example.com")
	r.none()
	r.waits("a.example.com", visit.WaitLease)
	s := quick.Sent(politeness.New("https://a.example.com"), r.now)
	r.f.Loaded(r.now, HostState{Host: "https://a.example.com", State: s, Robots: r.robots})
	r.manual = false
	r.none() // the other process has just sent a request
	r.pass(time.Second)
	r.one()
	r.f.Yield(r.now, "nobody.example")
	r.next()
	if !slices.Equal(r.batch.Quiet, []string{"nobody.example"}) {
		t.Errorf("a domain without hosts: %v", r.batch.Quiet)
	}
}

func TestUncleanEnd(t *testing.T) {
	r := newRig(t, Config{})
	r.states["https://a.example"] = HostState{State: politeness.New("https://a.example"), Unclean: true, Robots: r.robots}
	r.add(1, "https://a.example/1")
	r.none()
	r.waits("a.example", visit.WaitPace)
	r.pass(time.Second)
	r.one()
}

// TestAcquired loads hosts that came from another worker: they wait their full pace from
// then, whatever that worker's clock said. What was sent since is counted as it was.
func TestAcquired(t *testing.T) {
	const ago = 300 * time.Millisecond // since the host was acquired
	for name, tc := range map[string]struct {
		sent time.Duration // before now
		want time.Duration
	}{
		"its clock was behind":        {time.Hour, time.Second - ago},
		"its clock was ahead":         {-time.Hour, time.Second - ago},
		"the same clock":              {ago + 600*time.Millisecond, time.Second - ago},
		"we sent the last request":    {100 * time.Millisecond, time.Second - 100*time.Millisecond},
		"acquired and sent just then": {ago, time.Second - ago},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			s := quick.Sent(politeness.New("https://a.example"), r.now.Add(-tc.sent))
			r.states["https://a.example"] = HostState{State: s, Acquired: r.now.Add(-ago), Robots: r.robots}
			r.add(1, "https://a.example/1")
			r.none()
			r.waits("a.example", visit.WaitPace)
			r.pass(tc.want - time.Millisecond)
			r.none()
			r.pass(time.Millisecond)
			r.one()
		})
	}
}

func TestOutageTakesFailuresBack(t *testing.T) {
	j := plainJob(1)
	j.Policy = policyWith(func(p *politeness.Policy) { p.FailureRetries = 0 })
	r := newRig(t, Config{}, j)
	for i := range 30 {
		r.add(1, fmt.Sprintf("https://h%d.example/0", i), fmt.Sprintf("https://h%d.example/1", i))
	}
	for i, req := range r.next() {
		r.pass(time.Duration(i) * time.Millisecond) // the last of them responds last
		r.ok(req)
	}
	answered := r.now
	r.pass(11 * time.Second)
	began := r.now
	doubts := 0
	for _, req := range r.next() {
		r.sent(req)
		r.pass(time.Millisecond)
		if s := r.settle(req, reply{fault: politeness.Timeout}); s.Verdict == InDoubt {
			doubts++
		} else {
			r.commit(req)
		}
	}
	if doubts == 0 || !r.f.Stats().Down {
		t.Fatalf("%d in doubt, down %v", doubts, r.f.Stats().Down)
	}
	r.limit = 0
	r.next()
	if len(r.batch.Resolved) != doubts {
		t.Fatalf("%d resolved of %d", len(r.batch.Resolved), doubts)
	}
	for _, d := range r.batch.Resolved {
		if d.Settled.Verdict != Again || d.Settled.Attempt != 0 {
			t.Errorf("%s: verdict %d with %d charged", d.Visit.Item.URL, d.Settled.Verdict, d.Settled.Attempt)
		}
		r.commit(d.Request)
	}
	r.limit = 1000
	r.at(began.Sub(start) + 1001*time.Millisecond)
	r.none()
	r.waits("h0.example", visit.WaitNetwork)
	r.pass(2 * time.Second)
	canary := r.one()
	if at := r.f.hosts.find(canary.Host).lastAt; at != tickAt(answered) {
		t.Errorf("the canary is %s, which was not the last to answer", canary.Host)
	}
	r.none()
	r.ok(canary)
	if list := r.next(); len(list) != 29 {
		t.Errorf("%d handed out after the outage, want 29", len(list))
	}
}

func TestDoubtEnds(t *testing.T) {
	j := plainJob(1)
	j.Policy = policyWith(func(p *politeness.Policy) { p.FailureRetries = 0 })
	cases := map[string]func(*rig){
		"when something gets through": func(r *rig) {
			r.add(1, "https://b.example/1")
			r.pass(time.Second)
			r.ok(r.one())
		},
		"after a while": func(r *rig) { r.pass(doubtFor) },
	}
	for name, ends := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{}, j)
			r.add(1, "https://a.example/1")
			req := r.one()
			if s := r.do(req, reply{fault: politeness.Timeout}); s.Verdict != InDoubt {
				t.Fatalf("verdict %d", s.Verdict)
			}
			r.none()
			if len(r.batch.Resolved) != 0 || r.f.Idle() {
				t.Fatalf("resolved at once, idle %v", r.f.Idle())
			}
			ends(r)
			r.none()
			if len(r.batch.Resolved) != 1 || r.batch.Resolved[0].Settled.Verdict != Ended {
				t.Fatalf("resolved %v", r.batch.Resolved)
			}
			r.end(req, visit.Failed)
			r.commit(req)
			r.none()
			if !r.f.Idle() {
				t.Errorf("not idle%s", r.describe())
			}
		})
	}
}

func TestSuspectsOneAtATime(t *testing.T) {
	var suspects []weburl.URL
	for i := range 4 {
		suspects = append(suspects, mustURL(fmt.Sprintf("https://h%d.example/1", i)))
	}
	r := newRig(t, Config{Suspects: suspects})
	for i := range 6 {
		r.add(1, fmt.Sprintf("https://h%d.example/1", i))
	}
	under := r.next()
	if len(under) != 3 { // one suspect and the two others
		t.Fatalf("%d handed out, want 3", len(under))
	}
	ended := 0
	for len(under) > 0 {
		suspect := 0
		for _, req := range under {
			if slices.Contains(suspects, req.Item.URL) {
				suspect++
			}
		}
		if suspect > 1 {
			t.Fatalf("%d suspects at once", suspect)
		}
		for _, req := range under {
			ended++
			r.ok(req)
		}
		under = r.next()
	}
	if ended != 6 || !r.f.Idle() {
		t.Errorf("%d of 6 ended%s", ended, r.describe())
	}
}

// TestHostSeconds compares the account with its own count.
func TestHostSeconds(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 5 {
		r.add(1, pages(fmt.Sprintf("h%d.example.com", i), i+1)...)
	}
	var worked time.Duration
	for range 500 {
		list := r.next()
		for _, req := range list {
			r.ok(req)
		}
		if r.f.Idle() {
			break
		}
		if len(list) == 0 {
			worked += time.Duration(r.f.Stats().Working) * r.batch.Wake.Sub(r.now)
			r.now = r.batch.Wake
		}
	}
	var spent time.Duration
	parts := 0.0
	for _, s := range r.f.Account().Shares(r.now) {
		spent += s.Spent
		parts += s.Part
	}
	if spent != worked || parts < 0.999999 || parts > 1.000001 {
		t.Errorf("hosts had work for %v, the account says %v in parts of %v", worked, spent, parts)
	}
}

// waitsFetching expects that a host has requests in flight.
func (r *rig) waitsFetching(host string) {
	r.t.Helper()
	if v, _ := r.f.View("https://" + host); v.Doing != Fetching {
		r.t.Errorf("%s: %s, want fetching", host, v.Doing)
	}
}

// TestFarPageLimit crawls one host quickly under a page limit that is far away. The
// store grants page tokens slowly; they are requested in advance, so the host hardly ever
// waits for them, and few are held where it is slow. When it waits for one, it waits for the
// store, not for a higher limit.
func TestFarPageLimit(t *testing.T) {
	const step, late = time.Millisecond, 5 // steps that the store takes
	for _, host := range []struct {
		pace  time.Duration
		pages int
		most  int // tokens held and not in use
	}{{0, 3000, tokensAtOnce}, {time.Second, 60, 2}} {
		t.Run(host.pace.String(), func(t *testing.T) {
			j := limited(1)
			j.Policy = policyWith(func(p *politeness.Policy) { p.Base, p.InFlight = host.pace, 8 })
			r := newRig(t, Config{}, j)
			r.manual, r.tokens[1] = true, 1_000_000
			r.add(1, pages("a.example", host.pages)...)
			var under []Request
			var asked []Tokens
			since, held := 0, 0
			for done := 0; done < host.pages; r.pass(step) {
				for _, req := range under { // settled and committed one step after they were sent
					r.settle(req, status(http.StatusOK))
					r.commit(req)
					done++
				}
				under = slices.Clone(r.next())
				for _, req := range under {
					r.sent(req)
				}
				b := r.batch
				asked, b.Tokens = append(asked, b.Tokens...), nil
				r.answer(&b)
				if since++; len(asked) == 0 || since < late {
					if len(asked) == 0 {
						since = 0
					}
					continue
				}
				r.answer(&Batch{Tokens: asked})
				asked, since = nil, 0
				held = max(held, r.f.jobs[1].pools[PageToken].tokens)
			}
			for _, s := range r.f.account.Shares(r.now) {
				if s.State == Waiting(visit.WaitBudget) || s.State == Waiting(visit.WaitStorage) && s.Part > 0.05 {
					t.Errorf("%.0f %% of host time is waiting for %s", 100*s.Part, s.State)
				}
			}
			if held > host.most {
				t.Errorf("%d tokens held, want %d at most", held, host.most)
			}
		})
	}
}
