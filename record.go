package headway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/parse"
	"headway/politeness"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// robotsAnswer says to package robots how a fetch of robots.txt ended, and which
// file it brought, if any.
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

// politeAnswer says to package politeness how a request ended.
func politeAnswer(res *fetch.Result, err error, challenge bool, now time.Time) politeness.Answer {
	a := politeness.Answer{SentAt: res.Timing.Sent, Status: res.Status, Latency: res.Timing.FirstByte, Challenge: challenge}
	if !fetch.ReadCache(res.Header).Cold() {
		// How soon a cache hands out its copy says nothing of the host behind it,
		// and would make every page it has to make look slow.
		a.Latency = 0
	}
	a.RetryAfter, a.HasRetryAfter = retryAfter(res, now)
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return a
	}
	switch failure.Reason {
	case fetch.DNS:
		a.Fault = politeness.DNS
	case fetch.Connect:
		a.Fault = politeness.Connect
		if failure.Phase != fetch.PhaseConnect && failure.Phase != fetch.PhaseLookup {
			a.Fault = politeness.Reset
		}
	case fetch.TLS:
		a.Fault = politeness.TLS
	case fetch.Timeout:
		a.Fault = politeness.Timeout
	case fetch.Truncated:
		a.Fault = politeness.Reset
	case fetch.Protocol:
		a.Fault = politeness.Protocol
	case fetch.TooLarge, fetch.BadEncoding, fetch.PrivateAddress, fetch.BadPort:
		// The host did nothing a slower pace would cure.
	}
	return a
}

// tooLong stands for a Retry-After beyond all counting: longer than any patience.
const tooLong = 10 * 365 * 24 * time.Hour

// retryAfter reads how long the host asks to be left alone, without a job that
// could run out of time.
func retryAfter(res *fetch.Result, now time.Time) (wait time.Duration, ok bool) {
	answer := fetch.ReadRetryAfter(fetch.RetryQuestion{
		Status: res.Status, RetryAfter: res.Header.Values("Retry-After"), Date: res.Header.Get("Date"),
		Now: now, Budget: fetch.NoBudget,
	})
	switch answer.Action {
	case fetch.ActionWait:
		return answer.Wait, true
	case fetch.ActionGiveUp:
		return tooLong, true
	default:
		return 0, false
	}
}

// robotsEvidence maps the evidence of a robots decision.
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

// robotsOutcome says how a URL ends that robots keeps us from.
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

// reading is what one request for a page brought: the answer or what went wrong,
// and the page read from it, which is zero when there was no body.
type reading struct {
	res      *fetch.Result
	err      error
	page     parse.Page
	parseErr error
	agent    string     // for whom directives are read
	key      weburl.Key // of the fingerprints in redirect chains
	at       time.Time
}

// record writes a reading down as a visit.
func record(v *visit.Visit, r reading) {
	res := r.res
	v.Answer = visit.Answer{
		Status: res.Status, Protocol: res.Proto, ContentType: res.Header.Get("Content-Type"), RetryAfter: res.Header.Get("Retry-After"),
		Validators:   visit.Validators{ETag: res.Header.Get("Etag"), LastModified: res.Header.Get("Last-Modified")},
		WireBytes:    res.WireBytes,
		DecodedBytes: int64(len(res.Body)),
		Cache:        cacheAnswer(res.Header),
	}
	if res.Remote.IsValid() {
		v.Answer.Remote = res.Remote.String()
	}
	v.Timing = timingOf(res)

	if r.err != nil {
		recordFailure(v, r.err, r.at)
		return
	}
	v.Outcome, v.Reason = visit.OfStatus(res.Status)
	if v.Outcome == visit.Failed {
		v.Detail = fmt.Sprintf("status %d is not one of HTTP's", res.Status)
	}
	if v.Outcome == visit.NotModified && v.Item.Validators == (visit.Validators{}) {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, "304, though nothing was said to compare with"
		return
	}
	if v.Outcome == visit.Redirected {
		recordRedirect(v, res, r.key)
		return
	}
	if r.parseErr != nil {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Parse, r.parseErr.Error()
		return
	}
	recordPage(v, r)
}

// timingOf maps when things happened.
func timingOf(res *fetch.Result) visit.Timing {
	t := res.Timing
	return visit.Timing{Sent: t.Sent, DNS: t.DNS, Connect: t.Connect, TLS: t.TLS, Send: t.Send, FirstByte: t.FirstByte, Total: t.Total, Reused: t.Reused}
}

// cacheAnswer maps what caches said in a header.
func cacheAnswer(h http.Header) visit.Cache {
	a := fetch.ReadCache(h)
	return visit.Cache{Verdict: visit.CacheVerdict(a.Verdict), By: a.By, Age: a.Age, Barred: a.Barred}
}

// recordFailure names a request without a usable answer.
func recordFailure(v *visit.Visit, err error, now time.Time) {
	v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, err.Error()
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return
	}
	if errors.Is(err, fetch.ErrOverBudget) {
		v.Outcome, v.Reason, v.Detail = visit.Skipped, visit.BudgetBytes, "it alone has more bytes than the crawl may fetch in all"
		return
	}
	v.Reason = visit.Reason(failure.Reason)
	if !failure.Reason.Skipped() {
		return
	}
	v.Outcome = visit.Skipped
	if blocked, ok := errors.AsType[*guard.BlockedError](err); ok {
		v.Evidence = append(v.Evidence, visit.Evidence{Kind: visit.AddressRefused, At: now, Rule: blocked.Why, Note: blocked.Addr.String()})
	}
}

// recordRedirect keeps the target of a redirect as what it is: a link. One that
// leads nowhere, in a circle or on for too long ends the URL.
func recordRedirect(v *visit.Visit, res *fetch.Result, key weburl.Key) {
	raw := res.Location()
	if raw == "" {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, fmt.Sprintf("status %d without a Location", res.Status)
		return
	}
	target, err := v.Item.URL.Resolve(raw)
	if err != nil {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, fmt.Sprintf("status %d leads nowhere: %v", res.Status, err)
		return
	}
	v.Answer.Location = target
	if _, ok := v.Item.Follow(target, key); !ok {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.RedirectLoop, fmt.Sprintf("leads to %s again, or too far", visit.Redact(target))
		return
	}
	v.Links = []visit.Link{{URL: target, Kind: "redirect"}}
}

// recordPage keeps what the body said.
func recordPage(v *visit.Visit, r reading) {
	page := &r.page
	words := r.res.Header.Values("X-Robots-Tag")
	directives := robots.ParseHeader(r.agent, words...)
	words = words[:len(words):len(words)] // the header's own stays as it is
	for _, d := range page.Robots {
		directives = directives.Merge(robots.ParseMeta(r.agent, d.Agent, d.Content))
		words = append(words, d.Content)
	}
	v.Page = visit.Page{
		Title: page.Title, Description: page.Description, Canonical: page.Canonical, Language: page.Lang,
		Charset: page.Charset.Name, Robots: words, SimHash: uint64(page.SimHash),
	}
	if !page.Digest.IsZero() {
		v.Page.Digest = page.Digest.String()
	}
	for _, l := range page.Links {
		v.Links = append(v.Links, visit.Link{
			URL: l.URL, Kind: l.Kind.String(), Nofollow: directives.NoFollow || l.Rel.Has(parse.RelNofollow),
		})
	}
	if !page.Challenge.IsZero() {
		v.Outcome, v.Reason = visit.Blocked, ""
		v.Detail = "challenge page of " + page.Challenge.Vendor
		v.Links = nil // what a firewall links to is not the site's
		v.Evidence = append(v.Evidence, visit.Evidence{
			Kind: visit.ChallengePage, At: r.at, Rule: page.Challenge.Marker, Note: page.Challenge.Vendor,
		})
	}
}

// pageRequest is the request for an item.
func pageRequest(it visit.Item, owned bool, secrets fetch.Secrets) fetch.Request {
	return fetch.Request{
		URL: it.URL, Method: http.MethodGet, Owned: owned, Secrets: secrets,
		ETag: it.Validators.ETag, LastModified: it.Validators.LastModified,
	}
}

// robotsURL is where the robots.txt of a URL's host lives.
func robotsURL(u weburl.URL) (weburl.URL, error) { return u.Resolve("/robots.txt") }

// hostError tells whether an error says something about the host, and not about
// us.
func hostError(err error) bool {
	_, ok := errors.AsType[*fetch.Error](err)
	_, hop := errors.AsType[*fetch.RefusedHopError](err)
	return ok || hop || errors.Is(err, fetch.ErrTooManyRedirects) || errors.Is(err, fetch.ErrNoLocation)
}
