package headway

import (
	"context"
	"fmt"
	"time"

	"headway/fetch"
	"headway/parse"
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
		look.Robots.Decision = robots.Decision{Allowed: true, Reason: robots.Ignored}
		look.Visit.Evidence = append(look.Visit.Evidence, visit.Evidence{
			Kind: visit.Override, At: time.Now().UTC(), Note: string(robots.Ignored), Confidence: visit.Low,
		})
	} else {
		var err error
		if host, err = v.askRobots(ctx, &look, host); err != nil {
			return look, err
		}
		if look.Visit.Outcome != "" {
			return look, nil // there is nobody to ask
		}
		if !look.Robots.Decision.Allowed {
			look.Visit.Outcome, look.Visit.Reason = robotsOutcome(look.Robots.Decision)
			return look, nil
		}
	}
	began := time.Now()
	if err := waitTurn(ctx, v.Policy, host); err != nil {
		return look, err
	}
	look.Waited = time.Since(began)
	return look, v.askPage(ctx, &look, host)
}

// askRobots fetches and reads robots.txt and decides about the URL.
func (v *Visitor) askRobots(ctx context.Context, look *Look, host politeness.State) (politeness.State, error) {
	u := look.Visit.Item.URL
	at, err := robotsURL(u)
	if err != nil {
		return host, fmt.Errorf("robots.txt of %s: %w", u.Host(), err)
	}
	res, hops, err := v.Client.Robots(ctx, fetch.Request{URL: at, Owned: v.Owned, Secrets: v.Secrets})
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	if own := ownError(ctx, err); own != nil {
		return host, own
	}
	now := time.Now().UTC()
	look.Robots = RobotsLook{URL: at, Hops: hops, Sent: res.Timing.Sent, Status: res.Status, Err: err}
	if err != nil && len(hops) == 1 && res.Timing.Sent.IsZero() {
		// No name, no connection or an address we refuse: what stopped the
		// question about robots.txt would stop the page, and is the answer.
		recordFailure(&look.Visit, err, now)
		return host, nil
	}
	var file *robots.File
	if err == nil && res.Status >= 200 && res.Status < 300 {
		file = robots.Parse(res.Body)
	}
	answer := robotsAnswer(res, err, file, now)
	state := v.Robots.Observe(robots.State{}, now, answer)
	verdict := v.Robots.Verdict(state, now)
	var rules *robots.Rules
	if answer.File != nil {
		rules = answer.File.For(v.Agent)
	}
	decision := verdict.Decide(rules, u)
	look.Robots.Access, look.Robots.Decision, look.Robots.Until = verdict.Access, decision, verdict.Until
	look.Visit.Evidence = append(look.Visit.Evidence, robotsEvidence(verdict.Evidence(decision, now)))

	if decision.Delayed {
		host = host.WithCrawlDelay(decision.Delay)
	}
	if sent := res.Timing.Sent; !sent.IsZero() {
		host = v.Policy.Sent(host, sent)
		host, _ = v.Policy.Observe(host, now, politeAnswer(res, err, false, now))
	}
	return host, nil
}

// askPage fetches and reads the page.
func (v *Visitor) askPage(ctx context.Context, look *Look, host politeness.State) error {
	res, err := v.Client.Do(ctx, pageRequest(look.Visit.Item, v.Owned, v.Secrets))
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	if own := ownError(ctx, err); own != nil {
		return own
	}
	now := time.Now().UTC()
	r := reading{res: res, err: err, agent: v.Agent, at: now}
	if err == nil {
		r.page, r.parseErr = parse.Read(parse.Answer{URL: res.URL, Status: res.Status, Header: res.Header, Body: res.Body}, parse.Options{Agent: v.Agent})
	}
	record(&look.Visit, r)
	look.Header, look.Body = res.Header, append([]byte(nil), res.Body...)
	if sent := res.Timing.Sent; !sent.IsZero() {
		host = v.Policy.Sent(host, sent)
		_, effect := v.Policy.Observe(host, now, politeAnswer(res, err, !r.page.Challenge.IsZero(), now))
		look.Reaction = effect.String()
	}
	return nil
}

// waitTurn waits until the host may be asked again. Only a single visit waits
// like this; in a crawl a host that is not ready is scheduled.
func waitTurn(ctx context.Context, policy politeness.Policy, host politeness.State) error {
	for {
		now := time.Now()
		wait := policy.Admit(host, now)
		if wait.Reason == politeness.Ready {
			return nil
		}
		if wait.Until.IsZero() {
			return fmt.Errorf("host waits for %s with nothing under way", wait.Reason)
		}
		timer := time.NewTimer(wait.Until.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// ownError tells our own trouble from the host's.
func ownError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if hostError(err) {
		return nil
	}
	return err
}

// NotOwnedError refuses to leave robots.txt unread on a host that nobody vouches
// for.
type NotOwnedError struct{ Host string }

// Error names the host.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("robots.txt of %s can only be ignored by its owner", e.Host)
}

// Hint says what to do about it.
func (e *NotOwnedError) Hint() string { return "if the host is yours, say so with --owned" }
