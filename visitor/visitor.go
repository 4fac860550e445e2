// Package visitor visits single pages.
package visitor

import (
	"context"
	"fmt"
	"time"

	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/internal/exchange"
	"headway/politeness"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// Visitor visits single pages without prior knowledge of the host: robots.txt first, then
// the page after the host's pace. A crawl schedules many visits; a Visitor is for one page.
type Visitor struct {
	Client  *fetch.Client     // sends the requests
	Agent   string            // our product token in robots.txt
	Policy  politeness.Policy // sets the interval between robots.txt and the page
	Robots  robots.Policy     // what applies if robots.txt cannot be read
	Owned   bool              // the operator declared the host as owned
	Secrets fetch.Secrets     // for owned hosts
	Content content.Options   // what to record of the main text of the page; zero for nothing
	Extract *extract.Rules    // for the fields of the page; nil for none

	// IgnoreRobots skips robots.txt. It requires Owned and is recorded in the evidence.
	IgnoreRobots bool
}

// Look is the result of one visit, step by step.
type Look struct {
	Visit    visit.Visit
	Robots   RobotsLook
	Waited   time.Duration // between robots.txt and the page
	Reaction string        // how the response changed the host's pace, in words; "" for no change

	// Header is the response's; nil without one. Body is what was read.
	Header map[string][]string
	Body   []byte
}

// RobotsLook is the result for a host's robots.txt.
type RobotsLook struct {
	URL      weburl.URL   // its URL
	Hops     []weburl.URL // the URLs requested, including redirects
	Sent     time.Time    // when the last request for it was sent
	Status   int          // of the last response; 0 without one
	Err      error        // why there was none
	Access   robots.Access
	Decision robots.Decision
	Until    time.Time // when the verdict may change
	Ignored  bool
}

// Visit makes one visit. It returns an error only for local problems: a missing contact,
// credentials for a host that is not owned, or the end of ctx. Errors of the host are in
// the Look.
func (v *Visitor) Visit(ctx context.Context, u weburl.URL) (Look, error) {
	look := Look{Visit: visit.Visit{Item: visit.Item{URL: u, Found: visit.FoundSeed}}}
	host := politeness.New(u.Host())
	if v.IgnoreRobots && !v.Owned {
		return look, &NotOwnedError{Host: u.Host()}
	}
	var rules *robots.Rules
	if v.IgnoreRobots {
		look.Robots.Ignored = true
		look.Robots.Decision = exchange.Ignore(&look.Visit, time.Now().UTC())
	} else {
		var err error
		if host, rules, err = v.fetchRobots(ctx, &look, host); err != nil {
			return look, err
		}
		if look.Visit.Outcome != "" {
			return look, nil // the host is unreachable, or robots.txt forbids the page
		}
	}
	began := time.Now()
	if err := exchange.WaitTurn(ctx, v.Policy, host); err != nil {
		return look, err
	}
	look.Waited = time.Since(began)
	return look, v.fetchPage(ctx, &look, host, rules)
}

func (v *Visitor) requester() *exchange.Requester {
	return &exchange.Requester{Fetcher: v.Client, Agent: v.Agent, Content: v.Content, Extract: v.Extract}
}

func (v *Visitor) host(u weburl.URL) exchange.Host {
	return exchange.Host{Home: u, Owned: v.Owned, Secrets: v.Secrets}
}

// fetchRobots fetches and parses robots.txt and checks the URL.
func (v *Visitor) fetchRobots(ctx context.Context, look *Look, host politeness.State) (politeness.State, *robots.Rules, error) {
	u := look.Visit.Item.URL
	r := v.requester().Robots(ctx, v.host(u), robots.State{}, 0)
	defer r.Close()
	if r.LocalErr != nil {
		return host, nil, r.LocalErr
	}
	look.Robots = RobotsLook{URL: r.URL, Hops: r.Hops, Sent: r.Timing.Sent, Status: r.Status, Err: r.Err}
	if r.Err != nil && r.RequestsSent() == 0 {
		// No DNS name, no connection or a blocked address: it would stop the page as well,
		// and becomes its outcome.
		exchange.RecordFailure(&look.Visit, r.Err, r.At)
		return host, nil, nil
	}
	state := v.Robots.Observe(robots.State{}, r.At, r.Says)
	verdict := v.Robots.Verdict(state, r.At)
	var rules *robots.Rules
	if r.File != nil {
		rules = r.File.For(v.Agent)
	}
	decision := exchange.Judge(&look.Visit, verdict, rules, r.At)
	look.Robots.Access, look.Robots.Decision, look.Robots.Until = verdict.Access, decision, verdict.Until
	if decision.Delayed {
		host = host.WithCrawlDelay(decision.Delay)
	}
	if r.Sent() {
		host = v.Policy.Sent(host, r.Timing.Sent)
		host, _ = v.Policy.Observe(host, r.At, r.Polite())
	}
	return host, rules, nil
}

// fetchPage fetches and parses the page.
func (v *Visitor) fetchPage(ctx context.Context, look *Look, host politeness.State, rules *robots.Rules) error {
	item := look.Visit.Item
	from := v.requester()
	from.Rules = rules
	page := from.Page(ctx, exchange.PageRequest(item, v.host(item.URL)), &look.Visit)
	defer page.Close()
	if page.LocalErr != nil {
		return page.LocalErr
	}
	look.Header, look.Body = page.Header, append([]byte(nil), page.Body...)
	if page.Sent() {
		host = v.Policy.Sent(host, page.Timing.Sent)
		_, effect := v.Policy.Observe(host, page.At, page.Polite())
		look.Reaction = effect.String()
	}
	return nil
}

// NotOwnedError refuses to ignore the robots.txt of a host that is not owned.
type NotOwnedError struct{ Host string }

// Error names the host.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("robots.txt of %s can be ignored only if you own the host", e.Host)
}

// Hint says what to do about it.
func (e *NotOwnedError) Hint() string { return "if you own the host, add --owned" }
