package headway_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// stop is a time in which a process is suspended: neither its store nor a server hears from
// it.
type stop struct{ from, until time.Time }

// wait waits for the end of the suspension, if it has begun.
func (s *stop) wait() {
	if s == nil {
		return
	}
	if now := time.Now(); !now.Before(s.from) {
		time.Sleep(s.until.Sub(now)) // virtual time
	}
}

// stopped sends the requests of a process that may be suspended, before they are sent and
// before their response is seen.
type stopped struct {
	fetch.Fetcher
	stop    *stop
	severed int
}

func (s *stopped) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	defer s.stop.wait()
	s.stop.wait()
	return s.Fetcher.Do(ctx, req)
}

func (s *stopped) Sever() {
	s.severed++
	s.Fetcher.(interface{ Sever() }).Sever()
}

// stopping are two crawls that share hosts, one of which is suspended for a while.
type stopping struct {
	*simulated
	board *board
	log   bytes.Buffer
	first *stopped
}

const stopPace = 300 * time.Millisecond

func newStopping(t *testing.T, seed uint64, hosts, pages int) *stopping {
	temper := small(pages)
	temper.Site.CrawlDelay = stopPace
	s := &stopping{simulated: newSimulated(t, hosts, temper), board: newBoard(seed, 40*time.Millisecond)}
	s.owned()
	s.cfg.Policy.Jitter = 0
	return s
}

// crawl runs one of them over some of the hosts.
func (s *stopping) crawl(stop *stop, pages int, seeds ...weburl.URL) {
	cfg := s.cfg
	cfg.Seeds = seeds
	cfg.Store = &member{Store: memory.Open(memory.Config{}), t: s.T, board: s.board, stop: stop}
	if stop != nil {
		s.first = &stopped{Fetcher: cfg.Fetcher, stop: stop}
		cfg.Fetcher = s.first
		cfg.Log = slog.New(slog.NewTextHandler(&s.log, nil))
	}
	r, err := cfg.run(s.Context())
	if err != nil {
		s.Error(err)
		return
	}
	for e := range r.Counts.Ended {
		if e.Outcome != visit.Fetched && e.Outcome != visit.Skipped {
			s.Errorf("%d URLs ended as %v", r.Counts.Ended[e], e)
		}
	}
	if n := r.Counts.Ended[store.Ending{Outcome: visit.Fetched}]; r.State != job.Complete || n != int64(len(seeds)*pages) {
		s.Errorf("ended %s (%s) with %d pages, want %d", r.State, r.Reason, n, len(seeds)*pages)
	}
}

// polite checks that the servers saw one crawler at a time, at their pace.
func (s *stopping) polite(answers int) {
	total := s.web.Stats().Total
	if total.MaxConcurrent > 1 {
		s.Errorf("%d requests at once", total.MaxConcurrent)
	}
	if gap := time.Duration(total.MinGapMS * float64(time.Millisecond)); gap < stopPace {
		s.Errorf("the smallest gap is %v, want %v", gap, stopPace)
	}
	if total.PageAnswers < int64(answers) || total.PageAnswers > int64(answers)+2 {
		s.Errorf("%d pages were answered, want %d and what was in flight", total.PageAnswers, answers)
	}
}

// TestStopAndContinue suspends a crawl for longer than its lease. Its hosts were not taken:
// it resumes, on new connections, and charges the suspension to no host.
func TestStopAndContinue(t *testing.T) {
	for _, long := range []time.Duration{45 * time.Second, 10 * time.Minute} {
		for seed := range randomSeeds(10) {
			t.Run(fmt.Sprint(long, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const hosts, pages = 3, 30
					s := newStopping(t, seed, hosts, pages)
					from := time.Now().Add(2*time.Second + time.Duration(s.board.random.Int64N(int64(5*time.Second))))
					s.crawl(&stop{from, from.Add(long)}, pages, s.cfg.Seeds...)
					s.polite(hosts * pages)
					if s.first.severed == 0 {
						t.Error("no connection was closed")
					}
					if log := s.log.String(); !strings.Contains(log, "was suspended") {
						t.Errorf("it says nothing of its stop:\n%s", log)
					}
				})
			})
		}
	}
}

// TestTakeOverStops suspends a crawl of three hosts, two of which another one wants. That
// one takes them over when the lease expires. The first resumes with the remaining host and
// takes turns on the others: no host ever gets a request too soon.
func TestTakeOverStops(t *testing.T) {
	for seed := range randomSeeds(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, pages = 3, 120
				s := newStopping(t, seed, hosts, pages)
				at := time.Duration(s.board.random.Int64N(int64(5 * time.Second)))
				from := time.Now().Add(2*time.Second + at)
				var wg sync.WaitGroup
				wg.Go(func() {
					s.crawl(&stop{from, from.Add(45*time.Second + at)}, pages, s.cfg.Seeds...)
				})
				wg.Go(func() { s.crawl(nil, pages, s.cfg.Seeds[:2]...) })
				wg.Wait()
				s.polite((hosts + 2) * pages)
				if s.board.taken == 0 {
					t.Error("nothing was taken over: the test is too easy")
				}
			})
		})
	}
}

// TestShareOfPace lets two crawls of one host take turns, with queries as slow as on a
// disk: little time is lost between turns.
func TestShareOfPace(t *testing.T) {
	for _, pace := range []time.Duration{100 * time.Millisecond, time.Second} {
		t.Run(pace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const pages = 200
				temper := small(pages)
				temper.Site.CrawlDelay = pace
				s := newSimulated(t, 1, temper)
				s.owned()
				s.cfg.Policy.Jitter = 0
				s.cfg.Sitemaps = headway.SitemapsOff
				b := newBoard(1, 10*time.Millisecond)
				began := time.Now()
				var wg sync.WaitGroup
				for range 2 {
					cfg := s.cfg
					cfg.Store = &member{Store: memory.Open(memory.Config{}), t: t, board: b}
					wg.Go(func() {
						r, err := cfg.run(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						s.fetched(r, pages)
					})
				}
				wg.Wait()
				total := s.web.Stats().Total
				used := float64(total.Requests-1) * pace.Seconds() / time.Since(began).Seconds()
				t.Logf("%.3f of the pace used, %d turns, smallest gap %.1f ms", used, b.moves, total.MinGapMS)
				if used < 0.9 {
					t.Errorf("%.3f of the pace was used by both together, want 0.9", used)
				}
				if total.MaxConcurrent > 1 || total.MinGapMS < pace.Seconds()*1000 {
					t.Errorf("%d at once, smallest gap %.1f ms", total.MaxConcurrent, total.MinGapMS)
				}
				if b.moves < 10 {
					t.Errorf("the host changed hands %d times: the test is too easy", b.moves)
				}
			})
		})
	}
}
