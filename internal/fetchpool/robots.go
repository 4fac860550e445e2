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

// Robots is the result of a robots.txt task.
type Robots struct {
	Request      frontier.Request
	Answer       frontier.Answer
	Says         robots.Answer
	Body         []byte        // of a successful response, cut to the size that is parsed
	Read         bool          // there is a file
	Delay        time.Duration // its Crawl-delay
	Sitemaps     []string      // that it names
	Wire         int64
	RequestsSent int64 // including redirects
	MaybeSent    int64 // those that may have been sent, also with a LocalErr
	Followed     int64 // redirects that were reserved with Follow, sent or not
	Owned        bool  // its address shows that the host is the operator's
	Err          error // the host's error
	LocalErr     error // a local error: nothing is known
	Sent         time.Time
}

// Refused is why we refused to contact the host; "" if we did contact it or could not reach
// it.
func (l *Robots) Refused() visit.Reason {
	if failure, ok := errors.AsType[*fetch.Error](l.Err); ok && failure.Reason.Skipped() && l.RequestsSent == 0 {
		return visit.Reason(failure.Reason)
	}
	return ""
}

// fetchRobots fetches robots.txt.
func (p *Pool) fetchRobots(t *underway) Robots {
	l := Robots{Request: t.Request}
	from, _ := p.requester(t, output.ForRobots, visit.Item{})
	r := from.Robots(t.Lease.Context(t.ctx), t.Host, t.Robots, p.cfg.RobotsTimeout)
	defer r.Close()
	l.MaybeSent, l.Followed = max(t.maybeSent.Load(), int64(r.RequestsSent())), t.followed.Load()
	if l.Sent, l.LocalErr = p.sentAt(r.Result), r.LocalErr; l.LocalErr != nil {
		return l
	}
	if r.File != nil {
		l.Body = bytes.Clone(robots.Cut(r.Body))
		l.Read = true
		l.Delay, _ = r.File.For(p.cfg.Agent).Delay()
		l.Sitemaps = exchange.SitemapsOf(r.File)
	}
	l.Says, l.Answer = r.Says, p.answer(&r.Answer)
	l.Answer.Sent = l.MaybeSent > 0
	l.Answer.Latency = 0 // latencies are compared among pages only
	l.Wire, l.Owned, l.Err, l.RequestsSent = r.WireBytes, r.Owned, r.Err, int64(r.RequestsSent())
	return l
}

// robotsAllow checks a visit against robots.txt and records the evidence. The rules are nil
// if there is no file or it is not used.
func (p *Pool) robotsAllow(t *underway, v *visit.Visit) (rules *robots.Rules, allowed bool, err error) {
	now := p.loop.Now()
	if t.IgnoreRobots {
		return nil, exchange.Ignore(v, now).Allowed, nil
	}
	verdict := p.cfg.Robots.Verdict(t.Robots, now)
	if exchange.ByRules(verdict) {
		file, err := p.cfg.RobotsFiles.Get(t.ctx, verdict.Sum)
		if err != nil {
			return nil, false, err
		}
		rules = file.For(p.cfg.Agent)
	}
	return rules, exchange.Judge(v, verdict, rules, now).Allowed, nil
}

// sitemapNames lists the sitemaps named in a robots.txt that was read before the job came
// to the host.
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
