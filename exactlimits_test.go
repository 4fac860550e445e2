package headway_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// TestFleetAtItsLimit: a job whose limit is exactly what it needs is complete, though URLs
// that robots.txt forbids end a moment after its last page, and one is found there; with one less it is partial.
func TestFleetAtItsLimit(t *testing.T) {
	const hosts, yes, no = 3, 4, 30
	const pages, requests = hosts * (yes + 1), hosts * (yes + 2)
	for name, tc := range map[string]struct {
		asked limit.Limits
		want  job.State
	}{
		"pages":            {limit.Limits{Pages: pages}, job.Complete},
		"one page less":    {limit.Limits{Pages: pages - 1}, job.Partial},
		"requests":         {limit.Limits{Requests: requests}, job.Complete},
		"one request less": {limit.Limits{Requests: requests - 1}, job.Partial},
		"both":             {limit.Limits{Pages: pages, Requests: requests}, job.Complete},
		"both, less":       {limit.Limits{Pages: pages - 1, Requests: requests - 1}, job.Partial},
	} {
		for workers := 1; workers <= 2; workers++ {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newLimited(t, farm(1, small(1)), limit.Limits{})
					f.worker = func(c *headway.Worker) { c.Store = farStore{f.st.(*memory.Store)} }
					web := &fenced{yes: yes, no: no, late: "http://a0.example/no/late"}
					f.cfg.Seeds, f.cfg.Fetcher = nil, web
					for i := range hosts {
						f.cfg.Seeds = append(f.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
					}
					id := f.requestLimited(tc.asked)
					fleet := f.startAll(workers)
					j, counts := f.await(id, 10*time.Minute)
					f.drain(fleet)
					forbidden := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
					if j.State != tc.want || tc.want == job.Complete && (counts.Pages() != pages || forbidden != hosts*no+1) {
						t.Errorf("%s (%s) with %d pages, %d forbidden, %d waiting, want %s", j.State, j.Reason, counts.Pages(), forbidden, counts.Waiting, tc.want)
					}
					if most := tc.asked.Requests; most > 0 && tc.asked.Pages == 0 && (int64(web.asked) != most || tc.want == job.Partial && j.Reason != "max_requests") {
						t.Errorf("%s (%s) after %d requests of %d", j.State, j.Reason, web.asked, most)
					}
				})
			})
		}
	}
}

// TestCrawlAtItsLimit is the same on one machine.
func TestCrawlAtItsLimit(t *testing.T) {
	const hosts, yes, no = 3, 4, 30
	const pages, requests = hosts * (yes + 1), hosts * (yes + 2)
	for name, tc := range map[string]struct {
		asked limit.Limits
		want  job.State
	}{
		"pages":            {limit.Limits{Pages: pages}, job.Complete},
		"one page less":    {limit.Limits{Pages: pages - 1}, job.Partial},
		"requests":         {limit.Limits{Requests: requests}, job.Complete},
		"one request less": {limit.Limits{Requests: requests - 1}, job.Partial},
		"both":             {limit.Limits{Pages: pages, Requests: requests}, job.Complete},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 1, small(1))
				s.cfg.Store = farStore{s.st.(*memory.Store)}
				s.cfg.Seeds, s.cfg.Fetcher = nil, &fenced{yes: yes, no: no, late: "http://a0.example/no/late"}
				for i := range hosts {
					s.cfg.Seeds = append(s.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
				}
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: tc.asked})
				r := s.run()
				forbidden := r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
				if r.State != tc.want || tc.asked.Requests > 0 && r.Requests > tc.asked.Requests || tc.want == job.Complete && (r.Counts.Pages() != pages || forbidden != hosts*no+1) {
					t.Errorf("%s (%s) with %d pages, %d requests, %d forbidden, %d waiting, want %s", r.State, r.Reason, r.Counts.Pages(), r.Requests, forbidden, r.Counts.Waiting, tc.want)
				}
			})
		})
	}
}

// TestFleetRequestLimit runs jobs with a request limit on workers, some of which crash: hosts
// never see more requests than the limit, robots.txt, its redirects and sitemaps included,
// and the job ends when all are used. What a crashed worker had reserved stays used.
func TestFleetRequestLimit(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { requestLimit(t, seed) })
		})
	}
}

func requestLimit(t *testing.T, seed uint64) {
	const hosts = 12
	random := rand.New(rand.NewPCG(seed, 1))
	most := int64(20 + random.IntN(100))
	specs := farm(hosts, small(20))
	for i := range specs {
		specs[i].Temper.Site.Robots = []string{"", "redirect-5", "missing"}[i%3]
	}
	f := newLimited(t, specs, limit.Limits{})
	id := f.requestLimited(limit.Limits{Requests: most})
	j, crashes := f.crashSome(id, 3, func() time.Duration { return time.Duration(500+random.IntN(3000)) * time.Millisecond })
	w, err := f.st.Join(t.Context(), time.Now(), "reader")
	if err != nil {
		t.Fatal(err)
	}
	used, err := f.st.(*memory.Store).ReserveRequests(t.Context(), store.Reservation{Worker: w, Job: id, Max: most})
	sent := f.web.Stats().Total.Requests
	if err != nil || j.State != job.Partial || j.Reason != "max_requests" || used.Use.Requests != most || sent > most || sent < most-int64(hosts*crashes) {
		t.Errorf("%s (%s) with %d requests of %d sent after %d crashes, %d used: %v", j.State, j.Reason, sent, most, crashes, used.Use.Requests, err)
	}
	if told := f.notices(id); !strings.HasSuffix(told, fmt.Sprintf("Job limit: Maximum %d requests per crawl", most)) {
		t.Errorf("notices:\n%s", told)
	}
}

// crashSome runs a job on four workers that are far from the store, and crashes some of them
// after a while each, as long as it runs. It returns the ended job and how many crashed.
func (f *fleet) crashSome(id job.ID, most int, after func() time.Duration) (ended store.Job, crashes int) {
	f.Helper()
	far := func(l *line) { l.far = 50 * time.Millisecond }
	var workers []*worker
	for range 4 {
		workers = append(workers, f.startWith(far))
	}
	for range most {
		pass(after())
		if j, err := f.st.Job(f.Context(), id); err == nil && !j.State.Ended() {
			workers[0].crash()
			workers = append(workers[1:], f.startWith(far))
			crashes++
		}
	}
	ended, _ = f.await(id, 10*time.Minute)
	f.drain(workers)
	return ended, crashes
}

// TestFleetRequestLimits runs two jobs with request limits on the same hosts: each sends
// exactly as many, though they share robots.txt.
func TestFleetRequestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(6, small(30)), limit.Limits{})
		limits := []int64{31, 46}
		var ids []job.ID
		for _, most := range limits {
			ids = append(ids, f.requestLimited(limit.Limits{Requests: most}))
		}
		workers := f.startAll(3)
		var total int64
		for i, id := range ids {
			j, _ := f.await(id, 10*time.Minute)
			points, err := f.st.Points(t.Context(), id)
			total += limits[i]
			if u := store.UseOf(points); err != nil || j.State != job.Partial || j.Reason != "max_requests" || u.Requests != limits[i] {
				t.Errorf("%s (%s) with %d requests of %d recorded: %v", j.State, j.Reason, u.Requests, limits[i], err)
			}
		}
		f.drain(workers)
		if sent := f.web.Stats().Total.Requests; sent != total {
			t.Errorf("%d requests of %d sent", sent, total)
		}
	})
}

// TestFleetByteLimit runs jobs with a byte limit on workers, some of which crash: hosts send no
// more than the limit and the responses in flight when it was reached.
func TestFleetByteLimit(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { byteLimit(t, seed) })
		})
	}
}

func byteLimit(t *testing.T, seed uint64) {
	const hosts, body = 12, 2 << 10 // of small
	random := rand.New(rand.NewPCG(seed, 1))
	most := int64(30_000 + random.IntN(60_000))
	f := newLimited(t, farm(hosts, small(40)), limit.Limits{})
	id := f.requestLimited(limit.Limits{Bytes: most})
	j, crashes := f.crashSome(id, 2, func() time.Duration { return time.Duration(500+random.IntN(1500)) * time.Millisecond })
	// One request is in flight to each host, and each crash loses what was.
	sent, bound := f.web.Stats().BytesOut, most+int64(hosts*(1+crashes)*body)
	if j.State != job.Partial || j.Reason != "max_bytes" || sent < most || sent > bound {
		t.Errorf("%s (%s) with %d bytes of %d after %d crashes, at most %d", j.State, j.Reason, sent, most, crashes, bound)
	}
	if told := f.notices(id); !strings.Contains(told, "Job limit: Maximum ") {
		t.Errorf("notices:\n%s", told)
	}
}
