package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/fetch"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// Robots is the result of a request for robots.txt.
type Robots struct {
	Answer
	URL  weburl.URL   // its URL
	Hops []weburl.URL // the URLs requested, including redirects
	File *robots.File // nil if there is none
	Says robots.Answer
}

// RequestsSent is how many requests were sent, including redirects.
func (r *Robots) RequestsSent() int {
	if r.Sent() {
		return len(r.Hops)
	}
	return max(len(r.Hops)-1, 0) // the last was not sent
}

// Robots requests the robots.txt of a host, conditional on the known version. With
// redirects it is several requests: the host's interval counts from the end of the last.
func (a *Requester) Robots(ctx context.Context, h Host, known robots.State, timeout time.Duration) *Robots {
	at, err := h.Home.Resolve("/robots.txt")
	if err != nil {
		return &Robots{Answer: Answer{Result: new(fetch.Result), LocalErr: fmt.Errorf("robots.txt of %s: %w", h.Home.Host(), err)}}
	}
	res, hops, err := a.Fetcher.Robots(ctx, fetch.Request{
		URL: at, Owned: h.Owned, Secrets: h.Secrets, Timeout: timeout, ETag: known.ETag, LastModified: known.LastModified,
	})
	r := &Robots{Answer: Answer{Result: res, Err: err}, URL: at, Hops: hops}
	if r.LocalErr = a.localErr(ctx, err); r.LocalErr != nil {
		return r
	}
	r.At = a.now()
	if r.Success() {
		if a.Keep != nil {
			r.File = a.Keep(res.Body)
		} else {
			r.File = robots.Parse(res.Body)
		}
	}
	r.Says = robotsAnswer(res, err, r.File, r.At)
	return r
}

// robotsAnswer converts the result of a robots.txt request, and its file if any, for
// package robots.
func robotsAnswer(res *fetch.Result, err error, file *robots.File, now time.Time) robots.Answer {
	a := robots.Answer{Status: res.Status, File: file}
	switch failure, ok := errors.AsType[*fetch.Error](err); {
	case err == nil:
	case errors.Is(err, fetch.ErrTooManyRedirects), errors.Is(err, fetch.ErrNoLocation):
		a.Fault = robots.Redirects
	case ok && res.Status != 0 && (failure.Phase == fetch.PhaseBody || failure.Reason == fetch.Truncated || failure.Reason == fetch.BadEncoding):
		a.Fault = robots.Incomplete
	default:
		a.Fault = robots.Network
	}
	if a.Fault != robots.NoFault {
		return a
	}
	if wait, ok := retryAfter(res, now); ok {
		a.NotBefore = now.Add(wait)
	}
	a.ETag = res.Header.Get("Etag")
	a.LastModified = res.Header.Get("Last-Modified")
	a.CacheControl = res.Header.Get("Cache-Control")
	return a
}

// ByRules reports whether the rules of a file decide.
func ByRules(v robots.Verdict) bool {
	return v.Access == robots.AccessRules || v.Access == robots.AccessCached
}

// Judge checks a visit against robots.txt, and records the evidence and, if it is
// forbidden, the outcome.
func Judge(v *visit.Visit, verdict robots.Verdict, rules *robots.Rules, now time.Time) robots.Decision {
	d := verdict.Decide(rules, v.Item.URL)
	v.Evidence = append(v.Evidence, robotsEvidence(verdict.Evidence(d, now)))
	if !d.Allowed {
		v.Outcome, v.Reason = robotsOutcome(d)
	}
	return d
}

// Ignore allows a visit without checking robots.txt, and records that.
func Ignore(v *visit.Visit, now time.Time) robots.Decision {
	v.Evidence = append(v.Evidence, visit.Evidence{Kind: visit.Override, At: now, Note: string(robots.Ignored), Confidence: visit.Low})
	return robots.Decision{Allowed: true, Reason: robots.Ignored}
}

// robotsEvidence converts the evidence of a robots decision.
func robotsEvidence(e robots.Evidence) visit.Evidence {
	kind := visit.RobotsAllowed
	if e.Kind == robots.EvidenceBlocked {
		kind = visit.BlockedByRobots
	}
	v := visit.Evidence{
		Kind: kind, At: e.At, Rule: e.Rule, Line: e.Line, Group: e.Group, CrawlDelayMS: e.Delay.Milliseconds(), SourceAt: e.FetchedAt,
		Confidence: visit.Confidence(e.Confidence), Note: string(e.Reason),
	}
	if !e.Sum.IsZero() {
		v.Source = e.Sum.String()
	}
	return v
}

// robotsOutcome is the outcome of a URL that robots.txt forbids.
func robotsOutcome(d robots.Decision) (visit.Outcome, visit.Reason) {
	switch d.Reason {
	case robots.Unreachable, robots.Unknown:
		return visit.Skipped, visit.RobotsUnreachable
	case robots.DelayTooLong:
		return visit.Skipped, visit.CrawlDelayTooLong
	default:
		return visit.Skipped, visit.RobotsDisallow
	}
}
