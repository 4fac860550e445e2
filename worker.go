package headway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/internal/ownership"
	"headway/limit"
	"headway/output"
	"headway/parse"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// task is one request with what a worker needs to know of its host.
type task struct {
	request frontier.Request
	run     *run            // of a page or a sitemap
	ctx     context.Context // of its own; nil for that of all
	place   *place
	host    exchange.Host
	epoch   *ownership.Epoch // in which it was handed out; nil in a fleet
	gate    *exchange.Gate
	watched *watched
	promise promise // to its host
	robots  robots.State
	ignored bool
	sift    bool // only judge it
	first   bool // of its job on the host: the sitemaps are to be sent for
	nested  int  // of a sitemap: how many indexes led to it
}

// place is what a task holds of the places among the fetches. It belongs to the loop.
type place struct {
	slow bool // one among the exchanges without progress
	over bool // none any more
}

// landing is what came of asking for a page.
type landing struct {
	request frontier.Request
	visit   *visit.Visit
	answer  frontier.Answer
	links   []discovery.Link
	wire    int64
	first   bool     // of its job on the host
	names   []string // sitemaps that robots.txt names, of a first
	leaf    bool     // its links are not followed
	skipped bool     // it was not asked for: its visit says why
	sifted  bool     // it would have been asked for, if pages were left
	forgot  bool     // robots.txt must be fetched again first
	own     error    // our own trouble: nothing is known of the page
	sent    time.Time
}

// work makes requests until there are no more.
func (c *crawler) work(ctx context.Context) {
	for t := range c.tasks {
		ctx := ctx
		if t.ctx != nil {
			ctx = t.ctx
		}
		switch t.request.Kind {
		case frontier.Robots:
			l := c.askRobots(ctx, t)
			c.loop.Post(func(now time.Time) { c.leavePlace(t); c.tookRobots(now, l) })
		case frontier.Sitemap:
			ran := c.askSitemap(ctx, t)
			c.loop.Post(func(time.Time) {
				c.leavePlace(t)
				if ran && c.owns(store.SlotOf(c.key, t.request.URL.Domain())) { // else its next owner reads it again
					c.pendRan(store.Errand{Job: t.request.Job, URL: t.request.URL, Nested: t.nested})
				}
			})
		case frontier.Page:
			l := c.askPage(ctx, t)
			c.loop.Post(func(now time.Time) { c.leavePlace(t); c.tookPage(now, l) })
		}
	}
}

// errHeld stops a request whose host has asked to be left alone since the request
// was handed out.
var errHeld = errors.New("the host has just asked to be left alone")

// errOptedOut stops a request whose host asked not to be crawled since the request
// was handed out.
var errOptedOut = errors.New("the host has just opted out")

// errCrowded calls an exchange off that makes no progress while as many others make
// none as may. It is tried again when there is a place for it.
var errCrowded = errors.New("too many exchanges make no progress")

// slow is called when an exchange makes no progress: it gives its place to others.
func (c *crawler) slow(ctx context.Context, t *task) func() error {
	return func() error {
		verdict := make(chan error, 1)
		if !c.loop.Offer(ctx, func(now time.Time) { verdict <- c.turnSlow(now, t) }) {
			return nil
		}
		select {
		case err := <-verdict:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// turnSlow moves a task to the places of those without progress, or calls it off.
func (c *crawler) turnSlow(now time.Time, t *task) error {
	switch ok := c.f.Slow(now, t.request); {
	case t.place.over || t.place.slow:
		return nil
	case !ok:
		return errCrowded
	}
	t.place.slow = true
	c.busy--
	c.dragging++
	return nil
}

// leavePlace frees what a task held.
func (c *crawler) leavePlace(t task) {
	if t.place.over = true; t.place.slow {
		c.dragging--
	} else {
		c.busy--
	}
}

// mayStart is asked right before the first byte of every request.
func (c *crawler) mayStart(t *task, u weburl.URL) func() error {
	epoch, gate := t.epoch, t.gate
	return func() error {
		now := time.Now()
		if !c.lease.MayStart(now) || epoch != nil && epoch.Over() {
			return ownership.ErrExpired
		}
		if gate.Closed(now) {
			return errHeld
		}
		if c.cfg.OptedOut(u) {
			return errOptedOut
		}
		return nil
	}
}

// sent tells the loop when a request leaves.
func (c *crawler) sent(r frontier.Request) func(time.Time) {
	return func(at time.Time) {
		at = c.loop.Steady(at)
		c.loop.Post(func(time.Time) { c.f.Sent(at, r) })
	}
}

// noteAnswer keeps when something last answered. Workers note it the moment an answer
// begins, so that a long one is evidence of our own network before it ends. Of two at
// once the earlier may be kept, which does no harm.
func (c *crawler) noteAnswer(at time.Time) { c.heard.Store(c.loop.Steady(at).UnixNano()) }

// tellHeard tells the schedule when something last answered.
func (c *crawler) tellHeard(now time.Time) {
	if at := c.heard.Load(); at != 0 {
		c.f.Heard(now, time.Unix(0, at).UTC())
	}
}

// leftAt is when a request left, by the loop's clock; zero if it did not.
func (c *crawler) leftAt(res *fetch.Result) time.Time {
	if res.Timing.Sent.IsZero() {
		return time.Time{}
	}
	return c.loop.Steady(res.Timing.Sent)
}

// looking tells the loop when a name is looked up.
func (c *crawler) looking(r frontier.Request) func(bool) {
	return func(looking bool) {
		c.loop.Post(func(now time.Time) { c.f.Looking(now, r, looking) })
	}
}

// askRobots fetches robots.txt.
func (c *crawler) askRobots(ctx context.Context, t task) robotsLanding {
	l := robotsLanding{request: t.request}
	asker := c.asker(ctx, &t, output.ForRobots, visit.Item{})
	r := asker.Robots(t.asking(ctx), t.host, t.robots, c.cfg.RobotsTimeout)
	defer r.Close()
	if l.sent, l.own = c.leftAt(r.Result), r.Own; l.own != nil {
		return l
	}
	if r.File != nil {
		l.body = bytes.Clone(robots.Cut(r.Body))
		l.read = true
		l.delay, _ = r.File.For(c.cfg.Agent).Delay()
		l.names = exchange.SitemapsOf(r.File)
	}
	l.robots, l.answer = r.Says, c.answer(&r.Answer)
	l.answer.Latency = 0 // pages are compared with pages
	l.wire, l.owned, l.err, l.asked = r.WireBytes, r.Owned, r.Err, int64(r.Asked())
	return l
}

// answer says to the schedule how a request ended.
func (c *crawler) answer(x *exchange.Answer) frontier.Answer {
	a := frontier.Answer{Answer: x.Polite(), Answered: x.Heard(), Remote: x.Remote.Addr()}
	if failure, ok := errors.AsType[*fetch.Error](x.Err); ok {
		a.Local = failure.Local
		if first := x.Timing.FirstByte; first > 0 {
			a.FirstByte = c.loop.Steady(x.Timing.Sent.Add(first))
		}
	}
	if c.cfg.Strained() {
		a.Latency = 0
	}
	return a
}

// leafBody is how much of a leaf is read: enough to tell a page from a challenge
// that stands in for it. The rest is left to the server.
const leafBody = 64 << 10

// askPage decides, fetches and reads one page.
func (c *crawler) askPage(ctx context.Context, t task) landing {
	v := &visit.Visit{Item: t.request.Item}
	l := landing{request: t.request, visit: v, first: t.first}
	allowed, err := c.robotsAllow(ctx, t, v)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		l.forgot = true
		return l
	case err != nil:
		l.own = err
		return l
	case !allowed:
		l.skipped = true
	case t.run.cfg.DryRun:
		v.Outcome, v.Detail, l.skipped = visit.Deferred, "not asked for: a dry run", true
	case t.sift:
		l.sifted = true
	}
	if t.first {
		l.names, l.own = c.sitemapNames(ctx, t)
	}
	if l.skipped || l.sifted || l.own != nil {
		return l
	}
	if c.journal != nil {
		if l.own = c.journal.Start(v.Item.Job, v.Item.URL); l.own != nil {
			return l
		}
	}
	l.leaf = t.run.cfg.Scope.Leaves && t.run.rules.Still(v.Item).Leaf
	if l.own = t.run.Remember(ctx, &v.Item); l.own != nil {
		return l
	}
	req := exchange.PageRequest(v.Item, t.host)
	if l.leaf {
		req.MaxBody, req.CutBody = leafBody, true
	}
	if most := t.run.cfg.Limits.Of(limit.Bytes); most.Limited() {
		req.MaxSent = max(most.Max, 1) // what is larger can never be had under this limit
	}
	asker := c.asker(ctx, &t, output.ForPage, v.Item)
	answer := asker.Page(t.asking(ctx), req, v)
	defer answer.Close()
	if l.sent, l.own = c.leftAt(answer.Result), answer.Own; l.own != nil {
		return l
	}
	if l.own = t.run.Recall(ctx, v); l.own != nil {
		return l
	}
	if v.Outcome == visit.Redirected {
		if l.own = c.redirects.EndLoop(ctx, v); l.own != nil {
			return l
		}
	}
	if l.leaf && v.Outcome != visit.Redirected {
		v.Links = nil
	}
	l.answer = c.answer(answer)
	if c.lease.Stopped(t.epoch) {
		l.answer.Latency = 0
	}
	l.links = t.run.rules.Links(v)
	l.wire = answer.WireBytes
	return l
}

// robotsAllow asks robots.txt about a page and writes the evidence.
func (c *crawler) robotsAllow(ctx context.Context, t task, v *visit.Visit) (bool, error) {
	now := c.loop.Now()
	if t.ignored {
		return exchange.Ignore(v, now).Allowed, nil
	}
	verdict := c.cfg.Robots.Verdict(t.robots, now)
	var rules *robots.Rules
	if exchange.ByRules(verdict) {
		file, err := c.rules.Get(ctx, verdict.Sum)
		if err != nil {
			return false, err
		}
		rules = file.For(c.cfg.Agent)
	}
	return exchange.Judge(v, verdict, rules, now).Allowed, nil
}

// sitemapNames lists the sitemaps that the robots.txt of a host names which was
// read before the job came.
func (c *crawler) sitemapNames(ctx context.Context, t task) ([]string, error) {
	if t.ignored || t.robots.Known != robots.Copy {
		return nil, nil
	}
	file, err := c.rules.Get(ctx, t.robots.Sum)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		return nil, nil // as if it named none
	case err != nil:
		return nil, err
	}
	return exchange.SitemapsOf(file), nil
}

// sitemapChunk is how many entries of a sitemap are stored at a time.
const sitemapChunk = 2000

// askSitemap fetches a sitemap and hands its entries over in chunks, each of
// which is stored before the next one is read. It tells whether that was done to
// the end, whatever that was.
func (c *crawler) askSitemap(ctx context.Context, t task) (ran bool) {
	r := t.request
	v := &visit.Visit{Item: visit.Item{Job: r.Job, URL: r.URL}}
	allowed, err := c.robotsAllow(ctx, t, v)
	if err != nil || !allowed {
		c.loop.Post(func(now time.Time) { c.tookSitemap(now, r, frontier.Answer{}, 0, false) })
		return err == nil
	}
	asker := c.asker(ctx, &t, output.ForSitemap, visit.Item{Job: r.Job})
	s := asker.Sitemap(t.asking(ctx), t.host, r.URL)
	defer s.Close()
	if s.Own != nil {
		sent, own := c.leftAt(s.Result), s.Own
		c.loop.Post(func(now time.Time) { c.calledOff(now, r, sent, own) })
		return false
	}
	answer, wire := c.answer(&s.Answer), s.WireBytes
	answer.Latency = 0 // pages are compared with pages
	c.loop.Post(func(now time.Time) { c.tookSitemap(now, r, answer, wire, true) })
	switch {
	case s.Moved:
		c.loop.Post(func(time.Time) { t.run.movedSitemap(t, s.To) })
	case s.Success():
		return c.readSitemap(ctx, t, s)
	}
	return true
}

// readSitemap stores what a sitemap lists, and tells whether that was all of it.
func (c *crawler) readSitemap(ctx context.Context, t task, s *exchange.Sitemap) bool {
	finder := store.SlotOf(c.key, t.request.URL.Domain())
	var chunk []discovery.Link
	stored := true
	nested, _, err := s.Read(t.request.URL, func(e parse.Entry) bool {
		chunk = append(chunk, t.run.rules.Entry(t.run.ID, t.request.URL, e, finder))
		if len(chunk) == sitemapChunk {
			stored = t.run.storeLinks(ctx, chunk)
			chunk = nil
		}
		return stored
	})
	if !stored {
		return false
	}
	if err != nil {
		c.cfg.Log.Debug("sitemap not read to its end", "url", visit.Redact(t.request.URL), "err", err)
	}
	if len(chunk) > 0 && !t.run.storeLinks(ctx, chunk) {
		return false
	}
	c.loop.Post(func(time.Time) { t.run.moreSitemaps(t, nested) })
	return true
}

// storeLinks hands links to the loop and waits until they are stored.
func (r *run) storeLinks(ctx context.Context, links []discovery.Link) bool {
	stored := make(chan struct{})
	r.loop.Post(func(now time.Time) {
		r.pend(committer.Entry{Found: r.fresh(now, links), Stored: func() { close(stored) }})
	})
	select {
	case <-stored:
		return true
	case <-ctx.Done():
		return false
	}
}
