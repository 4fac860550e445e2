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

// Page is the result of a page task.
type Page struct {
	Request    frontier.Request
	Visit      *visit.Visit
	Answer     frontier.Answer
	Links      []discovery.Link
	Wire       int64
	Raw        []byte   // the records of the exchange, for the archive; nil if it is not kept
	RawLen     int64    // the length of the first, which has the response
	First      bool     // first page of its job on the host
	Sitemaps   []string // named in robots.txt; only if First
	Leaf       bool     // its links are not followed
	Skipped    bool     // it was not requested: its visit says why
	Judged     bool     // it would have been requested, but the task was JudgeOnly
	RobotsLost bool     // the stored robots.txt is missing and must be fetched again
	LocalErr   error    // a local error: nothing is known about the page
	Sent       time.Time
	MaybeSent  bool // it may have been sent, though it has a LocalErr
}

// requested reports whether the page may be in the journal.
func (l *Page) requested() bool { return !l.Skipped && !l.RobotsLost && !l.Judged }

// finishPage removes a page from the journal and passes on its result.
func (p *Pool) finishPage(now time.Time, l Page) {
	if it := &l.Request.Item; p.cfg.Journal != nil && l.requested() {
		if err := p.cfg.Journal.Done(it.Job, it.URL); err != nil {
			p.loop.Fail(err)
		}
	}
	p.cfg.Handlers.Page(now, l)
}

// leafBody is how much of a leaf is read: enough to tell a page from a challenge page.
const leafBody = 64 << 10

// fetchPage checks, fetches and parses one page.
func (p *Pool) fetchPage(t *underway) Page {
	v := &visit.Visit{Item: t.Request.Item}
	l := Page{Request: t.Request, Visit: v, First: t.First}
	rules, allowed, err := p.robotsAllow(t, v)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		l.RobotsLost = true
		return l
	case err != nil:
		l.LocalErr = err
		return l
	case !allowed:
		l.Skipped = true
	case t.Job.DryRun:
		v.Outcome, v.Detail, l.Skipped = visit.Deferred, "not asked for: a dry run", true
	case t.JudgeOnly:
		l.Judged = true
	}
	if t.First {
		l.Sitemaps, l.LocalErr = p.sitemapNames(t)
	}
	if l.Skipped || l.Judged || l.LocalErr != nil {
		return l
	}
	if p.cfg.Journal != nil {
		if l.LocalErr = p.cfg.Journal.Start(v.Item.Job, v.Item.URL); l.LocalErr != nil {
			return l
		}
	}
	p.requestPage(t, &l, rules)
	return l
}

// requestPage fetches a page that may be fetched. says is the host's robots.txt.
func (p *Pool) requestPage(t *underway, l *Page, says *robots.Rules) {
	v, rules := l.Visit, t.Job.Rules
	l.Leaf = t.Job.Leaves && rules.Still(v.Item).Leaf
	if l.LocalErr = t.Job.Known.Remember(t.ctx, &v.Item); l.LocalErr != nil {
		return
	}
	req := exchange.PageRequest(v.Item, t.Host)
	if l.Leaf {
		req.MaxBody, req.CutBody = leafBody, true
	}
	req.MaxSent = t.Job.MaxBytes
	from, archive := p.requester(t, output.ForPage, v.Item)
	from.Rules = says
	if t.Job.Raw {
		archive.keep = p.cfg.Archive
	}
	if !p.cfg.ReadLinks && !t.Job.Links {
		defer borrowLinks(v)()
	}
	answer := from.Page(t.Lease.Context(t.ctx), req, v)
	defer answer.Close()
	l.MaybeSent = t.maybeSent.Load() > 0
	if l.Sent, l.LocalErr = p.sentAt(answer.Result), answer.LocalErr; l.LocalErr != nil {
		return
	}
	if v.Outcome == visit.Redirected {
		if l.LocalErr = p.cfg.Redirects.EndLoop(t.ctx, v); l.LocalErr != nil {
			return
		}
	}
	if l.Leaf && v.Outcome != visit.Redirected {
		v.Links, v.Page.Links = nil, nil
	}
	l.Answer = p.answer(answer)
	l.Answer.Sent = l.MaybeSent
	if t.Lease.Interrupted() {
		l.Answer.Latency = 0
	}
	l.Links = rules.Links(v)
	l.Wire, l.Raw, l.RawLen = answer.WireBytes, archive.records, archive.response
	l.LocalErr = t.Job.Known.Recall(t.ctx, v) // last: the links of an unchanged page are kept, not followed again
	if l.LocalErr == nil && v.Outcome == visit.Fetched && !l.Leaf {
		l.LocalErr = p.cfg.Archives.page(t.Lease.Context(t.ctx), v, answer.Body)
	}
}
