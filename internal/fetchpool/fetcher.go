package fetchpool

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// requester returns what sends the requests of a task, and what archives them under the item.
func (p *Pool) requester(t *underway, purpose output.Purpose, item visit.Item) (*exchange.Requester, *archiver) {
	f := &taskFetcher{p: p, t: t, archive: archiver{to: p.cfg.Archives, purpose: purpose, item: item}}
	return &exchange.Requester{
		Fetcher: f, Agent: p.cfg.Agent, Key: p.cfg.Key, Content: t.Job.Content, Extract: t.Job.Extract, Links: t.Job.Links, Keep: p.cfg.RobotsFiles.Put, Parse: p.parsers.parse, LocalErr: f.localErr, Now: p.loop.Now,
	}, &f.archive
}

// taskFetcher sends the requests of a crawl: each is checked right before it is sent,
// reported to the schedule, and archived.
type taskFetcher struct {
	p       *Pool
	t       *underway
	archive archiver
}

// prepare adds the checks, reports and archiving to a request.
func (f *taskFetcher) prepare(req *fetch.Request) {
	p, t := f.p, f.t
	req.BeforeSend, req.Fence = p.mayStart(t, req.URL), t.Lease.Fence
	req.Answered, req.Slow = p.noteAnswer, p.onSlow(t)
	req.Looking = func(looking bool) {
		p.loop.Post(func(now time.Time) { p.cfg.Schedule.Looking(now, t.Request, looking) })
	}
	f.archive.tap(t.ctx, req)
}

// Robots requests a robots.txt. The time it is sent is not reported to the schedule: with
// redirects it is several requests, and the host's interval counts from the end of the
// last.
func (f *taskFetcher) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	f.prepare(&req)
	req.Follow = f.t.follow()
	d := f.t.Departures
	d.inFlight.Add(1)
	res, hops, err := f.p.cfg.Fetcher.Robots(ctx, req)
	d.End()
	f.t.Gate.CloseOnRefusal(res)
	if at := f.p.sentAt(res); !at.IsZero() {
		d.follow(at, f.t.Promise, f.p.cfg.Meter)
	}
	return res, hops, err
}

// Stages of an exchange.
const (
	exchangeLeft int32 = iota + 1
	exchangeOver
)

// Do requests a page or a sitemap, and reports when it is sent.
func (f *taskFetcher) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	f.prepare(&req)
	p, t := f.p, f.t
	var stage atomic.Int32
	req.Sent = func(at time.Time) {
		at = p.loop.Steady(at)
		if stage.CompareAndSwap(0, exchangeLeft) { // the exchange may be over already
			t.Departures.Leave(at, t.Promise, p.cfg.Meter)
		}
		p.loop.Post(func(time.Time) { p.cfg.Schedule.Sent(at, t.Request) })
	}
	res, err := p.cfg.Fetcher.Do(ctx, req)
	if stage.Swap(exchangeOver) == exchangeLeft {
		t.Departures.End()
	}
	t.Gate.CloseOnRefusal(res)
	return res, err
}

// localErr returns the local error behind a failed request: that of an archive comes first.
func (f *taskFetcher) localErr(_ context.Context, err error) error {
	if errors.Is(err, ErrNoRequest) {
		return err
	}
	lease := f.t.Lease
	return cmp.Or(f.archive.err, lease.LocalError(err), exchange.LocalError(lease.Context(f.t.ctx), err))
}
