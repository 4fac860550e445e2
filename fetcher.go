package headway

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

// asker asks on behalf of a task. Item is what an archive knows the request by.
func (c *crawler) asker(ctx context.Context, t *task, purpose output.Purpose, item visit.Item) *exchange.Asker {
	f := &taskFetcher{c: c, t: t, ctx: ctx, archive: archiver{purpose: purpose, item: item}}
	return &exchange.Asker{
		Fetcher: f, Agent: c.cfg.Agent, Key: c.key, Keep: c.rules.Put, Parse: c.parse, Own: f.own, Now: c.loop.Now,
	}
}

// parse gives a page its turn to be parsed.
func (c *crawler) parse(read func()) {
	c.queued.Add(1)
	c.parsing <- struct{}{}
	c.queued.Add(-1)
	read()
	<-c.parsing
}

// taskFetcher makes the requests of a task as a crawl makes them: no byte leaves that may
// not, the loop hears of it, archives get what was sent and received.
type taskFetcher struct {
	c       *crawler
	t       *task
	ctx     context.Context // of the work, which may outlive what the request may take
	archive archiver
}

// prepare lets a request be asked about, watched and archived.
func (f *taskFetcher) prepare(req *fetch.Request) {
	c, t := f.c, f.t
	req.BeforeSend, req.Fence, req.Looking = c.mayStart(t, req.URL), c.lease.Fence, c.looking(t.request)
	req.Answered, req.Slow = c.noteAnswer, c.slow(f.ctx, t)
	c.tap(f.ctx, req, &f.archive)
}

// Robots asks for a robots.txt. The moment it leaves is not told: redirects make it
// several requests, and the host's interval counts from the end of the last.
func (f *taskFetcher) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	f.prepare(&req)
	w := f.t.watched
	w.under.Add(1)
	res, hops, err := f.c.cfg.Fetcher.Robots(ctx, req)
	w.under.Add(-1)
	f.t.gate.Heed(res)
	if at := f.c.leftAt(res); !at.IsZero() {
		w.follows(at, f.t.promise, f.c.meter)
	}
	return res, hops, err
}

// How far an exchange has come.
const (
	exchangeLeft int32 = iota + 1
	exchangeOver
)

// Do asks for a page or a sitemap and watches it leave.
func (f *taskFetcher) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	f.prepare(&req)
	c, w, sent := f.c, f.t.watched, f.c.sent(f.t.request)
	var stage atomic.Int32
	req.Sent = func(at time.Time) {
		if stage.CompareAndSwap(0, exchangeLeft) { // it may be overtaken by the end
			w.leaves(c.loop.Steady(at), f.t.promise, c.meter)
		}
		sent(at)
	}
	res, err := c.cfg.Fetcher.Do(ctx, req)
	if stage.Swap(exchangeOver) == exchangeLeft {
		w.under.Add(-1)
	}
	f.t.gate.Heed(res)
	return res, err
}

// own is our own trouble behind a request: that of an archive comes first.
func (f *taskFetcher) own(_ context.Context, err error) error {
	return cmp.Or(f.archive.err, f.c.own(f.ctx, f.t, err))
}
