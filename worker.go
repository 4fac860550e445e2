package headway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/frontier"
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
	home    weburl.URL
	owned   bool
	secrets fetch.Secrets
	spell   *spell // in which it was handed out; nil in a fleet
	gate    *gate
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
	links   []link
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
			c.post(func(now time.Time) { c.leavePlace(t); c.tookRobots(now, l) })
		case frontier.Sitemap:
			ran := c.askSitemap(ctx, t)
			c.post(func(time.Time) {
				c.leavePlace(t)
				if ran && c.owns(store.SlotOf(c.key, t.request.URL.Domain())) { // else its next owner reads it again
					c.pend(entry{ran: &store.Errand{Job: t.request.Job, URL: t.request.URL, Nested: t.nested}})
				}
			})
		case frontier.Page:
			l := c.askPage(ctx, t)
			c.post(func(now time.Time) { c.leavePlace(t); c.tookPage(now, l) })
		}
	}
}

// errNotOurs stops a request whose lease may be somebody else's by now.
var errNotOurs = errors.New("the lease was not renewed in time")

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
		select {
		case c.events <- func(now time.Time) { verdict <- c.turnSlow(now, t) }:
		case <-ctx.Done():
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

// gate closes a host for requests that were handed out before it refused and have
// not left yet. The schedule learns of a refusal a moment later than the worker
// that read it; the gate bridges that moment, and no more, because it is the
// schedule that decides.
type gate struct{ until atomic.Int64 } // Unix nanoseconds

// maxGate is how long the schedule may take to learn of a refusal.
const maxGate = 10 * time.Second

// heed closes the gate as long as a refusal asks for.
func (g *gate) heed(res *fetch.Result) {
	if res.Status != http.StatusTooManyRequests && res.Status != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	if d, ok := retryAfter(res, now); ok {
		g.until.Store(now.Add(min(d, maxGate)).UnixNano())
	}
}

// mayStart is asked right before the first byte of every request.
func (c *crawler) mayStart(t *task, u weburl.URL) func() error {
	spell, gate := t.spell, t.gate
	return func() error {
		now := time.Now()
		if t := c.tenure.Load(); t == nil || !t.MayStart(now) || spell != nil && spell.ctx.Err() != nil {
			return errNotOurs
		}
		if now.UnixNano() < gate.until.Load() {
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
		at = c.steady(at)
		c.post(func(time.Time) { c.f.Sent(at, r) })
	}
}

// noteAnswer keeps when something last answered. Workers note it the moment an answer
// begins, so that a long one is evidence of our own network before it ends. Of two at
// once the earlier may be kept, which does no harm.
func (c *crawler) noteAnswer(at time.Time) { c.heard.Store(c.steady(at).UnixNano()) }

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
	return c.steady(res.Timing.Sent)
}

// looking tells the loop when a name is looked up.
func (c *crawler) looking(r frontier.Request) func(bool) {
	return func(looking bool) {
		c.post(func(now time.Time) { c.f.Looking(now, r, looking) })
	}
}

// askRobots fetches robots.txt.
func (c *crawler) askRobots(ctx context.Context, t task) robotsLanding {
	l := robotsLanding{request: t.request}
	at, err := robotsURL(t.home)
	if err != nil {
		l.own = fmt.Errorf("robots.txt of %s: %w", t.request.Host, err)
		return l
	}
	// The moment it leaves is not told: redirects make it several requests, and
	// the host's interval counts from the end of the last.
	req := fetch.Request{
		URL: at, Owned: t.owned, Secrets: t.secrets, BeforeSend: c.mayStart(&t, at), Fence: c.fence, Answered: c.noteAnswer, Slow: c.slow(ctx, &t), Looking: c.looking(t.request), Timeout: c.cfg.RobotsTimeout,
		ETag: t.robots.ETag, LastModified: t.robots.LastModified,
	}
	archive := c.tap(ctx, &req, output.ForRobots, visit.Item{})
	t.watched.under.Add(1)
	res, hops, err := c.cfg.Fetcher.Robots(t.asking(ctx), req)
	t.watched.under.Add(-1)
	defer res.Close() // there beside an error too
	t.gate.heed(res)
	if l.sent = c.leftAt(res); !l.sent.IsZero() {
		t.watched.follows(l.sent, t.promise, c.meter)
	}
	if l.own = cmp.Or(archive.err, c.own(ctx, &t, err)); l.own != nil {
		return l
	}
	now := c.now()
	var file *robots.File
	if err == nil && res.Status >= 200 && res.Status < 300 {
		file = c.rules.Put(res.Body)
		l.body = bytes.Clone(robots.Cut(res.Body))
		l.read = true
		l.delay, _ = file.For(c.cfg.Agent).Delay()
		l.names = sitemapsOf(file)
	}
	l.robots = robotsAnswer(res, err, file, now)
	l.answer = c.answer(res, err, false, now)
	l.answer.Latency = 0 // pages are compared with pages
	l.wire, l.owned, l.err = res.WireBytes, res.Owned, err
	if l.asked = int64(len(hops)); res.Timing.Sent.IsZero() {
		l.asked-- // the last did not leave
	}
	return l
}

// sitemapsOf lists the sitemaps a robots.txt names, as many as are read.
func sitemapsOf(file *robots.File) (names []string) {
	for name := range file.Sitemaps() {
		if names = append(names, name); len(names) == maxSitemaps {
			break
		}
	}
	return names
}

// answer says to the schedule how a request ended.
func (c *crawler) answer(res *fetch.Result, err error, challenge bool, now time.Time) frontier.Answer {
	a := frontier.Answer{Answer: politeAnswer(res, err, challenge, now), Answered: err == nil || answered(err), Remote: res.Remote.Addr()}
	if failure, ok := errors.AsType[*fetch.Error](err); ok {
		a.Local = failure.Local
		if first := res.Timing.FirstByte; first > 0 {
			a.FirstByte = c.steady(res.Timing.Sent.Add(first))
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
	l.leaf = t.run.cfg.Scope.Leaves && t.run.stillInScope(v.Item).Leaf
	if l.own = t.run.remember(ctx, &v.Item); l.own != nil {
		return l
	}
	req := pageRequest(v.Item, t.owned, t.secrets)
	if l.leaf {
		req.MaxBody, req.CutBody = leafBody, true
	}
	req.BeforeSend, req.Fence, req.Looking = c.mayStart(&t, v.Item.URL), c.fence, c.looking(t.request)
	if most := t.run.cfg.Limits.Of(limit.Bytes); most.Limited() {
		req.MaxSent = max(most.Max, 1) // what is larger can never be had under this limit
	}
	archive := c.tap(ctx, &req, output.ForPage, v.Item)
	res, err := c.exchange(ctx, &t, req)
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	t.gate.heed(res)
	l.sent = c.leftAt(res)
	if l.own = cmp.Or(archive.err, c.own(ctx, &t, err)); l.own != nil {
		return l
	}
	r := reading{res: res, err: err, agent: c.cfg.Agent, key: c.key, at: c.now()}
	if err == nil {
		c.queued.Add(1)
		c.parsing <- struct{}{}
		c.queued.Add(-1)
		r.page, r.parseErr = parse.Read(parse.Answer{URL: res.URL, Status: res.Status, Header: res.Header, Body: res.Body}, parse.Options{Agent: c.cfg.Agent})
		<-c.parsing
	}
	record(v, r)
	if l.own = t.run.recall(ctx, v); l.own != nil {
		return l
	}
	if v.Outcome == visit.Redirected {
		if l.own = t.run.endLoop(ctx, v); l.own != nil {
			return l
		}
	}
	if l.leaf && v.Outcome != visit.Redirected {
		v.Links = nil
	}
	l.answer = c.answer(res, err, !r.page.Challenge.IsZero(), r.at)
	if c.stopped(&t) {
		l.answer.Latency = 0
	}
	l.links = t.run.judgeLinks(v)
	l.wire = res.WireBytes
	return l
}

// robotsAllow asks robots.txt about a page and writes the evidence.
func (c *crawler) robotsAllow(ctx context.Context, t task, v *visit.Visit) (bool, error) {
	now := c.now()
	if t.ignored {
		v.Evidence = append(v.Evidence, visit.Evidence{Kind: visit.Override, At: now, Note: string(robots.Ignored), Confidence: visit.Low})
		return true, nil
	}
	verdict := c.cfg.Robots.Verdict(t.robots, now)
	var rules *robots.Rules
	if byRules(verdict) {
		file, err := c.rules.Get(ctx, verdict.Sum)
		if err != nil {
			return false, err
		}
		rules = file.For(c.cfg.Agent)
	}
	decision := verdict.Decide(rules, v.Item.URL)
	v.Evidence = append(v.Evidence, robotsEvidence(verdict.Evidence(decision, now)))
	if !decision.Allowed {
		v.Outcome, v.Reason = robotsOutcome(decision)
	}
	return decision.Allowed, nil
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
	return sitemapsOf(file), nil
}

// sitemapChunk is how many entries of a sitemap are stored at a time, and
// maxSitemapBody how much of one is read.
const (
	sitemapChunk   = 2000
	maxSitemapBody = parse.MaxSitemapBytes
)

// askSitemap fetches a sitemap and hands its entries over in chunks, each of
// which is stored before the next one is read. It tells whether that was done to
// the end, whatever that was.
func (c *crawler) askSitemap(ctx context.Context, t task) (ran bool) {
	r := t.request
	v := &visit.Visit{Item: visit.Item{Job: r.Job, URL: r.URL}}
	allowed, err := c.robotsAllow(ctx, t, v)
	if err != nil || !allowed {
		c.post(func(now time.Time) { c.tookSitemap(now, r, frontier.Answer{}, 0, false) })
		return err == nil
	}
	req := fetch.Request{
		URL: r.URL, Owned: t.owned, Secrets: t.secrets, MaxBody: maxSitemapBody, CutBody: true, BeforeSend: c.mayStart(&t, r.URL), Fence: c.fence, Looking: c.looking(r),
	}
	archive := c.tap(ctx, &req, output.ForSitemap, visit.Item{Job: r.Job})
	res, err := c.exchange(ctx, &t, req)
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	t.gate.heed(res)
	if own := cmp.Or(archive.err, c.own(ctx, &t, err)); own != nil {
		sent := c.leftAt(res)
		c.post(func(now time.Time) { c.calledOff(now, r, sent, own) })
		return false
	}
	answer, wire := c.answer(res, err, false, c.now()), res.WireBytes
	answer.Latency = 0 // pages are compared with pages
	c.post(func(now time.Time) { c.tookSitemap(now, r, answer, wire, true) })
	switch target, moved := sitemapMoved(res, err); {
	case moved:
		c.post(func(time.Time) { t.run.movedSitemap(t, target) })
	case err == nil && res.Status >= 200 && res.Status < 300:
		return c.readSitemap(ctx, t, bytes.NewReader(res.Body))
	}
	return true
}

// sitemapMoved is where a sitemap has moved to, if it has.
func sitemapMoved(res *fetch.Result, err error) (target weburl.URL, moved bool) {
	if outcome, _ := visit.OfStatus(res.Status); err != nil || outcome != visit.Redirected || res.Location() == "" {
		return target, false
	}
	target, err = res.URL.Resolve(res.Location())
	return target, err == nil
}

// readSitemap stores what a sitemap lists, and tells whether that was all of it.
func (c *crawler) readSitemap(ctx context.Context, t task, body io.Reader) bool {
	s := parse.NewSitemap(body, t.request.URL, parse.SitemapOptions{Named: []weburl.URL{t.home}})
	finder := store.SlotOf(c.key, t.request.URL.Domain())
	var chunk []link
	var more []weburl.URL
	for e := range s.Entries() {
		if e.Sitemap {
			if len(more) < maxSitemaps {
				more = append(more, e.URL)
			}
			continue
		}
		chunk = append(chunk, t.run.judgeEntry(t.request.URL, e, finder))
		if len(chunk) == sitemapChunk {
			if !t.run.storeLinks(ctx, chunk) {
				return false
			}
			chunk = nil
		}
	}
	if err := s.Err(); err != nil {
		c.cfg.Log.Debug("sitemap not read to its end", "url", visit.Redact(t.request.URL), "err", err)
	}
	if len(chunk) > 0 && !t.run.storeLinks(ctx, chunk) {
		return false
	}
	c.post(func(time.Time) { t.run.moreSitemaps(t, more) })
	return true
}

// storeLinks hands links to the loop and waits until they are stored.
func (r *run) storeLinks(ctx context.Context, links []link) bool {
	stored := make(chan struct{})
	r.c.post(func(now time.Time) {
		r.c.pend(entry{found: r.fresh(now, links), ack: func() { close(stored) }})
	})
	select {
	case <-stored:
		return true
	case <-ctx.Done():
		return false
	}
}
