package headway_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/job"
	labtemper "headway/lab/temper"
	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Behaviours from the source documents that no other test of a whole crawl shows;
// docs/source-documents.md has the list.

// underWay counts concurrent page requests.
type underWay struct {
	fetch.Fetcher
	mu        sync.Mutex
	now, most int
}

func (u *underWay) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	u.add(1)
	defer u.add(-1)
	return u.Fetcher.Do(ctx, req)
}

func (u *underWay) add(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now += n
	u.most = max(u.most, u.now)
}

// TestWorkersBound never has more requests under way than workers, and uses all of them if
// hosts are ready.
func TestWorkersBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 20, latency(5, 900*time.Millisecond)) // after a second the place is released
		s.owned()
		s.cfg.Workers = 3
		count := &underWay{Fetcher: s.cfg.Fetcher}
		s.cfg.Fetcher = count
		s.fetched(s.run(), 100)
		if count.most != 3 {
			t.Errorf("%d requests under way at once, want 3", count.most)
		}
	})
}

// TestMaxWaiting defers URLs beyond a bound on waiting ones, and drops none: the same crawl
// without the bound fetches them.
func TestMaxWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(60))
		s.cfg.MaxWaiting = 5
		r := s.run()
		deferred := r.Counts.Ended[store.Ending{Outcome: visit.Deferred}]
		if r.State != job.Partial || deferred == 0 {
			t.Errorf("ended %s (%s) with %d deferred", r.State, r.Reason, deferred)
		}
		if got := s.web.Stats().Total.UniquePages; got >= 60 {
			t.Errorf("%d pages were fetched, the bound was not felt", got)
		}
		s.cfg.MaxWaiting, s.cfg.Continue = 0, true
		s.fetched(s.run(), 60)
	})
}

// TestPartialIsNotRetried does not resume a crawl that a limit stopped, until more is
// requested.
func TestPartialIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(30))
		s.cfg.Limits = limit.Resolve(limit.NewService(), limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 10}})
		if r := s.run(); r.State != job.Partial || !r.Success {
			t.Fatalf("ended %s, success %v", r.State, r.Success)
		}
		before := s.web.Stats().Total.Requests
		if r := s.run(); !r.Again || r.State != job.Partial {
			t.Errorf("the same again: %s, again %v", r.State, r.Again)
		}
		if got := s.web.Stats().Total.Requests; got != before {
			t.Errorf("%d requests more", got-before)
		}
		s.cfg.Limits, s.cfg.Continue = limit.Resolve(), true
		s.fetched(s.run(), 30)
	})
}

// TestTimeoutGrace gives requests in flight two seconds at the time limit, not the time the
// host takes.
func TestTimeoutGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(30))
		s.cfg.Fetcher = waitingPages{s.cfg.Fetcher}
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Safety, Limits: limit.Limits{Time: 10 * time.Second}})
		r := s.run()
		if r.State != job.Partial || r.Success || len(r.Errors) != 1 || r.Errors[0] != "Safety limit: Crawl timeout exceeded (10000ms)" {
			t.Errorf("ended %s, success %v, errors %q", r.State, r.Success, r.Errors)
		}
		if r.Elapsed < 11*time.Second || r.Elapsed > 14*time.Second {
			t.Errorf("took %v, want 10 s and two more", r.Elapsed)
		}
		if r.Counts.Waiting == 0 {
			t.Error("what was in flight does not wait any more")
		}
	})
}

// waitingPages does not respond before the request is cancelled.
type waitingPages struct{ fetch.Fetcher }

func (w waitingPages) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	<-ctx.Done()
	return w.Fetcher.Do(ctx, req)
}

// notes records log messages.
type notes struct {
	mu   sync.Mutex
	list []slog.Record
}

func (n *notes) Enabled(context.Context, slog.Level) bool { return true }
func (n *notes) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n *notes) WithGroup(string) slog.Handler            { return n }
func (n *notes) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, r)
	return nil
}

// of returns the attributes of the messages with this text.
func (n *notes) of(message string) []map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []map[string]string
	for _, r := range n.list {
		if r.Message != message || r.Level != slog.LevelInfo {
			continue
		}
		facts := map[string]string{}
		r.Attrs(func(a slog.Attr) bool {
			facts[a.Key] = a.Value.String()
			return true
		})
		found = append(found, facts)
	}
	return found
}

// TestThreeRefusals crawls a host that refuses three times and then serves. The waits are
// 1, 2 and 4 seconds, the URL is not given up, and each change of pace is logged with the
// host, its new delay and the reason.
func TestThreeRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(5)
		// robots.txt is served; then refusals at 1, 2 and 4 s, none at 8 s.
		temper.Rules.Outages = []labtemper.Outage{{AfterRequests: 1, For: 6 * time.Second, Status: 429, Form: labtemper.None}}
		s := newSimulated(t, 1, temper)
		s.cfg.Policy, s.cfg.Owned = preset("warm"), func(weburl.URL) bool { return true }
		s.cfg.Policy.Jitter = 0
		log := &notes{}
		s.cfg.Log = slog.New(log)
		r := s.run()
		s.fetched(r, 5)
		stats := s.web.Host("h0.site0.example")
		if stats.TooMany != 3 || r.Refusals != 3 {
			t.Errorf("%d refusals, %d by the report, want 3", stats.TooMany, r.Refusals)
		}
		slowed := log.of("host slowed")
		if len(slowed) != 3 {
			t.Fatalf("slowed %d times: %v", len(slowed), slowed)
		}
		for i, want := range []string{"1.5s", "2.5s", "3.5s"} {
			if got := slowed[i]; got["host"] != "http://h0.site0.example" || got["delay"] != want || !strings.Contains(got["why"], "429") {
				t.Errorf("logged %v, want a delay of %s", got, want)
			}
		}
		for i, want := range []string{"1.0 s", "2.0 s", "4.0 s"} {
			if !strings.Contains(slowed[i]["why"], "on hold for "+want) {
				t.Errorf("refusal %d: %q, want it on hold for %s", i+1, slowed[i]["why"], want)
			}
		}
	})
}

// TestAuditGoesOn fetches pages although robots.txt cannot be read, if the preset allows
// it, and marks them; otherwise nothing is fetched.
func TestAuditGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		allow bool
		pages int64
	}{"audit": {true, 10}, "polite": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				temper := small(10)
				temper.Site.Robots = "500"
				s := newSimulated(t, 1, temper)
				s.cfg.Policy = preset(name)
				s.cfg.Robots.AllowUnreachable = s.cfg.Policy.AllowUnreachableRobots
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: time.Minute}})
				r := s.run()
				if got := s.web.Stats().Total.UniquePages; got != tc.pages || s.cfg.Robots.AllowUnreachable != tc.allow {
					t.Errorf("%d pages, want %d; allowed: %v", got, tc.pages, s.cfg.Robots.AllowUnreachable)
				}
				if !tc.allow {
					return
				}
				e := s.evidence(r, "http://h0.site0.example/")
				if e.Kind != visit.RobotsAllowed || e.Confidence != visit.Low {
					t.Errorf("evidence %+v", e)
				}
			})
		})
	}
}

// evidence is the robots.txt evidence of a URL.
func (s *simulated) evidence(r headway.Report, raw string) visit.Evidence {
	s.Helper()
	got, err := s.st.Lookup(s.Context(), r.Job, mustURL(raw))
	if err != nil {
		s.Fatal(err)
	}
	if got.Visit == nil || len(got.Visit.Evidence) != 1 {
		s.Fatalf("%s: %+v", raw, got)
	}
	return got.Visit.Evidence[0]
}
