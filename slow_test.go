package headway_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/answer"
	"headway/ask"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/governor"
	"headway/job"
	"headway/lab"
	labtemper "headway/lab/temper"
	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// curious queries the status of a crawl each second.
type curious struct {
	mu     sync.Mutex
	at     time.Time
	status []*ask.Status
}

func (c *curious) Receive(context.Context) ([]ask.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < time.Second {
		return nil, nil
	}
	c.at = time.Now()
	return []ask.Message{{ID: "how", Question: ask.Question{Kind: ask.KindStatus}}}, nil
}

func (c *curious) Reply(_ context.Context, _ string, a ask.Answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = append(c.status, a.Status)
	return nil
}

// moments explains each second of the crawl.
func (c *curious) moments() []answer.Slow {
	var list []answer.Slow
	for i, s := range c.status {
		if i == 0 {
			list = append(list, answer.ExplainSlow(answer.SlowRunning(nil, s, nil)))
		} else {
			list = append(list, answer.ExplainSlow(answer.SlowRunning(c.status[i-1], s, nil)))
		}
	}
	return list
}

// slowPages delays pages, but not robots.txt.
type slowPages struct {
	fetch.Fetcher
	wait time.Duration
}

func (s slowPages) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	time.Sleep(s.wait)
	return s.Fetcher.Do(ctx, req)
}

// lateStore returns no host for a while.
type lateStore struct {
	store.Store
	until time.Time
}

func (s lateStore) Hosts(ctx context.Context, q store.HostQuery) (store.HostPage, error) {
	time.Sleep(time.Until(s.until)) // virtual time
	return s.Store.Hosts(ctx, q)
}

// takenStore is a store whose domains another process keeps for a while.
type takenStore struct {
	store.Store
	until time.Time
}

func (s takenStore) Claim(_ context.Context, now time.Time, domains []string) (store.Claim, error) {
	if now.Before(s.until) {
		return store.Claim{}, nil
	}
	return store.Claim{Granted: domains}, nil
}

func (takenStore) Wanted(context.Context, time.Time) ([]string, error) { return nil, nil }

func (takenStore) Keep(context.Context) ([]string, error)                         { return nil, nil }
func (takenStore) Yield(context.Context, time.Time, []string, []store.Host) error { return nil }

// noCPU is the CPU of a process that hardly gets any.
type noCPU struct{}

func (noCPU) Overloaded() bool        { return true }
func (noCPU) Demand() governor.Demand { return governor.Demand{Queued: 1000, Latency: time.Second} }

// slowDisk is a store that always waits for its disk.
type slowDisk struct {
	*slowStore
	opened time.Time
}

func (s slowDisk) DiskTime() (time.Duration, int64) { return time.Since(s.opened), 0 }

// slowDatabase is a store in a slow database.
type slowDatabase struct{ *slowStore }

func (slowDatabase) IsDatabase() {}

// lateTokens is a store that takes its time to reserve page tokens.
type lateTokens struct{ store.Store }

func (s lateTokens) Reserve(ctx context.Context, w store.WorkerID, id job.ID, n int) (int, error) {
	time.Sleep(2 * time.Second) // virtual time
	return s.Store.Reserve(ctx, w, id, n)
}

// TestSlowFarLimit crawls under a page limit that is far away, with a store that reserves
// pages slowly: nothing waits for a higher limit.
func TestSlowFarLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 5, small(100))
		s.owned()
		s.cfg.Store = lateTokens{s.st}
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 1_000_000}})
		r := s.run()
		s.fetched(r, 5*100)
		if p := part(r, visit.WaitBudget); p > 0 {
			t.Errorf("%.0f %% of host time is charged to the limit", 100*p)
		}
		if p := part(r, visit.WaitStorage); p < 0.1 {
			t.Errorf("%.0f %% of host time is charged to the store, which was slow", 100*p)
		}
	})
}

// owned treats all hosts as the operator's own.
func (s *simulated) owned() {
	s.cfg.Policy, s.cfg.Owned = preset("owned"), func(weburl.URL) bool { return true }
}

// latency is a host with slow responses.
func latency(pages int, wait time.Duration) lab.Temper {
	t := small(pages)
	t.Rules.Latency = labtemper.Constant(wait)
	return t
}

// provocations makes hosts wait for each wait reason.
var provocations = map[string]func(t *testing.T) *simulated{
	answer.Fetching: func(t *testing.T) *simulated {
		s := newSimulated(t, 3, latency(20, 900*time.Millisecond))
		return s
	},
	string(visit.WaitPace): func(t *testing.T) *simulated { return newSimulated(t, 3, small(20)) },
	string(visit.WaitCrawlDelay): func(t *testing.T) *simulated {
		temper := small(10)
		temper.Site.CrawlDelay = 5 * time.Second
		return newSimulated(t, 2, temper)
	},
	string(visit.WaitHold): func(t *testing.T) *simulated {
		temper := small(20)
		temper.Rules.Outages = []labtemper.Outage{{After: 5 * time.Second, For: 2 * time.Minute}}
		return newSimulated(t, 2, temper)
	},
	string(visit.WaitInFlight): func(t *testing.T) *simulated { return newSimulated(t, 3, latency(20, 8*time.Second)) },
	string(visit.WaitDomainInterval): func(t *testing.T) *simulated {
		specs := make([]lab.HostSpec, 12)
		for i := range specs {
			specs[i] = lab.HostSpec{Name: fmt.Sprintf("h%d.one.example", i), Temper: small(10)}
		}
		return simulate(t, specs)
	},
	string(visit.WaitAddressInterval): func(t *testing.T) *simulated { return onOneAddress(t, 40, 10) },
	string(visit.WaitRobots): func(t *testing.T) *simulated {
		temper := small(10)
		temper.Site.Robots = "drip"
		return newSimulated(t, 2, temper)
	},
	string(visit.WaitDNS): func(t *testing.T) *simulated {
		s := newSimulated(t, 3, small(10))
		s.names = func(a guard.Answer) guard.Answer {
			time.Sleep(4 * time.Second) // virtual time
			a.TTL = time.Millisecond
			return a
		}
		return s
	},
	string(visit.WaitWorkers): func(t *testing.T) *simulated {
		s := newSimulated(t, 20, latency(5, 900*time.Millisecond))
		s.owned()
		s.cfg.Workers = 1
		return s
	},
	string(visit.WaitParse): func(t *testing.T) *simulated {
		s := newSimulated(t, 20, latency(5, 900*time.Millisecond))
		s.owned()
		s.cfg.MemoryLimit = 1 // all of it is in use
		return s
	},
	string(visit.WaitCPU): func(t *testing.T) *simulated {
		s := newSimulated(t, 20, latency(5, 900*time.Millisecond))
		s.owned()
		s.cfg.CPU = noCPU{}
		return s
	},
	string(visit.WaitDisk): func(t *testing.T) *simulated {
		s := newSimulated(t, 3, small(100))
		s.owned()
		s.cfg.Store = slowDisk{&slowStore{Store: s.st, until: time.Now().Add(time.Minute)}, time.Now()}
		return s
	},
	string(visit.WaitDatabase): func(t *testing.T) *simulated {
		s := newSimulated(t, 3, small(100))
		s.owned()
		s.cfg.Store = slowDatabase{&slowStore{Store: s.st, until: time.Now().Add(time.Minute)}}
		return s
	},
	string(visit.WaitStorage): func(t *testing.T) *simulated {
		s := newSimulated(t, 3, small(100))
		s.owned()
		s.cfg.Store = &slowStore{Store: s.st, until: time.Now().Add(time.Minute)}
		return s
	},
	string(visit.WaitBudget): func(t *testing.T) *simulated {
		s := newSimulated(t, 20, small(10))
		s.cfg.Fetcher = slowPages{s.cfg.Fetcher, time.Minute}
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 2}})
		return s
	},
	string(visit.WaitNetwork): func(t *testing.T) *simulated {
		s := newSimulated(t, 25, small(10))
		go func() {
			time.Sleep(5 * time.Second) // virtual time
			s.dns.Store(true)
			time.Sleep(2 * time.Minute) // virtual time
			s.dns.Store(false)
		}()
		return s
	},
	string(visit.WaitLease): func(t *testing.T) *simulated {
		s := newSimulated(t, 2, small(10))
		s.cfg.Store = takenStore{s.st, time.Now().Add(time.Minute)}
		return s
	},
	string(visit.WaitIdle): func(t *testing.T) *simulated {
		s := newSimulated(t, 2, small(3))
		s.cfg.Store = lateStore{s.st, time.Now().Add(time.Minute)}
		return s
	},
}

// onOneAddress is a web of hosts on one address, which is treated as a public one.
func onOneAddress(t *testing.T, hosts, pages int) *simulated {
	t.Helper()
	s := newSimulated(t, hosts, small(pages))
	s.cfg.Addresses = func(netip.Addr) bool { return true }
	one := netip.MustParseAddr("127.1.0.1")
	s.names = func(a guard.Answer) guard.Answer {
		a.Addrs[0] = one
		return a
	}
	return s
}

// TestSlowNamesEveryWait provokes every wait reason, and checks that `slow` names it: while
// it lasts, and for the whole crawl afterwards.
func TestSlowNamesEveryWait(t *testing.T) {
	for _, w := range append([]string{answer.Fetching}, waits()...) {
		provoke, ok := provocations[w]
		if !ok {
			t.Errorf("nothing makes a host wait for %s", w)
			continue
		}
		t.Run(w, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := provoke(t)
				asked := &curious{}
				s.cfg.Mail = asked
				r := s.run()
				named := ""
				for _, m := range asked.moments() {
					if m.Now.State != w {
						continue
					}
					if m.Now.Part > 0.5 || w == string(visit.WaitIdle) {
						named = m.Sentence
						if m.MoreWorkers != (w == string(visit.WaitWorkers)) || m.Change == "" {
							t.Errorf("more workers would help: %v; change: %q", m.MoreWorkers, m.Change)
						}
					}
				}
				if named == "" {
					t.Errorf("at no moment it was named")
				}
				t.Log("running: ", named)
				whole := s.whole(r)
				t.Log("ended:   ", whole.Sentence, whole.Change)
				if w != string(visit.WaitIdle) && whole.SoFar.State != w {
					t.Errorf("of the whole it names %s: %v", whole.SoFar.State, whole.Parts)
				}
				if strings.Contains(whole.Sentence, "would help") != (w == string(visit.WaitWorkers)) {
					t.Errorf("it says %q", whole.Sentence)
				}
			})
		})
	}
}

// whole explains a crawl from its stored data.
func (s *simulated) whole(r headway.Report) answer.Slow {
	s.Helper()
	points, err := s.st.Points(s.Context(), r.Job)
	if err != nil {
		s.Fatal(err)
	}
	j, err := s.st.Job(s.Context(), r.Job)
	if err != nil {
		s.Fatal(err)
	}
	return answer.ExplainSlow(answer.SlowStored(j, r.Counts.Waiting, points, nil))
}

func waits() []string {
	list := make([]string, len(visit.Waits))
	for i, w := range visit.Waits {
		list[i] = string(w)
	}
	return list
}
