package answer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"headway/fetch/guard"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// What decides how a URL ends.
const (
	byScope  = "scope"
	byTraps  = "traps"
	byRobots = "robots"
	byOptOut = "opt_out"
	byLink   = "link"
	byLimit  = "limit"
	byGuard  = "guard"
	byHost   = "host"
	byServer = "server"
	byCrawl  = "crawl"
)

// decide sets the rule behind how the URL ended, and who set it.
func (x *explainer) decide(ctx context.Context) (err error) {
	w := &x.why
	switch w.Outcome {
	case visit.Skipped:
		return x.skipped(ctx)
	case visit.Failed:
		return x.failed(ctx)
	case visit.Pending:
		w.By, w.Rule = byCrawl, "waiting for "+x.waitsFor()
		if w.Wait.Paused {
			w.Rule = "its host is paused by an operator"
		}
	case visit.Deferred:
		w.By = byHost
		w.Rule, err = x.deferredRule(ctx)
	case visit.Blocked:
		w.By, w.Rule = byServer, x.blockedRule()
	case visit.Redirected:
		w.By, w.Rule = byServer, fmt.Sprintf("status %d redirects to %s", x.status(), visit.Redact(x.entry.Visit.Answer.Location))
	case visit.Throttled:
		w.By, w.Rule = byServer, fmt.Sprintf("status %d on each of %s", x.status(), times(len(w.Attempts), "attempt"))
	case visit.Fetched, visit.NotModified, visit.Dead, visit.ServerError:
		w.By, w.Rule = byServer, fmt.Sprintf("status %d", x.status())
	}
	return err
}

// status is the status of the last response.
func (x *explainer) status() int {
	if x.entry.Visit == nil {
		return 0
	}
	return x.entry.Visit.Answer.Status
}

// detail is the recorded text for people.
func (x *explainer) detail() string {
	if x.entry.Visit == nil {
		return ""
	}
	return x.entry.Visit.Detail
}

// fact returns the rule of a kind of evidence.
func (x *explainer) fact(kind visit.EvidenceKind) string {
	for _, e := range x.why.Evidence {
		if e.Kind == kind {
			if e.Note != "" && e.Rule != "" {
				return e.Rule + " (" + e.Note + ")"
			}
			return e.Rule + e.Note
		}
	}
	return ""
}

// skipped names the rule that kept a URL from being requested.
func (x *explainer) skipped(ctx context.Context) (err error) {
	w := &x.why
	switch w.Reason {
	case visit.OutOfScope, visit.Excluded, visit.NonDocument, visit.Depth:
		w.By = byScope
		switch {
		case w.Scope != nil && !w.Scope.In && w.Scope.Reason == w.Reason:
			w.Rule = w.Scope.Rule
		case x.detail() != "":
			w.Rule = x.detail()
		default:
			w.Rule = "out of scope when it was found; the scope has changed since"
		}
		if w.Reason == visit.Depth {
			x.budget(limit.Depth)
		}
	case visit.TrapPath, visit.TrapQuery:
		w.By = byTraps
		w.Rule, err = x.trapRule(ctx)
	case visit.DuplicateContent:
		w.By, w.Rule = byTraps, x.detail()
	case visit.RobotsDisallow, visit.CrawlDelayTooLong, visit.RobotsUnreachable:
		w.By = byRobots
		w.Rule, err = x.robotsRule(ctx)
	case visit.Nofollow:
		w.By = byLink
		w.Rule, err = x.nofollowRule(ctx)
	case visit.PrivateAddress:
		w.By, w.Rule = byGuard, x.fact(visit.AddressRefused)
		if w.Rule == "" {
			w.Rule = fmt.Sprintf("%s does not have a public address", x.URL.Hostname())
		}
	case visit.BadPort:
		w.By, w.Rule = byGuard, badPortRule(x.URL)
	case visit.BudgetHost:
		w.By, w.Rule = byLimit, x.budget(limit.PagesPerHost)
	case visit.BudgetBytes:
		w.By, w.Rule = byLimit, x.budget(limit.Bytes)
		if d := x.detail(); d != "" {
			w.Rule = d + ": " + w.Rule
		}
	case visit.OptedOut:
		w.By, w.Rule = byOptOut, "on the opt-out list"
		if x.OptedOut != nil {
			if name := x.OptedOut(x.URL); name != "" {
				w.Rule = name + " is on the opt-out list"
			} else {
				w.Rule += " then, but not now"
			}
		}
	}
	return err
}

// badPortRule says how to allow a port.
func badPortRule(u weburl.URL) string {
	text := fmt.Sprintf("port %d is not allowed: public hosts are crawled on ports 80 and 443", u.Port())
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !guard.Public(addr) {
		return text + fmt.Sprintf("; --allow-private %s:%d allows it", netip.PrefixFrom(addr, addr.BitLen()), u.Port())
	}
	return text + fmt.Sprintf("; --ports %d allows it", u.Port())
}

// budget sets a limit as the deciding one.
func (x *explainer) budget(n limit.Name) string {
	c := x.Spec.limit(n)
	if c.Max == 0 {
		return string(n)
	}
	x.why.Budget = &Ceiling{Limit: c.Limit, Layer: c.Layer, Text: c.Text}
	x.why.Budget.Max, x.why.Budget.Unit = n.InUnits(c.Max)
	return c.Text
}

// robotsRule names the line, or why there is none.
func (x *explainer) robotsRule(ctx context.Context) (string, error) {
	if r := x.why.Robots; r != nil && r.Rule != "" {
		return fmt.Sprintf("%s (line %d, group %s)", r.Rule, r.Line, r.Group), nil
	}
	state, known, err := x.robotsState(ctx)
	switch {
	case err != nil:
		return "", err
	case !known:
		return "robots.txt of " + x.URL.Host() + " could not be read", nil
	case x.why.Reason == visit.RobotsUnreachable:
		return unreachable(state, x.Spec.patience()), nil
	default:
		return fmt.Sprintf("robots.txt answered %d", state.Status), nil
	}
}

// unreachable describes the attempts to fetch robots.txt.
func unreachable(s robots.State, patience time.Duration) string {
	said := "did not respond"
	if s.Status != 0 {
		said = fmt.Sprintf("answered %d", s.Status)
	}
	text := fmt.Sprintf("robots.txt %s, %s in a row", said, times(max(s.Failures, 1), "time"))
	if !s.FailingSince.IsZero() {
		text += " since " + clock(s.FailingSince)
	}
	if patience > 0 {
		text += fmt.Sprintf("; patience per host is %s", patience)
	}
	return text
}

// robotsState returns the stored state of the host's robots.txt.
func (x *explainer) robotsState(ctx context.Context) (state robots.State, known bool, err error) {
	return storedRobots(ctx, x.Store, x.URL.Host())
}

// storedRobots returns the stored state of a host's robots.txt.
func storedRobots(ctx context.Context, r store.Reader, host string) (state robots.State, known bool, err error) {
	h, err := r.Host(ctx, host)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(h.Robots) == 0 {
		return robots.State{}, false, nil
	}
	if err != nil {
		return robots.State{}, false, err
	}
	if err := state.UnmarshalBinary(h.Robots); err != nil {
		return robots.State{}, false, fmt.Errorf("robots state of %s: %w", host, err)
	}
	return state, true, nil
}

// hostState returns the stored politeness state of the host.
func (x *explainer) hostState(ctx context.Context) (state politeness.State, known bool, err error) {
	h, err := x.Store.Host(ctx, x.URL.Host())
	if errors.Is(err, store.ErrNotFound) || err == nil && len(h.Politeness) == 0 {
		return politeness.State{}, false, nil
	}
	if err != nil {
		return politeness.State{}, false, err
	}
	if err := state.UnmarshalBinary(h.Politeness); err != nil {
		return politeness.State{}, false, fmt.Errorf("state of %s: %w", x.URL.Host(), err)
	}
	return state, true, nil
}

// nofollowRule says where the nofollow was found.
func (x *explainer) nofollowRule(ctx context.Context) (string, error) {
	rule := "every link found to it has rel=nofollow"
	if x.entry.Item.Via.IsZero() {
		return rule, nil
	}
	page, err := x.Store.Lookup(ctx, x.Job.ID, x.entry.Item.Via)
	if errors.Is(err, store.ErrNotFound) {
		return rule, nil
	}
	if err != nil {
		return "", err
	}
	if page.Visit == nil {
		return rule, nil
	}
	for _, word := range page.Visit.Page.Robots {
		if d := robots.ParseMeta(x.Spec.agent(), "robots", word); d.NoFollow {
			return fmt.Sprintf("the page that links to it has %q for all its links", word), nil
		}
	}
	return rule, nil
}

// trapRule finds the text of a trap rule, which is not stored: from the URL alone, or by
// replaying the URLs of its host in the order they were found.
func (x *explainer) trapRule(ctx context.Context) (string, error) {
	reason := scope.Reason(x.why.Reason)
	if d := scope.NewTraps(scope.TrapConfig{}).Look(x.URL, x.entry.SeenAt); d.Reason == reason {
		return d.Rule, nil
	}
	traps := scope.NewTraps(scope.TrapConfig{})
	q := store.Query{Job: x.Job.ID, Max: store.MaxPage}
	for n := 0; n < maxTrail; {
		page, err := x.Store.List(ctx, q)
		if err != nil {
			return "", err
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			looked := e.Item.Found == visit.FoundLink && e.Item.URL.Hostname() == x.URL.Hostname() &&
				(e.Outcome != visit.Skipped || e.Reason == visit.TrapPath || e.Reason == visit.TrapQuery || e.Reason.Provisional() || e.Visit != nil)
			if !looked {
				continue
			}
			d := traps.Look(e.Item.URL, e.SeenAt)
			if e.Item.URL == x.URL {
				if d.Reason == reason {
					return d.Rule, nil
				}
				return trapWords(x.why.Reason), nil
			}
		}
		n += len(page.Entries)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	return trapWords(x.why.Reason), nil
}

// trapWords is the text without the current counts.
func trapWords(r visit.Reason) string {
	if r == visit.TrapPath {
		return "its path looked like a crawler trap: too many similar paths on this host"
	}
	return "its query looked like a crawler trap: too many parameter combinations on this host"
}

// deferredRule says why a URL was deferred.
func (x *explainer) deferredRule(ctx context.Context) (string, error) {
	s, known, err := x.hostState(ctx)
	if err != nil {
		return "", err
	}
	held := s.HeldUntil()
	switch patience := x.Spec.patience(); {
	case known && held.After(x.entry.EndedAt):
		rule := "the host refuses requests and is on hold until " + clock(held)
		if !s.Refusing() {
			rule = "the host is failing and is on hold until " + clock(held)
		}
		if patience > 0 {
			rule += fmt.Sprintf("; patience per host is %s", patience)
			x.budget(limit.Patience)
		}
		return rule, nil
	case x.Spec.limit(limit.Hosts).Max > 0:
		x.why.By = byLimit
		return "its host is over the host limit: " + x.budget(limit.Hosts), nil
	case x.Spec.MaxWaiting > 0:
		x.why.By = byLimit
		return fmt.Sprintf("%d URLs were already waiting (frontier.max_waiting)", x.Spec.MaxWaiting), nil
	default:
		x.why.By = byCrawl
		return "found after discovery was stopped; run the same command to resume", nil
	}
}

// blockedRule describes what was served instead of the page.
func (x *explainer) blockedRule() string {
	if marker := x.fact(visit.ChallengePage); marker != "" {
		return fmt.Sprintf("a challenge page instead of content: %s, with status %d", marker, x.status())
	}
	return fmt.Sprintf("status %d", x.status())
}

// failed names what went wrong.
func (x *explainer) failed(ctx context.Context) error {
	w := &x.why
	w.By, w.Rule = byHost, x.detail()
	switch {
	case w.Reason == visit.Quarantined:
		w.By = byCrawl
	case w.Reason == visit.HostParked:
		n := x.Spec.Policy.FailureThreshold
		if n == 0 {
			preset, _ := politeness.Preset(politeness.DefaultPreset)
			n = preset.FailureThreshold
		}
		s, _, err := x.hostState(ctx)
		if err != nil {
			return err
		}
		w.Rule = fmt.Sprintf("a host is given up after %d failures in a row (failure_threshold)", n)
		if f := s.Failures(); f > 0 {
			w.Rule += fmt.Sprintf("; %s had %d", x.URL.Host(), f)
		}
	case w.Rule == "":
		// robots.txt could not be fetched, and all URLs of the host ended with
		// that.
		w.Rule = fmt.Sprintf("robots.txt of %s could not be fetched: %s, on every attempt", x.URL.Host(), failureWords(w.Reason))
	}
	return nil
}

// failureWords says what a reason means.
func failureWords(r visit.Reason) string {
	words := map[visit.Reason]string{
		visit.DNS: "host name does not exist or cannot be resolved", visit.Connect: "connection failed", visit.TLS: "invalid TLS certificate or handshake",
		visit.Timeout: "timeout", visit.Protocol: "invalid HTTP response", visit.Truncated: "response cut short",
		visit.TooLarge: "response too large", visit.BadEncoding: "response cannot be decoded",
	}
	if w := words[r]; w != "" {
		return w
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// waitsFor says what the URL waits for.
func (x *explainer) waitsFor() string {
	w := x.why.Wait
	if rate := x.Spec.limit(limit.RequestsPerSecond); w.Live && w.Reason == visit.WaitBudget && rate.Max > 0 {
		return "its tenant's rate limit: " + rate.Text
	}
	return waitWords(w.Reason)
}

// waitWords says what a wait reason means.
func waitWords(w visit.Wait) string {
	words := map[visit.Wait]string{
		visit.WaitPace: "the host's pace", visit.WaitCrawlDelay: "the Crawl-delay in robots.txt", visit.WaitHold: "the end of the host's hold",
		visit.WaitInFlight: "other requests in flight to its host", visit.WaitDomainInterval: "the interval of its domain",
		visit.WaitAddressInterval: "the interval of its IP address", visit.WaitRobots: "robots.txt", visit.WaitDNS: "the DNS lookup of its host",
		visit.WaitWorkers: "a free worker", visit.WaitParse: "a free parser", visit.WaitStorage: "storage",
		visit.WaitCPU: "a CPU", visit.WaitDisk: "the disk", visit.WaitDatabase: "the database",
		visit.WaitBudget: "a higher limit", visit.WaitNetwork: "our own network to recover", visit.WaitLease: "another process that is crawling its domain",
		visit.WaitIdle: "its turn",
	}
	return words[w]
}

func times(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// clock formats a time for sentences.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// provisionalWords explains reasons that another link can override.
func provisionalWords(r visit.Reason) string {
	if slices.Contains([]visit.Reason{visit.Nofollow, visit.Depth}, r) {
		return "A later link that is allowed would put it back in the queue."
	}
	return ""
}
