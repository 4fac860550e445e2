package headway_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	labtemper "headway/lab/temper"
	"headway/limit"
	"headway/output"
	"headway/scope"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// config is a crawl: its worker and its job.
type config struct {
	headway.Worker
	headway.Job
}

func (c config) run(ctx context.Context) (headway.Report, error) {
	return headway.Run(ctx, c.Worker, c.Job)
}

// simulated is a simulated web of n hosts and a crawl of it.
type simulated struct {
	*testing.T
	web *simweb.Web
	st  store.Store
	cfg config
	dns atomic.Bool // the resolver does not respond
	// names changes the resolver's answer for a host, if not nil.
	names func(guard.Answer) guard.Answer
}

func newSimulated(t *testing.T, hosts int, temper lab.Temper) *simulated {
	t.Helper()
	specs := make([]lab.HostSpec, hosts)
	for i := range specs {
		specs[i] = lab.HostSpec{Name: fmt.Sprintf("h%d.site%d.example", i, i), Temper: temper}
	}
	return simulate(t, specs)
}

func simulate(t *testing.T, specs []lab.HostSpec) *simulated {
	t.Helper()
	seeds := make([]weburl.URL, len(specs))
	for i := range specs {
		seeds[i] = mustURL("http://" + specs[i].Name + "/")
	}
	w, err := simweb.New(lab.Config{Hosts: specs, Log: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s := &simulated{T: t, web: w, st: memory.Open(memory.Config{})}
	d, err := guard.New(guard.Config{
		AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}},
		Lookup: func(ctx context.Context, host string) (guard.Answer, error) {
			if s.dns.Load() {
				return guard.Answer{}, &guard.DNSError{Host: host, Kind: guard.Unreachable}
			}
			addr, err := w.Lookup(ctx, host)
			if err != nil {
				return guard.Answer{}, &guard.DNSError{Host: host, Kind: guard.NXDomain, Err: err}
			}
			answer := guard.Answer{Addrs: []netip.Addr{addr}, TTL: 5 * time.Second}
			if s.names != nil {
				answer = s.names(answer)
			}
			return answer, nil
		},
		Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return w.DialContext(ctx, "tcp", addr.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := fetch.New(fetch.Config{Dialer: d, KeepAlive: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s.cfg = config{headway.Worker{Store: s.st, Fetcher: c}, headway.Job{Seeds: seeds, Sitemaps: headway.SitemapsOff, Policy: preset("polite")}}
	return s
}

func (s *simulated) run() headway.Report {
	s.Helper()
	r, err := s.cfg.run(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("%s (%s) after %v: %v", r.State, r.Reason, r.Elapsed, r.Counts.Ended)
	return r
}

// part is the share of host time spent on a wait reason.
func part(r headway.Report, w visit.Wait) float64 {
	for _, s := range r.Shares {
		if s.State == frontier.Waiting(w) {
			return s.Part
		}
	}
	return 0
}

// fetched checks that all pages of all hosts were fetched without a failure.
func (s *simulated) fetched(r headway.Report, pages int64) {
	s.Helper()
	if r.State != job.Complete {
		s.Errorf("ended %s (%s)", r.State, r.Reason)
	}
	var failed int64
	for e, n := range r.Counts.Ended {
		if e.Outcome == visit.Failed || e.Outcome == visit.Deferred || e.Outcome == visit.Throttled || e.Outcome == visit.ServerError {
			failed += n
		}
	}
	if got := r.Counts.Ended[store.Ending{Outcome: visit.Fetched}]; got != pages || failed > 0 {
		s.Errorf("%d pages fetched and %d failed, want %d and none", got, failed, pages)
	}
	if unique := s.web.Stats().Total.UniquePages; unique != pages {
		s.Errorf("%d pages by the servers' count, want %d", unique, pages)
	}
}

// TestDNSDown stops the resolver for a minute. The crawl waits, resumes by itself and
// charges no host.
func TestDNSDown(t *testing.T) {
	for _, hosts := range []int{3, 25} {
		t.Run(fmt.Sprint(hosts, " hosts"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, hosts, small(30))
				go func() {
					time.Sleep(10 * time.Second)
					s.dns.Store(true)
					time.Sleep(time.Minute)
					s.dns.Store(false)
				}()
				r := s.run()
				s.fetched(r, int64(hosts*30))
				if got := s.web.Stats().Total.Requests; r.Requests != got {
					t.Errorf("%d requests reported, the hosts saw %d", r.Requests, got)
				}
				if p := part(r, visit.WaitNetwork); p < 0.2 {
					t.Errorf("%.0f %% of the time was put down to our own network", 100*p)
				}
				if took := r.Elapsed; took < 80*time.Second || took > 3*time.Minute {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// slowStore delays commits for a while.
type slowStore struct {
	store.Store
	until time.Time
	most  atomic.Int64 // visits in one commit
	links atomic.Int64 // in one commit
}

func (s *slowStore) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	s.most.Store(max(s.most.Load(), int64(len(c.Visits))))
	links := len(c.Found)
	for i := range c.Visits {
		links += len(c.Visits[i].Links)
	}
	s.links.Store(max(s.links.Load(), int64(links)))
	if time.Now().Before(s.until) {
		time.Sleep(20 * time.Second)
	}
	return s.Store.Commit(ctx, c)
}

// TestSlowStore lets commits hang for a minute: fewer fetches, a bounded backlog of pages,
// and no host is slowed down.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 5, small(400))
		p := preset("owned")
		s.cfg.Policy, s.cfg.Owned = p, func(weburl.URL) bool { return true }
		slow := &slowStore{Store: s.st, until: time.Now().Add(time.Minute)}
		s.cfg.Store = slow
		r := s.run()
		s.fetched(r, 5*400)
		if p := part(r, visit.WaitStorage); p < 0.5 {
			t.Errorf("%.0f %% of the time was put down to the store", 100*p)
		}
		if r.Incidents > 0 {
			t.Errorf("hosts were blamed %d times", r.Incidents)
		}
	})
}

// TestSlowStoreOfLinks lets commits of pages with many links hang: the waiting links are
// bounded, not only the pages.
func TestSlowStoreOfLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages, links, workers = 20, 60, 100, 32
		linked := small(pages)
		linked.Site.Links = links
		s := newSimulated(t, hosts, linked)
		s.cfg.Policy, s.cfg.Owned = preset("owned"), func(weburl.URL) bool { return true }
		s.cfg.Ungoverned, s.cfg.Workers, s.cfg.Gauge = true, workers, new(gauge.Gauge)
		slow := &slowStore{Store: s.st, until: time.Now().Add(time.Minute)}
		s.cfg.Store = slow
		s.fetched(s.run(), hosts*pages)
		t.Logf("at most %d pages and %d links in a commit", slow.most.Load(), slow.links.Load())
		// Requests in flight when the bound is reached go beyond it. A link counts on its
		// page and again if it is new.
		if got, most := slow.links.Load(), int64(headway.MaxLinksBehind+workers*2*2*links); got > most || got < headway.MaxLinksBehind/2 {
			t.Errorf("%d links in a commit, want at most %d, and the test to be hard enough", got, most)
		}
	})
}

// TestLowDisk pauses while disk space is low, and resumes by itself.
func TestLowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 2, small(30))
		began := time.Now()
		s.cfg.Free = func() (int64, error) {
			if after := time.Since(began); after > 5*time.Second && after < 65*time.Second {
				return 1000, nil
			}
			return 10 << 30, nil
		}
		r := s.run()
		s.fetched(r, 60)
		if p := part(r, visit.WaitStorage); p < 0.3 {
			t.Errorf("%.0f %% of the time was put down to the store", 100*p)
		}
		if r.Elapsed < 85*time.Second {
			t.Errorf("took %v: it did not wait", r.Elapsed)
		}
	})
}

// TestFullDisk ends as partial when disk space does not return.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(30))
		s.cfg.Free = func() (int64, error) { return 1000, nil }
		if r := s.run(); r.State != job.Partial || r.Reason != "disk" {
			t.Errorf("ended %s (%s), want partial (disk)", r.State, r.Reason)
		}
	})
}

// TestStoreFull fills the disk in the middle of a crawl: it retries for a while, ends as
// partial, and resumes when there is room.
func TestStoreFull(t *testing.T) {
	for name, full := range map[string]error{
		"the store": store.ErrFull, "a file": &fs.PathError{Op: "write", Path: "hosts.db", Err: syscall.ENOSPC}, "a quota": syscall.EDQUOT,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 2, small(30))
				st := &crammed{Store: s.st, err: full, room: 3}
				s.cfg.Store, s.cfg.MinFree = st, -1
				r := s.run()
				if r.State != job.Partial || r.Reason != headway.Disk || !r.Success || r.Counts.Waiting == 0 {
					t.Errorf("ended %s (%s), %d waiting; want partial (disk)", r.State, r.Reason, r.Counts.Waiting)
				}
				if r.Elapsed > time.Minute {
					t.Errorf("it took %v", r.Elapsed)
				}
				if errors.Is(full, store.ErrFull) {
					return
				}
				time.Sleep(time.Minute) // until the slots of this process are free; all runs are in one process here
				st.room = math.MaxInt
				if r := s.run(); r.State != job.Complete || r.Counts.Pages() != 60 {
					t.Errorf("with room again: %s (%s), %d pages", r.State, r.Reason, r.Counts.Pages())
				}
			})
		})
	}
}

// crammed is a store with room for a number of commits.
type crammed struct {
	store.Store
	err  error
	room int
}

func (s *crammed) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if s.room--; s.room < 0 {
		return store.Receipt{}, fmt.Errorf("commit: %w", s.err)
	}
	return s.Store.Commit(ctx, c)
}

// TestStoreOutOfDescriptors runs out of file descriptors for a while: the crawl waits and
// completes.
func TestStoreOutOfDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 2, small(30))
		s.cfg.Store = &starved{Store: s.st, until: time.Now().Add(20 * time.Second)}
		if r := s.run(); r.State != job.Complete || r.Counts.Pages() != 60 {
			t.Errorf("%s (%s), %d pages", r.State, r.Reason, r.Counts.Pages())
		}
	})
}

// starved is a store that cannot open files until a time.
type starved struct {
	store.Store
	until time.Time
}

func (s *starved) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if time.Now().Before(s.until) {
		return store.Receipt{}, store.ErrScarce
	}
	return s.Store.Commit(ctx, c)
}

func (s *starved) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if time.Now().Before(s.until) {
		return nil, os.NewSyscallError("open", syscall.EMFILE)
	}
	return s.Store.Heads(ctx, now, wants)
}

// TestLimits stops at each limit, names it, and keeps the remaining work.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		job, safety limit.Limits
		state       job.State
		success     bool
		pages       int64 // -1: any number below all
		message     string
	}{
		"none":            {state: job.Complete, success: true, pages: 60},
		"pages":           {job: limit.Limits{Pages: 25}, state: job.Partial, success: true, pages: 25, message: "Job limit: Maximum 25 pages per crawl"},
		"pages capped":    {job: limit.Limits{Pages: 100}, safety: limit.Limits{Pages: 50}, state: job.Partial, success: true, pages: 50, message: "Safety limit: Maximum 50 pages per crawl (requested: 100)"},
		"exactly enough":  {job: limit.Limits{Pages: 60}, state: job.Complete, success: true, pages: 60},
		"time":            {job: limit.Limits{Time: 10 * time.Second}, state: job.Partial, success: false, pages: -1, message: "Job limit: Crawl timeout exceeded (10000ms)"},
		"safety time":     {safety: limit.Limits{Time: 10 * time.Second}, state: job.Partial, success: false, pages: -1, message: "Safety limit: Crawl timeout exceeded (10000ms)"},
		"requests":        {job: limit.Limits{Requests: 20}, state: job.Partial, success: true, pages: -1},
		"bytes":           {job: limit.Limits{Bytes: 50_000}, state: job.Partial, success: true, pages: -1},
		"pages of a host": {job: limit.Limits{PagesPerHost: 7}, state: job.Complete, success: true, pages: 14},
		"depth":           {job: limit.Limits{Depth: 1}, state: job.Complete, success: true, pages: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 2, small(30))
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Safety, Limits: tc.safety}, limit.Layer{Level: limit.Job, Limits: tc.job})
				r := s.run()
				if r.State != tc.state || r.Success != tc.success {
					t.Errorf("ended %s (%s), success %v; want %s, %v", r.State, r.Reason, r.Success, tc.state, tc.success)
				}
				pages := r.Counts.Pages()
				if tc.pages >= 0 && pages != tc.pages || tc.pages < 0 && (pages >= 60 || pages == 0) {
					t.Errorf("%d pages, want %d", pages, tc.pages)
				}
				if got := s.web.Stats().Total.PageAnswers; got != pages {
					t.Errorf("%d pages by the servers' count, %d by ours", got, pages)
				}
				if tc.message != "" && (len(r.Errors) != 1 || r.Errors[0] != tc.message) {
					t.Errorf("errors %q, want %q", r.Errors, tc.message)
				}
				if r.State == job.Partial && r.Counts.Waiting == 0 {
					t.Error("nothing is left, and yet it is partial")
				}
			})
		})
	}
}

// TestDrain stops after the requests in flight, and a second run resumes.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 2, small(30))
		drain := make(chan struct{})
		s.cfg.Drain = drain
		go func() {
			time.Sleep(10 * time.Second)
			close(drain)
		}()
		r := s.run()
		if r.State != job.Running || r.Counts.Waiting == 0 || r.Counts.Tokens != 0 {
			t.Errorf("ended %s with %d waiting, %d tokens out", r.State, r.Counts.Waiting, r.Counts.Tokens)
		}
		s.cfg.Drain = nil
		r = s.run()
		s.fetched(r, 60)
		if !r.Resumed {
			t.Error("the second run did not report that it resumed")
		}
		if repeats := s.web.Stats().Total.PageAnswers - 60; repeats != 0 {
			t.Errorf("%d pages were fetched twice", repeats)
		}
		if again := s.run(); !again.Again || again.State != job.Complete {
			t.Errorf("a third run: %s, again %v", again.State, again.Again)
		}
	})
}

// TestManyHostsBehindASlowStore has more robots.txt and first pages than fit into one
// commit.
func TestManyHostsBehindASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts = 1500
		s := newSimulated(t, hosts, small(2))
		s.cfg.Owned, s.cfg.Policy = func(weburl.URL) bool { return true }, preset("owned")
		s.cfg.RobotsWorkers = 512
		s.cfg.Store = &slowStore{Store: s.st, until: time.Now().Add(30 * time.Second)}
		s.fetched(s.run(), 2*hosts)
	})
}

// TestSitemapsOfKnownHosts interrupts a crawl before its sitemaps were read. The resumed
// run does not fetch robots.txt again, and still reads them.
func TestSitemapsOfKnownHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(10)
		temper.Site.Orphans, temper.Site.Sitemap = 5, "parts"
		s := newSimulated(t, 1, temper)
		s.cfg.Sitemaps = headway.SitemapsAuto
		drain := make(chan struct{})
		s.cfg.Drain = drain
		go func() {
			time.Sleep(500 * time.Millisecond)
			close(drain)
		}()
		s.run()
		if n := s.web.Stats().Total.SitemapFetches; n > 0 {
			t.Fatalf("%d sitemaps were read before the interruption: the test is void", n)
		}
		s.cfg.Drain = nil
		r := s.run()
		total := s.web.Stats().Total
		if r.State != job.Complete || total.UniquePages != 10 || total.UniqueOrphans != 5 {
			t.Errorf("ended %s with %d of 10 pages and %d of 5 that only the sitemap names", r.State, total.UniquePages, total.UniqueOrphans)
		}
		if total.RobotsFetches != 1 {
			t.Errorf("robots.txt was requested %d times", total.RobotsFetches)
		}
	})
}

// TestCancelAfter cancels a crawl whose host keeps refusing at the slowest pace, if
// configured.
func TestCancelAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(30)
		temper.Rules.Outages = []labtemper.Outage{{AfterRequests: 3, Status: 429, Form: labtemper.None}}
		s := newSimulated(t, 1, temper)
		s.cfg.Policy.CancelAfter = 5
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: 1000 * time.Hour}})
		r := s.run()
		if r.State != job.Cancelled || r.Success || !strings.Contains(r.Reason, "refused 5 times") {
			t.Errorf("ended %s (%s), success %v", r.State, r.Reason, r.Success)
		}
		if r.Counts.Waiting == 0 {
			t.Error("nothing waits")
		}
	})
}

// TestLimitsBetweenTicks reaches limits between two checks: a fast host answers hundreds of
// requests in that time.
func TestLimitsBetweenTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		limits limit.Limits
		most   int64 // requests
	}{
		"requests": {limit.Limits{Requests: 10}, 10},
		"bytes":    {limit.Limits{Bytes: 1}, 2}, // robots.txt, and a page in parallel
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 1, small(300))
				s.cfg.Policy, s.cfg.Owned = preset("owned"), func(weburl.URL) bool { return true }
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: tc.limits})
				r := s.run()
				if r.State != job.Partial {
					t.Errorf("ended %s", r.State)
				}
				if got := s.web.Stats().Total.Requests; got > tc.most || got != r.Requests {
					t.Errorf("%d requests by the servers' count, %d by ours, want at most %d", got, r.Requests, tc.most)
				}
			})
		})
	}
}

// TestNarrowedScope resumes a crawl with a narrower scope: waiting URLs that are no longer
// in scope are not fetched.
func TestNarrowedScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(30))
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 5}})
		s.run()
		s.cfg.Limits, s.cfg.Continue, s.cfg.Scope.Exclude = limit.Resolve(), true, []string{"/**"}
		r := s.run()
		if got := s.web.Stats().Total.PageAnswers; got != 5 || r.State != job.Complete {
			t.Errorf("ended %s after %d pages, want complete after 5", r.State, got)
		}
		if r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.Excluded}] == 0 {
			t.Errorf("nothing was excluded: %v", r.Counts.Ended)
		}
	})
}

// TestTimeOfRuns checks that the time limit counts the time of all runs, however often the
// crawl was interrupted.
func TestTimeOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(60))
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Time: 30 * time.Second}})
		for range 4 {
			drain := make(chan struct{})
			s.cfg.Drain = drain
			go func() {
				time.Sleep(4 * time.Second)
				close(drain)
			}()
			if r := s.run(); r.State != job.Running {
				t.Fatalf("ended %s (%s) after %v in all", r.State, r.Reason, r.Spent.Time)
			}
			time.Sleep(time.Minute) // does not count
		}
		s.cfg.Drain = nil
		r := s.run()
		if r.State != job.Partial || r.Spent.Time < 30*time.Second || r.Spent.Time > 34*time.Second {
			t.Errorf("ended %s after %v in all, want partial after 30 s", r.State, r.Spent.Time)
		}
	})
}

// TestDiskFullFromTheStart checks the disk before the first fetch.
func TestDiskFullFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(30))
		s.cfg.Policy, s.cfg.Owned = preset("owned"), func(weburl.URL) bool { return true }
		s.cfg.Free = func() (int64, error) { return 1000, nil }
		s.run()
		if n := s.web.Stats().Total.Requests; n > 0 {
			t.Errorf("%d requests on a full disk", n)
		}
	})
}

// brokenOutput cannot be written to.
type brokenOutput struct{}

var errBroken = errors.New("no room for pages")

func (brokenOutput) Write(context.Context, *visit.Visit) error { return errBroken }
func (brokenOutput) Close() error                              { return nil }

// TestBrokenOutput ends with the error of an output instead of waiting for it.
func TestBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(200))
		s.cfg.Outputs = []output.Writer{brokenOutput{}}
		began := time.Now()
		_, err := s.cfg.run(t.Context())
		if !errors.Is(err, errBroken) {
			t.Errorf("ended with %v, want %v", err, errBroken)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v to notice", took)
		}
	})
}

// TestHostsInMemory crawls more hosts than fit in memory. Those that wait in the store take
// no memory.
func TestHostsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, hot = 40, 4
		s := newSimulated(t, hosts, small(30))
		s.cfg.HotHosts, s.cfg.Scope.Mode = hot, scope.Any
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 20}})
		c, err := headway.New(s.cfg.Worker, s.cfg.Job)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Run(t.Context()); err != nil || r.State != job.Partial {
			t.Fatalf("ended %s: %v", r.State, err)
		}
		if n := c.Sites(); n > 2*hot {
			t.Errorf("something is kept of %d hosts, with %d in memory", n, hot)
		}
	})
}

// cutStore stops the crawl while it checks whether anything waits.
type cutStore struct {
	store.Store
	stop func()
}

func (s *cutStore) Idle(ctx context.Context, id job.ID) (store.Idle, error) {
	s.stop()
	if ctx.Err() != nil {
		return store.Idle{}, ctx.Err()
	}
	return s.Store.Idle(ctx, id)
}

// TestStoppedAtTheEnd is interrupted while it checks whether it is done: that is an
// interrupted crawl, not a broken store.
func TestStoppedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(3))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.cfg.Store = &cutStore{Store: s.st, stop: stop}
		r, err := s.cfg.run(ctx)
		if err != nil || r.Reason != "interrupted" {
			t.Errorf("%s (%s), %v", r.State, r.Reason, err)
		}
	})
}

// TestUnknownHostName: a name that does not exist ends its URLs with that reason, even if
// the patience is shorter than the backoff.
func TestUnknownHostName(t *testing.T) {
	for _, patience := range []time.Duration{5 * time.Second, 12 * time.Second, 30 * time.Second, 10 * time.Minute} {
		t.Run(patience.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 1, small(3))
				s.cfg.Seeds = append(s.cfg.Seeds, mustURL("http://nobody.example/"))
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: patience}})
				r := s.run()
				if n := r.Counts.Ended[store.Ending{Outcome: visit.Failed, Reason: visit.DNS}]; n != 1 {
					t.Errorf("%d URLs failed for their name, want 1: %v", n, r.Counts.Ended)
				}
			})
		})
	}
}
