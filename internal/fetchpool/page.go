package fetchpool

import (
	"errors"
	"time"

	"headway/frontier"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/output"
	"headway/robots"
	"headway/visit"
)

// Page is what came of a page.
type Page struct {
	Request    frontier.Request
	Visit      *visit.Visit
	Answer     frontier.Answer
	Links      []discovery.Link
	Wire       int64
	First      bool     // of its job on the host
	Sitemaps   []string // that robots.txt names, of a first
	Leaf       bool     // its links are not followed
	Skipped    bool     // it was not requested: its visit says why
	Judged     bool     // it would have been requested, but the task was only to judge it
	RobotsLost bool     // the store has lost the robots.txt, which must be fetched again first
	Own        error    // our own trouble: nothing is known of the page
	Sent       time.Time
}

// requested reports whether the page may have been noted in the journal.
func (l *Page) requested() bool { return !l.Skipped && !l.RobotsLost && !l.Judged }

// landPage hands a page over, which can do the process no more harm.
func (p *Pool) landPage(now time.Time, l Page) {
	if it := &l.Request.Item; p.cfg.Journal != nil && l.requested() {
		if err := p.cfg.Journal.Done(it.Job, it.URL); err != nil {
			p.loop.Fail(err)
		}
	}
	p.cfg.Landings.Page(now, l)
}

// leafBody is how much of a leaf is read: enough to tell a page from a challenge that
// stands in for it. The rest is left to the server.
const leafBody = 64 << 10

// fetchPage judges, fetches and reads one page.
func (p *Pool) fetchPage(t *underway) Page {
	v := &visit.Visit{Item: t.Request.Item}
	l := Page{Request: t.Request, Visit: v, First: t.First}
	allowed, err := p.robotsAllow(t, v)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		l.RobotsLost = true
		return l
	case err != nil:
		l.Own = err
		return l
	case !allowed:
		l.Skipped = true
	case t.Job.DryRun:
		v.Outcome, v.Detail, l.Skipped = visit.Deferred, "not asked for: a dry run", true
	case t.JudgeOnly:
		l.Judged = true
	}
	if t.First {
		l.Sitemaps, l.Own = p.sitemapNames(t)
	}
	if l.Skipped || l.Judged || l.Own != nil {
		return l
	}
	if p.cfg.Journal != nil {
		if l.Own = p.cfg.Journal.Start(v.Item.Job, v.Item.URL); l.Own != nil {
			return l
		}
	}
	p.requestPage(t, &l)
	return l
}

// requestPage fetches a page that may be fetched.
func (p *Pool) requestPage(t *underway, l *Page) {
	v, rules := l.Visit, t.Job.Rules
	l.Leaf = t.Job.Leaves && rules.Still(v.Item).Leaf
	if l.Own = t.Job.Known.Remember(t.ctx, &v.Item); l.Own != nil {
		return
	}
	req := exchange.PageRequest(v.Item, t.Host)
	if l.Leaf {
		req.MaxBody, req.CutBody = leafBody, true
	}
	req.MaxSent = t.Job.MaxBytes
	answer := p.asker(t, output.ForPage, v.Item).Page(t.Lease.Context(t.ctx), req, v)
	defer answer.Close()
	if l.Sent, l.Own = p.sentAt(answer.Result), answer.Own; l.Own != nil {
		return
	}
	if l.Own = t.Job.Known.Recall(t.ctx, v); l.Own != nil {
		return
	}
	if v.Outcome == visit.Redirected {
		if l.Own = p.cfg.Redirects.EndLoop(t.ctx, v); l.Own != nil {
			return
		}
	}
	if l.Leaf && v.Outcome != visit.Redirected {
		v.Links = nil
	}
	l.Answer = p.answer(answer)
	if t.Lease.Interrupted() {
		l.Answer.Latency = 0
	}
	l.Links = rules.Links(v)
	l.Wire = answer.WireBytes
}
