package fetchpool

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// asker makes the requests of a task. Item is what an archive knows them by.
func (p *Pool) asker(t *underway, purpose output.Purpose, item visit.Item) *exchange.Asker {
	f := &taskFetcher{p: p, t: t, archive: archiver{to: p.cfg.Archives, purpose: purpose, item: item}}
	return &exchange.Asker{
		Fetcher: f, Agent: p.cfg.Agent, Key: p.cfg.Key, Keep: p.cfg.RobotsFiles.Put, Parse: p.parsers.parse, Own: f.own, Now: p.loop.Now,
	}
}

// taskFetcher makes requests as a crawl makes them: each is checked right before it
// leaves, the schedule learns how it goes, archives get what was sent and received.
type taskFetcher struct {
	p       *Pool
	t       *underway
	archive archiver
}

// prepare has a request checked, reported and archived.
func (f *taskFetcher) prepare(req *fetch.Request) {
	p, t := f.p, f.t
	req.BeforeSend, req.Fence = p.mayStart(t, req.URL), t.Lease.Fence
	req.Answered, req.Slow = p.noteAnswer, p.onSlow(t)
	req.Looking = func(looking bool) {
		p.loop.Post(func(now time.Time) { p.cfg.Schedule.Looking(now, t.Request, looking) })
	}
	f.archive.tap(t.ctx, req)
}

// Robots requests a robots.txt. The moment it leaves is not reported to the schedule:
// redirects make it several requests, and the host's interval counts from the end of the
// last.
func (f *taskFetcher) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	f.prepare(&req)
	d := f.t.Departures
	d.inFlight.Add(1)
	res, hops, err := f.p.cfg.Fetcher.Robots(ctx, req)
	d.End()
	f.t.Gate.Heed(res)
	if at := f.p.sentAt(res); !at.IsZero() {
		d.follow(at, f.t.Promise, f.p.cfg.Meter)
	}
	return res, hops, err
}

// How far an exchange has come.
const (
	exchangeLeft int32 = iota + 1
	exchangeOver
)

// Do requests a page or a sitemap, and reports when it leaves.
func (f *taskFetcher) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	f.prepare(&req)
	p, t := f.p, f.t
	var stage atomic.Int32
	req.Sent = func(at time.Time) {
		at = p.loop.Steady(at)
		if stage.CompareAndSwap(0, exchangeLeft) { // it may be overtaken by the end
			t.Departures.Leave(at, t.Promise, p.cfg.Meter)
		}
		p.loop.Post(func(time.Time) { p.cfg.Schedule.Sent(at, t.Request) })
	}
	res, err := p.cfg.Fetcher.Do(ctx, req)
	if stage.Swap(exchangeOver) == exchangeLeft {
		t.Departures.End()
	}
	t.Gate.Heed(res)
	return res, err
}

// own is our own trouble behind a request: that of an archive comes first.
func (f *taskFetcher) own(_ context.Context, err error) error {
	lease := f.t.Lease
	return cmp.Or(f.archive.err, lease.Trouble(err), exchange.OwnTrouble(lease.Context(f.t.ctx), err))
}
