package answer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
)

// Pass says whether a URL would be fetched now.
type Pass string

// The values. Unknown means that nothing known would block it, but something is not
// known.
const (
	Passes  Pass = "yes"
	Stopped Pass = "no"
	Unknown Pass = "unknown"
)

// Recheck applies the rules of the crawl to the URL again, without sending a request.
type Recheck struct {
	Pass    Pass         `json:"pass"`
	Reason  visit.Reason `json:"reason,omitempty"` // of the first check that blocks it, if it has one
	Checks  []PassCheck  `json:"checks"`
	Unknown []string     `json:"cannot_know"` // what only a request would show
}

// PassCheck is the result of one check.
type PassCheck struct {
	Gate   string       `json:"gate"` // opt_out, scope, traps, link, robots, limits, hold
	Pass   Pass         `json:"pass"`
	Reason visit.Reason `json:"reason,omitempty"`
	Rule   string       `json:"rule"`
}

// recheck runs every check again.
func (x *explainer) recheck(ctx context.Context) error {
	r := &Recheck{Pass: Passes}
	x.why.Now = r
	add := func(c PassCheck) {
		r.Checks = append(r.Checks, c)
		switch {
		case c.Pass == Stopped && r.Pass != Stopped:
			r.Pass, r.Reason = Stopped, c.Reason
		case c.Pass == Unknown && r.Pass == Passes:
			r.Pass = Unknown
		}
	}
	add(x.passOptOut())
	add(x.passScope())
	if c, ok := x.passTraps(); ok {
		add(c)
	}
	if x.why.Reason == visit.Nofollow {
		add(PassCheck{Gate: "link", Pass: Unknown, Reason: visit.Nofollow, Rule: "it needs a link without nofollow: " + x.why.Rule})
	}
	c, err := x.passRobots(ctx)
	if err != nil {
		return err
	}
	add(c)
	if c, err = x.passLimits(ctx); err != nil {
		return err
	}
	add(c)
	s, known, err := x.hostState(ctx)
	if err != nil {
		return err
	}
	if held := s.HeldUntil(); known && held.After(x.Now) {
		add(PassCheck{Gate: "hold", Pass: Unknown, Rule: "the host is on hold until " + clock(held) + "; after that it would be requested"})
	}
	r.Unknown = []string{
		"how the server would respond",
		"whether its host name resolves to an allowed address",
	}
	if !x.why.Seen {
		r.Unknown = append(r.Unknown, "whether any page not yet fetched links to it, and how far it is from a seed")
	}
	return nil
}

func (x *explainer) passOptOut() PassCheck {
	c := PassCheck{Gate: "opt_out", Pass: Passes, Rule: "the host has not opted out"}
	if x.OptedOut == nil {
		c.Pass, c.Rule = Unknown, "the opt-out list is not available"
	} else if name := x.OptedOut(x.URL); name != "" {
		c.Pass, c.Reason, c.Rule = Stopped, visit.OptedOut, name+" is on the opt-out list"
	}
	return c
}

func (x *explainer) passScope() PassCheck {
	c := PassCheck{Gate: "scope", Pass: Passes}
	if x.rules == nil {
		c.Pass, c.Rule = Unknown, "the seeds of this crawl were not stored"
		return c
	}
	seed, depth := x.why.Found != nil && x.entry.Item.Depth == 0, max(x.entry.Item.Depth, 1)
	d := x.rules.Decide(x.URL, depth)
	if seed {
		d = x.rules.DecideSeed(x.URL)
	}
	switch c.Rule = d.Rule; {
	case d.In && !x.Spec.hasAllSeeds() && x.Spec.SeedCount > 0:
		c.Rule += " (based on the stored seeds)"
	case d.In:
	case !x.Spec.hasAllSeeds() && d.Reason == scope.OutOfScope:
		c.Pass, c.Rule = Unknown, "only the first of many seeds were stored, and none of them matches"
	default:
		c.Pass, c.Reason = Stopped, visit.Reason(d.Reason)
	}
	return c
}

// passTraps checks the URL alone; rules that depend on counts are not checked again.
// Seeds and sitemap entries are exempt.
func (x *explainer) passTraps() (PassCheck, bool) {
	if x.why.Found != nil && x.entry.Item.Found != visit.FoundLink {
		return PassCheck{}, false
	}
	c := PassCheck{Gate: "traps", Pass: Passes, Rule: "does not look like a crawler trap"}
	d := scope.NewTraps(scope.TrapConfig{}).Look(x.URL, x.Now)
	switch {
	case !d.In:
		c.Pass, c.Reason, c.Rule = Stopped, visit.Reason(d.Reason), d.Rule
	case x.why.Reason == visit.TrapPath || x.why.Reason == visit.TrapQuery || x.why.Reason == visit.DuplicateContent:
		c.Pass, c.Rule = Unknown, "depends on the other pages of the host: "+x.why.Rule
	}
	return c, true
}

// passRobots checks the stored robots.txt.
func (x *explainer) passRobots(ctx context.Context) (PassCheck, error) {
	c := PassCheck{Gate: "robots", Pass: Passes}
	state, known, err := x.robotsState(ctx)
	if err != nil {
		return c, err
	}
	if !known || state.Known == robots.Nothing && state.FailingSince.IsZero() {
		c.Pass, c.Rule = Unknown, "robots.txt of "+x.URL.Host()+" was never fetched"
		return c, nil
	}
	policy := robots.Policy{AllowUnreachable: x.Spec.Policy.AllowUnreachableRobots}
	verdict := policy.Verdict(state, x.Now)
	var rules *robots.Rules
	if verdict.Access == robots.AccessRules || verdict.Access == robots.AccessCached {
		version, err := x.Store.Robots(ctx, verdict.Sum)
		if errors.Is(err, store.ErrNotFound) {
			c.Pass, c.Rule = Unknown, "the text of robots.txt is no longer stored"
			return c, nil
		}
		if err != nil {
			return c, err
		}
		rules = robots.Parse(version.Body).For(x.Spec.agent())
	}
	d := verdict.Decide(rules, x.URL)
	switch {
	case d.Rule != "":
		c.Rule = fmt.Sprintf("%s (line %d, group %s)", d.Rule, d.Line, d.Group)
	case d.Reason == robots.DelayTooLong:
		c.Rule = fmt.Sprintf("Crawl-delay of %s exceeds the maximum of %s", d.Delay, robots.MaxDelay)
	case d.Reason == robots.Unreachable:
		c.Rule = unreachable(state, 0)
	default:
		c.Rule = map[robots.Reason]string{
			robots.NoRule: "no rule in robots.txt matches", robots.NoFile: "the host has no robots.txt", robots.Unknown: "robots.txt must be fetched again",
		}[d.Reason]
	}
	switch {
	case d.Reason == robots.Unreadable:
		c.Pass = Unknown
		c.Rule = unreachable(state, 0) + "; this crawl continues anyway (robots.on_unreachable allow) and would fetch it again"
	case d.Allowed && !verdict.Until.After(x.Now):
		c.Pass = Unknown
		c.Rule += "; this is the copy from " + clock(verdict.AnsweredAt) + ", which would be fetched again"
	case d.Allowed:
	case d.Reason == robots.Unreachable || d.Reason == robots.Unknown:
		c.Pass, c.Reason = Unknown, visit.RobotsUnreachable
	case d.Reason == robots.DelayTooLong:
		c.Pass, c.Reason = Stopped, visit.CrawlDelayTooLong
	default:
		c.Pass, c.Reason = Stopped, visit.RobotsDisallow
	}
	return c, nil
}

// passLimits checks whether a limit is used up.
func (x *explainer) passLimits(ctx context.Context) (PassCheck, error) {
	c := PassCheck{Gate: "limits", Pass: Passes, Rule: "no limit is reached"}
	stop := func(l SpecCeiling, used int64, r visit.Reason) {
		c.Pass, c.Reason, c.Rule = Stopped, r, fmt.Sprintf("%s, %d used", l.Text, used)
	}
	counts, err := x.Store.Counts(ctx, x.Job.ID)
	if err != nil {
		return c, err
	}
	if l := x.Spec.limit(limit.Bytes); l.Max > 0 && x.why.Reason == visit.BudgetBytes {
		c.Pass, c.Reason, c.Rule = Stopped, visit.BudgetBytes, x.why.Rule
		return c, nil
	}
	if b := x.why.Budget; b != nil && b.Limit == limit.Hosts {
		c.Pass, c.Rule = Stopped, x.why.Rule
		return c, nil
	}
	if l := x.Spec.limit(limit.Pages); l.Max > 0 && counts.Pages() >= l.Max {
		stop(l, counts.Pages(), "")
		return c, nil
	}
	if l := x.Spec.limit(limit.PagesPerHost); l.Max > 0 {
		pages, err := x.hostPages(ctx, l.Max)
		if err != nil {
			return c, err
		}
		if pages >= l.Max {
			stop(l, pages, visit.BudgetHost)
			return c, nil
		}
	}
	spent, err := x.spent(ctx)
	if err != nil {
		return c, err
	}
	for _, name := range limit.Counted {
		l, used := x.Spec.limit(name), spent.Of(name)
		if l.Max <= 0 || used < l.Max {
			continue
		}
		if name == limit.Time {
			c.Pass, c.Rule = Stopped, fmt.Sprintf("%s, %s used", l.Text, time.Duration(used).Round(time.Second))
			return c, nil
		}
		stop(l, used, "")
		return c, nil
	}
	if x.Job.State.Ended() && x.Job.State != job.Partial {
		c.Rule += "; the crawl has ended, and --fresh starts over"
	}
	return c, nil
}

// spent adds up the points of the job.
func (x *explainer) spent(ctx context.Context) (limit.Use, error) {
	points, err := x.Store.Points(ctx, x.Job.ID)
	if err != nil {
		return limit.Use{}, err
	}
	var use limit.Use
	for _, p := range points {
		use.Requests += p.Requests
		use.Bytes += p.Bytes
		use.Time += p.Ran
	}
	return use, nil
}

// hostPages counts pages of the URL's host, up to most.
func (x *explainer) hostPages(ctx context.Context, most int64) (int64, error) {
	var n int64
	q := store.Query{Job: x.Job.ID, Host: x.URL.Host(), Max: store.MaxPage}
	for {
		page, err := x.Store.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Entries {
			if page.Entries[i].Outcome.Page() {
				n++
			}
		}
		if q.After = page.Next; q.After == "" || n >= most {
			return n, nil
		}
	}
}
