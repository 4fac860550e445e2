package exchange

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/parse"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// reading is the result of a page request: the response or error, and the parsed page,
// which is zero without a body.
type reading struct {
	res      *fetch.Result
	err      error
	page     parse.Page
	parseErr error
	content  *visit.Content // of a fetched HTML page, if it is wanted
	signals  bool           // AI-use signals are wanted
	rules    *robots.Rules  // of the host's robots.txt; nil for none
	agent    string         // for robots directives
	key      weburl.Key     // of the fingerprints in redirect chains
	links    bool           // the links of a fetched page are kept
	at       time.Time
}

// record writes a reading into a visit.
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
	v.Timing = TimingOf(res)

	if r.err != nil {
		RecordFailure(v, r.err, r.at)
		return
	}
	v.Outcome, v.Reason = visit.OfStatus(res.Status)
	if v.Outcome == visit.Failed {
		v.Detail = fmt.Sprintf("status %d is not a valid HTTP status", res.Status)
	}
	if v.Outcome == visit.NotModified && v.Item.Validators == (visit.Validators{}) {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, "304 without a conditional request"
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

// TimingOf converts the timing of a request.
func TimingOf(res *fetch.Result) visit.Timing {
	t := res.Timing
	return visit.Timing{Sent: t.Sent, DNS: t.DNS, Connect: t.Connect, TLS: t.TLS, Send: t.Send, FirstByte: t.FirstByte, Total: t.Total, Reused: t.Reused}
}

// cacheAnswer converts the cache headers of a response.
func cacheAnswer(h http.Header) visit.Cache {
	a := fetch.ReadCache(h)
	return visit.Cache{Verdict: visit.CacheVerdict(a.Verdict), By: a.By, Age: a.Age, Barred: a.Barred}
}

// RecordFailure records a request without a usable response.
func RecordFailure(v *visit.Visit, err error, now time.Time) {
	v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, err.Error()
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return
	}
	if errors.Is(err, fetch.ErrOverBudget) {
		v.Outcome, v.Reason, v.Detail = visit.Skipped, visit.BudgetBytes, "the body alone is larger than the crawl's byte limit"
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

// recordRedirect records the target of a redirect as a link. A missing or invalid target, a
// loop, or too many redirects end the URL.
func recordRedirect(v *visit.Visit, res *fetch.Result, key weburl.Key) {
	raw := res.Location()
	if raw == "" {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, fmt.Sprintf("status %d without a Location header", res.Status)
		return
	}
	target, err := v.Item.URL.Resolve(raw)
	if err != nil {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.Protocol, fmt.Sprintf("status %d with an invalid Location header: %v", res.Status, err)
		return
	}
	v.Answer.Location = target
	if _, ok := v.Item.Follow(target, key); !ok {
		v.Outcome, v.Reason, v.Detail = visit.Failed, visit.RedirectLoop, fmt.Sprintf("redirect loop or too many redirects, at %s", visit.Redact(target))
		return
	}
	v.Links = []visit.Link{{URL: target, Kind: "redirect"}}
}

// recordPage records what the body says.
func recordPage(v *visit.Visit, r reading) {
	page := &r.page
	words := r.res.Header.Values("X-Robots-Tag")
	header, meta := robots.ParseHeader(r.agent, words...), robots.Directives{}
	words = words[:len(words):len(words)] // do not append to the header's slice
	for _, d := range page.Robots {
		meta = meta.Merge(robots.ParseMeta(r.agent, d.Agent, d.Content))
		words = append(words, d.Content)
	}
	directives := header.Merge(meta)
	v.Page = visit.Page{
		Title: page.Title, Description: page.Description, Canonical: page.Canonical, Language: page.Lang,
		Charset: page.Charset.Name, Robots: words, SimHash: uint64(page.SimHash), Content: r.content,
	}
	if !page.Digest.IsZero() {
		v.Page.Digest = page.Digest.String()
	}
	if r.signals && (v.Outcome == visit.Fetched || v.Outcome == visit.NotModified) {
		v.Page.Signals = signalsOf(&r, header, meta)
	}
	v.Links = slices.Grow(v.Links, len(page.Links))
	for _, l := range page.Links {
		v.Links = append(v.Links, visit.Link{
			URL: l.URL, Kind: l.Kind.String(), Nofollow: directives.NoFollow || l.Rel.Has(parse.RelNofollow),
		})
	}
	for i, l := range page.Labels {
		v.Links[i].Rel, v.Links[i].Anchor = l.Rel, l.Anchor
	}
	if !page.Challenge.IsZero() {
		v.Outcome, v.Reason = visit.Blocked, ""
		v.Detail = "challenge page of " + page.Challenge.Vendor
		v.Links = nil // its links are not the site's
		v.Evidence = append(v.Evidence, visit.Evidence{
			Kind: visit.ChallengePage, At: r.at, Rule: page.Challenge.Marker, Note: page.Challenge.Vendor,
		})
	}
	if r.links && v.Outcome == visit.Fetched {
		v.Page.Links = visit.Keep(v.Links, page.Cut&(parse.BoundBytes|parse.BoundLinks) != 0)
	}
}
