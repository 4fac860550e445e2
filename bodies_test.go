package headway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/output"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// pageCalls counts the calls of a program's function for pages.
type pageCalls struct {
	mu    sync.Mutex
	calls map[string]int
	takes time.Duration
	fail  func(n int) error // by the number of the call
}

func (p *pageCalls) onPage(_ context.Context, page *output.Page) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	time.Sleep(p.takes) // virtual time; calls are made one after the other
	if p.calls == nil {
		p.calls = map[string]int{}
	}
	p.calls[page.Item.URL.String()]++
	switch {
	case page.Outcome != visit.Fetched || int64(len(page.Body)) != page.Answer.DecodedBytes:
		return fmt.Errorf("%s with %d bytes of %d", page.Outcome, len(page.Body), page.Answer.DecodedBytes)
	case page.Page.Title != "" && !bytes.Contains(page.Body, []byte("<title>"+page.Page.Title+"</title>")):
		return fmt.Errorf("the body of %s is not its own", page.Item.URL)
	}
	if p.fail != nil {
		return p.fail(len(p.calls))
	}
	return nil
}

// delivered compares the calls with what is stored: each stored page was passed on.
func (p *pageCalls) delivered(t *testing.T, st store.Store, id job.ID) (stored int) {
	t.Helper()
	for u, v := range visitsOf(t, st, store.Query{Job: id, Outcome: visit.Fetched}) {
		stored++
		if p.calls[u] == 0 {
			t.Errorf("%s is stored, but was not passed on: %s", u, v.Outcome)
		}
	}
	return stored
}

// TestOnPage passes each page on once, quickly or slowly, with the pace of the host.
func TestOnPage(t *testing.T) {
	const pages = 30
	for name, takes := range map[string]time.Duration{"fast": 0, "slow": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 3, small(pages))
				p := &pageCalls{takes: takes}
				s.cfg.OnPage = p.onPage
				began := time.Now()
				r := s.run()
				if r.State != job.Complete || p.delivered(t, s.st, r.Job) != 3*pages || len(p.calls) != 3*pages {
					t.Errorf("ended %s with %d pages passed on", r.State, len(p.calls))
				}
				for u, n := range p.calls {
					if n != 1 {
						t.Errorf("%s was passed on %d times", u, n)
					}
				}
				if took := time.Since(began); took < 3*pages*takes {
					t.Errorf("it did not wait for the function: %v", took)
				}
			})
		})
	}
}

// TestOnPageFails ends the crawl with the function's error or panic. Its page is not stored,
// and the resumed crawl passes on the rest.
func TestOnPageFails(t *testing.T) {
	const pages, failAt = 30, 7
	full := errors.New("index is full")
	for name, tc := range map[string]struct {
		fail func() error
		is   func(err error) bool
	}{
		"an error": {func() error { return full }, func(err error) bool { return errors.Is(err, full) }},
		"a panic": {func() error { panic("no such field") }, func(err error) bool {
			_, ok := errors.AsType[*output.PagePanicError](err)
			return ok
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 1, small(pages))
				p := &pageCalls{fail: func(n int) error {
					if n == failAt {
						return tc.fail()
					}
					return nil
				}}
				dir := t.TempDir()
				open := func() store.Store {
					st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
					if err != nil {
						t.Fatal(err)
					}
					s.st, s.cfg.Store = st, st
					return st
				}
				st := open()
				s.cfg.OnPage = p.onPage
				_, err := headway.Run(t.Context(), s.cfg.Worker, s.cfg.Job)
				if !tc.is(err) || !strings.Contains(err.Error(), "function for page http://h0.site0.example/") {
					t.Errorf("ended with %v", err)
				}
				if stored := p.delivered(t, s.st, 1); stored >= failAt || len(p.calls) != failAt {
					t.Errorf("%d pages stored, %d passed on", stored, len(p.calls))
				}
				if err := st.Close(); err != nil { // a failed crawl releases nothing
					t.Fatal(err)
				}
				p.fail = nil
				st = open()
				defer st.Close()
				r := s.run()
				if stored := p.delivered(t, s.st, r.Job); r.State != job.Complete || stored != pages {
					t.Errorf("resumed: ended %s with %d pages", r.State, stored)
				}
			})
		})
	}
}

// TestOnPageStops stops a crawl while its function is slow: the pages that were fetched are
// passed on and stored, and the resumed crawl does not repeat them.
func TestOnPageStops(t *testing.T) {
	const pages = 30
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(pages))
		p := &pageCalls{takes: 3 * time.Second}
		s.cfg.OnPage = p.onPage
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		r, err := headway.Run(ctx, s.cfg.Worker, s.cfg.Job)
		stored := p.delivered(t, s.st, r.Job)
		if err != nil || r.State.Ended() || stored == 0 || stored == pages || len(p.calls) != stored {
			t.Errorf("%s with %d pages stored, %d passed on, %v", r.State, stored, len(p.calls), err)
		}
		r = s.run()
		if p.delivered(t, s.st, r.Job) != pages {
			t.Errorf("resumed: %s", r.State)
		}
		for u, n := range p.calls {
			if n != 1 {
				t.Errorf("%s was passed on %d times", u, n)
			}
		}
	})
}

// TestFleetOnPage: each page of a job is passed on by the worker that fetches it. A crash
// repeats some pages and loses none.
func TestFleetOnPage(t *testing.T) {
	const hosts, pages = 4, 10
	synctest.Test(t, func(t *testing.T) {
		p := &pageCalls{}
		f := &fleet{simulated: newSimulated(t, hosts, small(pages)), worker: func(w *headway.Worker) { w.OnPage = p.onPage }}
		id := f.submit(0)
		workers := []*worker{f.start(), f.start()}
		pass(5 * time.Second)
		workers[0].crash()
		f.await(id, time.Hour)
		f.drain(workers[1:])
		if stored := p.delivered(t, f.st, id); stored != hosts*pages {
			t.Errorf("%d pages", stored)
		}
	})
}
