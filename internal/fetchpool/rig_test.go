package fetchpool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/internal/redirects"
	"headway/job"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// reply is a server's response.
type reply struct {
	status int // 200 if it is 0
	header http.Header
	body   string
	takes  time.Duration // until the response begins
	wire   fetch.Wire
	err    error // instead of a response
}

// web is a fetcher that honours [fetch.Request] without a network.
type web struct {
	replies  map[string]reply // by URL
	requests []string         // that were sent
	last     fetch.Request
}

// stuckAfter is when an exchange counts as stalled.
const stuckAfter = time.Second

// Do makes one exchange.
func (w *web) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	r := w.replies[req.URL.String()]
	res := &fetch.Result{URL: req.URL, Proto: "HTTP/1.1", Header: r.header}
	req.Looking(true)
	req.Looking(false)
	if err := req.BeforeSend(); err != nil {
		return res, fmt.Errorf("not sent: %w", err)
	}
	res.Timing.Sent = time.Now()
	w.requests, w.last = append(w.requests, req.URL.String()), req
	if req.Sent != nil {
		req.Sent(res.Timing.Sent)
	}
	if r.takes > stuckAfter {
		time.Sleep(stuckAfter) // virtual time
		if err := req.Slow(); err != nil {
			return res, fmt.Errorf("no progress: %w", err)
		}
		r.takes -= stuckAfter
	}
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return res, ctx.Err()
	}
	if r.err != nil {
		return res, r.err
	}
	res.Timing.FirstByte = time.Since(res.Timing.Sent)
	req.Answered(time.Now())
	if res.Status = r.status; res.Status == 0 {
		res.Status = http.StatusOK
	}
	res.Body, res.WireBytes = []byte(r.body), int64(len(r.body))
	if req.Wire != nil {
		req.Wire(res, &r.wire)
	}
	return res, nil
}

// Robots makes one exchange too: redirects are up to the client.
func (w *web) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	res, err := w.Do(ctx, req)
	return res, []weburl.URL{req.URL}, err
}

// lease is valid until lost.
type lease struct {
	ctx         context.Context // of requests; nil for that of the work
	lost        error
	interrupted bool
}

func (l *lease) Context(ctx context.Context) context.Context {
	if l.ctx != nil {
		return l.ctx
	}
	return ctx
}
func (l *lease) MayStart(time.Time) error { return l.lost }
func (l *lease) Fence() error             { return l.lost }
func (l *lease) Interrupted() bool        { return l.interrupted }
func (l *lease) LocalError(err error) error {
	if err == nil {
		return nil
	}
	return l.lost
}

// emptyStore knows no redirects, no robots.txt and no earlier crawl.
type emptyStore struct{}

func (emptyStore) Lookup(context.Context, job.ID, weburl.URL) (store.Entry, error) {
	return store.Entry{}, store.ErrNotFound
}

func (emptyStore) Reopen(context.Context, time.Time, job.ID, []weburl.URL) (int, error) {
	return 0, nil
}

func (emptyStore) LoadRobots(context.Context, robots.Sum) ([]byte, error) {
	return nil, robots.ErrNotStored
}
func (emptyStore) Remember(context.Context, *visit.Item) error { return nil }
func (emptyStore) Recall(context.Context, *visit.Visit) error  { return nil }

// rig is a pool, its loop, and the results of its tasks.
type rig struct {
	*testing.T
	*fetchpool.Pool
	web
	lease lease
	loop  *loop.Loop
	files *robots.Cache
	gate  exchange.Gate
	left  fetchpool.Departures
	meter *gauge.Meter
	work  context.Context
	stop  context.CancelFunc

	pages    []fetchpool.Page
	robots   []fetchpool.Robots
	sitemaps []fetchpool.Sitemap

	noSlow bool // there is no slow place
	slow   int
	sent   []time.Time
	looked []bool
	heard  time.Time

	listed   [][]discovery.Link
	stored   func() // of the last
	moved    []weburl.URL
	nested   []weburl.URL
	listings int // that were done
}

// host is the host of all tasks.
const host = "http://a.example"

// in runs a test in virtual time. The config may be changed before the pool is created.
func in(t *testing.T, change func(*fetchpool.Config), test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, web: web{replies: map[string]reply{}}, meter: gauge.NewMeter(nil), files: robots.NewCache(1<<20, emptyStore{})}
		log := slog.New(slog.DiscardHandler)
		r.loop = loop.New(loop.Config{
			Room: 100, Log: log, OnAttempt: func(context.Context, error) {}, Retryable: func(error) bool { return false }, Scarce: func(error) bool { return false },
		})
		r.loop.Begin()
		r.work, r.stop = context.WithCancel(t.Context())
		defer r.stop()
		r.loop.During(r.work)
		cfg := fetchpool.Config{
			Workers: 2, Slow: 2, Parsers: 1, Fetcher: r, Agent: "headway", RobotsFiles: r.files, Meter: r.meter, Log: log,
			OptedOut: func(weburl.URL) bool { return false }, Overloaded: func() bool { return false },
			Redirects: redirects.New(emptyStore{}, func(_ context.Context, do func() error) error { return do() }),
			Schedule:  (*schedule)(r),
			Handlers: fetchpool.Handlers{
				Page:    func(_ time.Time, l fetchpool.Page) { r.pages = append(r.pages, l) },
				Robots:  func(_ time.Time, l fetchpool.Robots) { r.robots = append(r.robots, l) },
				Sitemap: func(_ time.Time, l fetchpool.Sitemap) { r.sitemaps = append(r.sitemaps, l) },
			},
		}
		if change != nil {
			change(&cfg)
		}
		r.Pool = fetchpool.New(r.loop, cfg)
		test(r)
		r.Close()
		r.loop.End(func() {})
		if err := r.CloseJournal(); err != nil {
			t.Error(err)
		}
	})
}

// run runs the loop for a time.
func (r *rig) run(d time.Duration) {
	for end := time.After(d); ; {
		select {
		case f := <-r.loop.Answers():
			r.loop.Take(f)
		case <-end:
			return
		}
	}
}

// settle runs the loop until nothing is under way.
func (r *rig) settle() {
	r.run(time.Hour)
	if r.Busy() != 0 || r.Stalled() != 0 || r.Parsing() != 0 || r.WaitingToParse() != 0 {
		r.Errorf("%d busy, %d without progress, %d parsing and %d waiting to", r.Busy(), r.Stalled(), r.Parsing(), r.WaitingToParse())
	}
}

// task returns a task for a URL of the host, which may be fetched.
func (r *rig) task(kind frontier.Kind, path string) fetchpool.Task {
	u := mustURL(r.T, host+path)
	belongs, err := scope.New(scope.Config{Seeds: []weburl.URL{mustURL(r.T, host+"/")}})
	if err != nil {
		r.Fatal(err)
	}
	t := fetchpool.Task{
		Request: frontier.Request{Kind: kind, Host: host, URL: u, Job: 1}, Lease: &r.lease,
		Host: exchange.Host{Home: mustURL(r.T, host+"/")}, Gate: &r.gate, Departures: &r.left, Promise: fetchpool.Promise{Cap: 10}, Robots: r.file("User-agent: *\nDisallow: /private"),
		Job:     fetchpool.Job{Rules: &discovery.Rules{Scope: belongs, OptedOut: func(weburl.URL) bool { return false }}, Known: emptyStore{}},
		Listing: (*listing)(r),
	}
	if kind == frontier.Page {
		t.Request.Item, t.Request.URL = visit.Item{Job: 1, URL: u}, weburl.URL{}
	}
	return t
}

// file returns the state of a host with this robots.txt.
func (r *rig) file(body string) robots.State {
	return robots.Policy{}.Observe(robots.State{}, r.loop.Now(), robots.Answer{Status: http.StatusOK, File: r.files.Put([]byte(body))})
}

// page returns the result of the only page.
func (r *rig) page() fetchpool.Page {
	if r.Helper(); len(r.pages) != 1 {
		r.Fatalf("%d pages landed", len(r.pages))
	}
	return r.pages[0]
}

// schedule is the rig as a [fetchpool.Schedule].
type schedule rig

func (s *schedule) Sent(at time.Time, _ frontier.Request) { s.sent = append(s.sent, at) }
func (s *schedule) Heard(_, at time.Time)                 { s.heard = at }
func (s *schedule) Looking(_ time.Time, _ frontier.Request, looking bool) {
	s.looked = append(s.looked, looking)
}

func (s *schedule) Slow(time.Time, frontier.Request) bool {
	s.slow++
	return !s.noSlow
}

// listing is the rig as a [fetchpool.Listing].
type listing rig

func (l *listing) Store(_ time.Time, links []discovery.Link, stored func()) {
	l.listed, l.stored = append(l.listed, links), stored
}
func (l *listing) Moved(to weburl.URL)      { l.moved = append(l.moved, to) }
func (l *listing) Nested(list []weburl.URL) { l.nested = append(l.nested, list...) }
func (l *listing) Done()                    { l.listings++ }

var errTest = errors.New("an error of the test")
