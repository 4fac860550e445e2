package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Limits of the plan of a dry run.
const (
	maxPlanHosts    = 200     // listed
	maxPlanURLs     = 100_000 // URLs read; further ones are assumed to be distributed similarity
	maxPlanSitemaps = 500     // per host
	maxPlanPrefixes = 1000    // distinct prefixes counted per host
	planPrefixes    = 20      // of these, the largest that are listed
)

// Plan estimates a crawl from the results of its dry run. If that has not ended, the
// plan contains what is known so far.
func (c *Crawl) Plan(ctx context.Context, now time.Time) (Plan, error) {
	r := &planReader{Crawl: c, now: now, hosts: map[string]*hostFindings{}}
	_, seeds, err := c.Spec.rules()
	if err != nil {
		return Plan{}, err
	}
	for _, u := range seeds {
		if h := r.findings(u); h != nil && h.seed.IsZero() {
			h.seed = u
		}
	}
	if err := r.readURLs(ctx); err != nil {
		return Plan{}, err
	}
	counts, err := c.Store.Counts(ctx, c.Job.ID)
	if err != nil {
		return Plan{}, err
	}
	outside := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}]
	f := PlanFacts{
		Limits: PlanLimits(c.Job.Limits()), Links: c.Spec.Sitemaps != "only", Sitemaps: c.Spec.Sitemaps != "off",
		NotAsked: r.beyond, Outside: outside, Dry: true, Unlooked: max(counts.Seen()-outside-r.looked, 0),
	}
	for _, name := range slices.Sorted(maps.Keys(r.hosts)) {
		h, err := r.planHost(ctx, name, r.hosts[name])
		if err != nil {
			return Plan{}, err
		}
		if f.Unlooked > 0 {
			h.Pages += int64(float64(h.Pages) / float64(r.looked) * float64(f.Unlooked))
		}
		f.Hosts = append(f.Hosts, h)
	}
	p := MakePlan(f)
	points, err := c.Store.Points(ctx, c.Job.ID)
	for i := range points {
		p.Sent += int(points[i].Requests)
	}
	return p, err
}

// PlanLimits returns the limits of a job as plain data.
func PlanLimits(e limit.Effective) []ask.Limit {
	var list []ask.Limit
	for _, l := range e.Ceilings() {
		a := ask.Limit{Name: string(l.Limit), Layer: string(l.Layer)}
		a.Max, a.Unit = l.Limit.InUnits(l.Max)
		list = append(list, a)
	}
	return list
}

// planReader collects the results of a dry run.
type planReader struct {
	*Crawl
	now    time.Time
	hosts  map[string]*hostFindings
	beyond int   // seeds and URLs of hosts that are not listed
	looked int64 // URLs read
}

// hostFindings is what was found on one host.
type hostFindings struct {
	seed     weburl.URL // the first one, or the first URL
	domain   string
	pages    int64
	counts   map[visit.Reason]int64 // those that ended otherwise
	sitemaps map[weburl.URL]int     // with the number of URLs they list
	prefixes map[string]int64
}

// findings returns what was found on a host; nil for a host that is not listed.
func (r *planReader) findings(u weburl.URL) *hostFindings {
	name := u.Host()
	h := r.hosts[name]
	if h == nil && len(r.hosts) == maxPlanHosts {
		r.beyond++
		return nil
	}
	if h == nil {
		h = &hostFindings{domain: u.Domain(), counts: map[visit.Reason]int64{}, sitemaps: map[weburl.URL]int{}, prefixes: map[string]int64{}}
		r.hosts[name] = h
	}
	return h
}

// readURLs reads the URLs of the job.
func (r *planReader) readURLs(ctx context.Context) error {
	q := store.Query{Job: r.Job.ID, Max: store.MaxPage}
	for r.looked < maxPlanURLs {
		page, err := r.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			r.looked++
			if h := r.findings(page.Entries[i].Item.URL); h != nil {
				h.add(&page.Entries[i])
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	return nil
}

// add counts one URL.
func (f *hostFindings) add(e *store.Entry) {
	u, via := e.Item.URL, e.Item.Via
	if f.seed.IsZero() {
		f.seed = u
	}
	if _, known := f.sitemaps[via]; e.Item.Found == visit.FoundSitemap && (known || len(f.sitemaps) < maxPlanSitemaps) {
		f.sitemaps[via]++
	}
	switch {
	case e.Outcome == visit.Pending, e.Outcome == visit.Deferred && e.Visit != nil:
		f.pages++
		if p := prefixOf(u); f.prefixes[p] > 0 || len(f.prefixes) < maxPlanPrefixes {
			f.prefixes[p]++
		}
	default:
		f.counts[cmp.Or(e.Reason, visit.Reason(e.Outcome))]++
	}
}

// prefixOf returns the first part of a path: /shop/ for /shop/shoes/1.
func prefixOf(u weburl.URL) string {
	path := strings.TrimPrefix(u.Path(), "/")
	if first, _, more := strings.Cut(path, "/"); more {
		return "/" + first + "/"
	}
	return "/"
}

// planHost combines what was found on a host with what is stored about it.
func (r *planReader) planHost(ctx context.Context, name string, f *hostFindings) (PlanHost, error) {
	stored, err := r.Store.Host(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return PlanHost{}, err
	}
	state := politeness.New(name)
	if len(stored.Politeness) > 0 {
		if err := state.UnmarshalBinary(stored.Politeness); err != nil {
			return PlanHost{}, fmt.Errorf("state of %s: %w", name, err)
		}
	}
	policy := r.Policy(name)
	h := PlanHost{Host: name, Domain: f.domain, Pages: f.pages, Disallowed: f.counts[visit.RobotsDisallow], Outside: f.counts[visit.Excluded]}
	h.Treat(policy, state, r.now)
	h.Remembered = state.Learned() > 0
	for _, at := range slices.SortedFunc(maps.Keys(f.sitemaps), func(a, b weburl.URL) int { return cmp.Compare(a.String(), b.String()) }) {
		h.Sitemaps = append(h.Sitemaps, PlanSitemap{URL: visit.Redact(at), Entries: f.sitemaps[at]})
		h.Listed += int64(f.sitemaps[at])
	}
	for _, p := range slices.SortedFunc(maps.Keys(f.prefixes), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.prefixes[b], f.prefixes[a]), cmp.Compare(a, b))
	}) {
		if len(h.Prefixes) < planPrefixes {
			h.Prefixes = append(h.Prefixes, PlanPrefix{Prefix: p, URLs: f.prefixes[p]})
		}
	}
	if err := r.addRobots(ctx, &h, stored.Robots, f.seed); err != nil {
		return PlanHost{}, err
	}
	h.Blocked, h.Failed = f.stopped(&h, state)
	return h, nil
}

// Treat sets the pace of a host from the policy and what was learned about it.
func (h *PlanHost) Treat(p politeness.Policy, s politeness.State, now time.Time) {
	stands := ask.HostOf(h.Host, p, s)
	h.Pace, h.Source, h.InFlight, h.Robots.CrawlDelay = stands.Pace, stands.Source, p.InFlight, stands.CrawlDelay
	// Including the average of the random part.
	d := max(p.Pace(s), p.Base+p.Spread/2)
	h.Interval = ask.Seconds(d + d*time.Duration(p.Jitter)/200)
	if h.Robots.CrawlDelay > 0 {
		h.InFlight = 1
	}
	if held := s.HeldUntil(); held.After(now) {
		h.HeldUntil = held
	}
}

// addRobots adds what the stored robots.txt of a host says about its seed.
func (r *planReader) addRobots(ctx context.Context, h *PlanHost, stored []byte, seed weburl.URL) error {
	var state robots.State
	if len(stored) == 0 {
		h.Robots.Reason = string(robots.Unknown)
		return nil
	}
	if err := state.UnmarshalBinary(stored); err != nil {
		return fmt.Errorf("robots state of %s: %w", h.Host, err)
	}
	verdict := robots.Policy{AllowUnreachable: r.Spec.Policy.AllowUnreachableRobots}.Verdict(state, r.now)
	var rules *robots.Rules
	if state.Known == robots.Copy {
		version, err := r.Store.Robots(ctx, state.Sum)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		file := robots.Parse(version.Body)
		rules = file.For(r.Spec.agent())
		for name := range file.Sitemaps() {
			if len(h.Robots.Sitemaps) < maxPlanSitemaps {
				h.Robots.Sitemaps = append(h.Robots.Sitemaps, name)
			}
		}
	}
	d := verdict.Decide(rules, seed)
	h.Robots.Seed, h.Robots.Reason, h.Robots.Rule, h.Robots.Line, h.Robots.Access = d.Allowed, string(d.Reason), d.Rule, d.Line, string(verdict.Access)
	return nil
}

// stopped says why nothing would be fetched from a host.
func (f *hostFindings) stopped(h *PlanHost, s politeness.State) (blocked, failure string) {
	switch {
	case s.Paused():
		return "paused by an operator", ""
	case f.pages > 0:
		return "", ""
	case f.counts[visit.OptedOut] > 0:
		return "the host is on the opt-out list", ""
	case f.counts[visit.CrawlDelayTooLong] > 0:
		return fmt.Sprintf("robots.txt sets a Crawl-delay above the maximum of %v", robots.MaxDelay), ""
	case f.counts[visit.RobotsUnreachable] > 0:
		return "robots.txt is unreachable, so nothing is fetched", ""
	case h.Disallowed > 0:
		return fmt.Sprintf("robots.txt disallows the seed, line %d: %s", h.Robots.Line, h.Robots.Rule), ""
	}
	for _, reason := range slices.Sorted(maps.Keys(f.counts)) {
		return "", "nothing could be requested: " + string(reason)
	}
	return "", "nothing found so far"
}
