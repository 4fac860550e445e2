// Package visitor visits single pages.
package visitor

import (
	"context"
	"fmt"
	"time"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/politeness"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// Visitor makes single visits, each to a host it knows nothing of: robots.txt
// first, then the page in its turn. A crawl knows its hosts and schedules many
// visits; a Visitor is for looking at one page.
type Visitor struct {
	Client  *fetch.Client     // how to ask
	Agent   string            // our product token in robots.txt
	Policy  politeness.Policy // how long the page waits behind robots.txt
	Robots  robots.Policy     // what holds when robots.txt cannot be read
	Owned   bool              // the operator vouches for the host
	Secrets fetch.Secrets     // for owned hosts

	// IgnoreRobots leaves robots.txt unread. It needs Owned and is written
	// into the evidence.
	IgnoreRobots bool
}

// Look is what one visit found out, step by step.
type Look struct {
	Visit    visit.Visit
	Robots   RobotsLook
	Waited   time.Duration // between robots.txt and the page
	Reaction string        // what the answer did to the host's pace, in words; "" for nothing

	// Header is the answer's; nil without one. Body is what was read.
	Header map[string][]string
	Body   []byte
}

// RobotsLook is what was found out about a host's robots.txt.
type RobotsLook struct {
	URL      weburl.URL   // where it lives
	Hops     []weburl.URL // the URLs asked, redirects included
	Sent     time.Time    // when the last request for it left
	Status   int          // of the last answer; 0 without one
	Err      error        // why there was none
	Access   robots.Access
	Decision robots.Decision
	Until    time.Time // when the verdict may change
	Ignored  bool
}

// Visit makes one visit. The error is the crawler's own: a contact is missing,
// credentials for a host that is not owned, or ctx has ended. Whatever the host
// does is in the Look.
func (v *Visitor) Visit(ctx context.Context, u weburl.URL) (Look, error) {
	look := Look{Visit: visit.Visit{Item: visit.Item{URL: u, Found: visit.FoundSeed}}}
	host := politeness.New(u.Host())
	if v.IgnoreRobots && !v.Owned {
		return look, &NotOwnedError{Host: u.Host()}
	}
	if v.IgnoreRobots {
		look.Robots.Ignored = true
		look.Robots.Decision = exchange.Ignore(&look.Visit, time.Now().UTC())
	} else {
		var err error
		if host, err = v.askRobots(ctx, &look, host); err != nil {
			return look, err
		}
		if look.Visit.Outcome != "" {
			return look, nil // there is nobody to ask, or robots.txt forbids it
		}
	}
	began := time.Now()
	if err := exchange.Turn(ctx, v.Policy, host); err != nil {
		return look, err
	}
	look.Waited = time.Since(began)
	return look, v.askPage(ctx, &look, host)
}

func (v *Visitor) asker() *exchange.Asker { return &exchange.Asker{Fetcher: v.Client, Agent: v.Agent} }

func (v *Visitor) host(u weburl.URL) exchange.Host {
	return exchange.Host{Home: u, Owned: v.Owned, Secrets: v.Secrets}
}

// askRobots fetches and reads robots.txt and decides about the URL.
func (v *Visitor) askRobots(ctx context.Context, look *Look, host politeness.State) (politeness.State, error) {
	u := look.Visit.Item.URL
	r := v.asker().Robots(ctx, v.host(u), robots.State{}, 0)
	defer r.Close()
	if r.Own != nil {
		return host, r.Own
	}
	look.Robots = RobotsLook{URL: r.URL, Hops: r.Hops, Sent: r.Timing.Sent, Status: r.Status, Err: r.Err}
	if r.Err != nil && r.Asked() == 0 {
		// No name, no connection or an address we refuse: what stopped the
		// question about robots.txt would stop the page, and is the answer.
		exchange.RecordFailure(&look.Visit, r.Err, r.At)
		return host, nil
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
	return host, nil
}

// askPage fetches and reads the page.
func (v *Visitor) askPage(ctx context.Context, look *Look, host politeness.State) error {
	item := look.Visit.Item
	page := v.asker().Page(ctx, exchange.PageRequest(item, v.host(item.URL)), &look.Visit)
	defer page.Close()
	if page.Own != nil {
		return page.Own
	}
	look.Header, look.Body = page.Header, append([]byte(nil), page.Body...)
	if page.Sent() {
		host = v.Policy.Sent(host, page.Timing.Sent)
		_, effect := v.Policy.Observe(host, page.At, page.Polite())
		look.Reaction = effect.String()
	}
	return nil
}

// NotOwnedError refuses to leave robots.txt unread on a host that nobody vouches
// for.
type NotOwnedError struct{ Host string }

// Error names the host.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("robots.txt of %s can be ignored only if you own the host", e.Host)
}

// Hint says what to do about it.
func (e *NotOwnedError) Hint() string { return "if you own the host, add --owned" }
