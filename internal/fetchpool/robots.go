package fetchpool

import (
	"bytes"
	"errors"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/exchange"
	"headway/output"
	"headway/robots"
	"headway/visit"
)

// Robots is what came of a request for robots.txt.
type Robots struct {
	Request  frontier.Request
	Answer   frontier.Answer
	Says     robots.Answer
	Body     []byte        // of a successful answer, as far as it counts
	Read     bool          // there is a file
	Delay    time.Duration // that it asks for
	Sitemaps []string      // that it names
	Wire     int64
	Asked    int64 // requests that were sent, redirects included
	Owned    bool  // the address says that the host is the operator's
	Err      error // what went wrong, for people and for the verdict on the host
	Own      error // our own trouble: nothing is known
	Sent     time.Time
}

// Refused is why the host was not contacted at all; "" if it was, or could not be reached.
func (l *Robots) Refused() visit.Reason {
	if failure, ok := errors.AsType[*fetch.Error](l.Err); ok && failure.Reason.Skipped() && l.Asked == 0 {
		return visit.Reason(failure.Reason)
	}
	return ""
}

// fetchRobots fetches robots.txt.
func (p *Pool) fetchRobots(t *underway) Robots {
	l := Robots{Request: t.Request}
	r := p.asker(t, output.ForRobots, visit.Item{}).Robots(t.Lease.Context(t.ctx), t.Host, t.Robots, p.cfg.RobotsTimeout)
	defer r.Close()
	if l.Sent, l.Own = p.sentAt(r.Result), r.Own; l.Own != nil {
		return l
	}
	if r.File != nil {
		l.Body = bytes.Clone(robots.Cut(r.Body))
		l.Read = true
		l.Delay, _ = r.File.For(p.cfg.Agent).Delay()
		l.Sitemaps = exchange.SitemapsOf(r.File)
	}
	l.Says, l.Answer = r.Says, p.answer(&r.Answer)
	l.Answer.Latency = 0 // pages are compared with pages
	l.Wire, l.Owned, l.Err, l.Asked = r.WireBytes, r.Owned, r.Err, int64(r.Asked())
	return l
}

// robotsAllow asks robots.txt about a visit, and writes the evidence down.
func (p *Pool) robotsAllow(t *underway, v *visit.Visit) (bool, error) {
	now := p.loop.Now()
	if t.IgnoreRobots {
		return exchange.Ignore(v, now).Allowed, nil
	}
	verdict := p.cfg.Robots.Verdict(t.Robots, now)
	var rules *robots.Rules
	if exchange.ByRules(verdict) {
		file, err := p.cfg.RobotsFiles.Get(t.ctx, verdict.Sum)
		if err != nil {
			return false, err
		}
		rules = file.For(p.cfg.Agent)
	}
	return exchange.Judge(v, verdict, rules, now).Allowed, nil
}

// sitemapNames lists the sitemaps that the robots.txt of a host names which was read
// before the job came.
func (p *Pool) sitemapNames(t *underway) ([]string, error) {
	if t.IgnoreRobots || t.Robots.Known != robots.Copy {
		return nil, nil
	}
	file, err := p.cfg.RobotsFiles.Get(t.ctx, t.Robots.Sum)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		return nil, nil // as if it named none
	case err != nil:
		return nil, err
	}
	return exchange.SitemapsOf(file), nil
}
