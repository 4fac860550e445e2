package survey

import (
	"context"
	"errors"
	"slices"
	"time"

	"headway/fetch"
	"headway/internal/borrow"
	"headway/internal/exchange"
	"headway/internal/pace"
	"headway/parse"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/visitor"
	"headway/weburl"
)

// hostSurvey surveys one host.
type hostSurvey struct {
	Host
	*surveyRun
	home     weburl.URL
	secrets  fetch.Secrets
	before   store.Host // as it was stored
	verdict  robots.Verdict
	rules    *robots.Rules
	interval politeness.Interval // of the domain
	other    weburl.URL          // another host to survey
	samples  []weburl.URL        // pages that sitemaps list
	seen     int64               // pages considered as samples
}

// begin loads the stored state of the host.
func (l *hostSurvey) begin(d *borrow.Domain) {
	l.home = l.Seed
	if home, err := l.Seed.Resolve("/"); err == nil {
		l.home = home
	}
	l.Owned = l.cfg.Owned(l.home)
	for _, s := range l.cfg.Secrets {
		if s.Host() == l.Host.Host {
			l.secrets = s
		}
	}
	l.choosePolicy()
	l.State = politeness.New(l.Host.Host)
	l.before = store.Host{Host: l.Host.Host}
	for _, h := range d.Hosts {
		if h.Host == l.Host.Host && l.State.UnmarshalBinary(h.Politeness) == nil {
			l.before, l.Known = h, true
		}
	}
	if d.Unclean {
		l.State = l.Policy.Resume(l.State, time.Now())
	}
}

// choosePolicy chooses the policy.
func (l *hostSurvey) choosePolicy() {
	l.Policy = l.cfg.Strangers
	if p := l.cfg.Policy; p.ForPublicHosts() || l.Owned {
		l.Policy = p
	}
}

// stored returns the host in its stored form, for other crawls.
func (l *hostSurvey) stored() (store.Host, error) {
	h := l.before
	if err := pace.Write(&h, l.State, pace.Of(&l.before)); err != nil {
		return h, err
	}
	return h, nil
}

// next returns another host to survey: the target of a redirected seed, or the other scheme
// of a host that cannot be connected to.
func (l *hostSurvey) next() (weburl.URL, bool) { return l.other, !l.other.IsZero() }

// run fetches robots.txt, sitemaps and pages.
func (l *hostSurvey) run(ctx context.Context) error {
	if l.cfg.OptedOut(l.Seed) {
		return nil
	}
	if err := l.fetchRobots(ctx); err != nil || l.stop() {
		return err
	}
	if err := l.fetchSitemaps(ctx); err != nil || l.stop() {
		return err
	}
	if l.allows(l.Seed) && l.fresh(l.Seed) {
		l.Pages[l.Host.Host]++
	}
	return l.fetchPages(ctx)
}

// stop reports whether to send no further requests to the host.
func (l *hostSurvey) stop() bool {
	return !l.Held.IsZero() || l.verdict.Access == robots.AccessNone || l.State.Refusing()
}

// waitTurn waits for the interval of the host and of its domain. It is not ok for a host
// that is paused or on a long hold.
func (l *hostSurvey) waitTurn(ctx context.Context, what string) (ok bool, err error) {
	now := time.Now()
	if until := l.State.HeldUntil(); l.State.Paused() || until.Sub(now) > patience {
		l.Held = until
		if l.State.Paused() {
			l.Held = now
		}
		return false, nil
	}
	l.mu.Lock()
	l.report(l.Host.Host, what)
	l.mu.Unlock()
	if err := exchange.WaitTurn(ctx, l.Policy, l.State); err != nil {
		return false, err
	}
	if w := l.interval.Admit(time.Now(), l.Policy.DomainGap(l.State), politeness.DomainInterval); !w.Go() {
		select {
		case <-time.After(time.Until(w.Until)):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// observe learns from the response to a request sent at the given time; zero if it was not
// sent.
func (l *hostSurvey) observe(x *exchange.Answer, sent time.Time) {
	if sent.IsZero() {
		return
	}
	l.Requests++
	l.interval = l.interval.Sent(sent)
	l.State = l.Policy.Sent(l.State, sent)
	now := time.Now().UTC()
	a := x.Polite()
	a.SentAt = sent
	l.State, _ = l.Policy.Observe(l.State, now, a)
	if x.Owned && !l.Owned {
		l.Owned = true
		l.choosePolicy()
	}
}

func (l *hostSurvey) requester() *exchange.Requester {
	return &exchange.Requester{Fetcher: l.cfg.Fetcher, Agent: l.cfg.Agent}
}

func (l *hostSurvey) target() exchange.Host {
	return exchange.Host{Home: l.home, Owned: l.Owned, Secrets: l.secrets}
}

// fetchRobots fetches and parses robots.txt.
func (l *hostSurvey) fetchRobots(ctx context.Context) error {
	if l.cfg.IgnoreRobots && l.Owned {
		l.Robots.Ignored = true
		l.Robots.Decision = robots.Decision{Allowed: true, Reason: robots.Ignored}
		l.verdict = robots.Verdict{Access: robots.AccessAll, Reason: robots.Ignored}
		return nil
	}
	if ok, err := l.waitTurn(ctx, "robots.txt"); !ok {
		return err
	}
	r := l.requester().Robots(ctx, l.target(), robots.State{}, l.cfg.RobotsTimeout)
	defer r.Close()
	if r.LocalErr != nil {
		return r.LocalErr
	}
	if r.Sent() {
		// With redirects it is several requests: the interval counts from the last.
		l.observe(&r.Answer, r.At)
		l.Requests += len(r.Hops) - 1
	}
	if r.File != nil {
		l.rules = r.File.For(l.cfg.Agent)
		l.Names = exchange.SitemapsOf(r.File)
	}
	l.Robots = visitor.RobotsLook{URL: r.URL, Hops: r.Hops, Sent: r.Timing.Sent, Status: r.Status, Err: r.Err}
	if failure, ok := errors.AsType[*fetch.Error](r.Err); ok && !r.Sent() {
		if other, has := l.cfg.Fallback[l.Host.Host]; has && (failure.Phase == fetch.PhaseConnect || failure.Phase == fetch.PhaseTLS) {
			l.other, l.Moved = other, other.Host()
		}
	}
	state := l.cfg.Robots.Observe(robots.State{}, r.At, r.Says)
	l.verdict = l.cfg.Robots.Verdict(state, r.At)
	l.Robots.Access, l.Robots.Until = l.verdict.Access, l.verdict.Until
	l.Robots.Decision = l.verdict.Decide(l.rules, l.Seed)
	if d := l.Robots.Decision; d.Delayed && d.Delay <= robots.MaxDelay {
		l.State = l.State.WithCrawlDelay(d.Delay)
	}
	return nil
}

// allows checks a URL of the host against robots.txt.
func (l *hostSurvey) allows(u weburl.URL) bool { return l.verdict.Decide(l.rules, u).Allowed }

// fetchSitemaps reads the sitemaps of the host and counts their entries.
func (l *hostSurvey) fetchSitemaps(ctx context.Context) error {
	if !l.cfg.Sitemaps {
		return nil
	}
	type sitemap struct {
		at     weburl.URL
		nested int
	}
	var queue []sitemap
	known := map[weburl.URL]bool{}
	want := func(u weburl.URL, nested int) {
		if known[u] || len(known) >= exchange.MaxSitemaps || nested >= exchange.MaxNested || u.Host() != l.Host.Host && !l.scope.DecideSeed(u).In {
			return
		}
		known[u] = true
		queue = append(queue, sitemap{u, nested})
	}
	names := l.Names
	if len(names) == 0 {
		names = []string{"/sitemap.xml"}
	}
	for _, name := range names {
		if u, err := l.home.Resolve(name); err == nil {
			want(u, 0)
		}
	}
	for len(queue) > 0 && len(l.Sitemaps) < MaxSitemaps && !l.stop() {
		s := queue[0]
		queue = queue[1:]
		// Other hosts have their own pace; a crawl would read these too.
		if s.at.Host() != l.Host.Host || !l.allows(s.at) {
			l.Unread++
			continue
		}
		more, err := l.fetchSitemap(ctx, s.at)
		if err != nil {
			return err
		}
		for _, u := range more {
			want(u, s.nested+1)
		}
	}
	l.Unread += len(queue)
	return nil
}

// fetchSitemap reads one sitemap, and returns those that an index lists.
func (l *hostSurvey) fetchSitemap(ctx context.Context, at weburl.URL) (more []weburl.URL, err error) {
	if ok, err := l.waitTurn(ctx, at.Path()); !ok {
		return nil, err
	}
	s := l.requester().Sitemap(ctx, l.target(), at)
	defer s.Close()
	if s.LocalErr != nil {
		return nil, s.LocalErr
	}
	l.observe(&s.Answer, s.Timing.Sent)
	look := Sitemap{URL: visit.Redact(at), Status: s.Status}
	defer func() { l.Sitemaps = append(l.Sitemaps, look) }()
	switch {
	case s.Err != nil:
		look.Err = s.Err.Error()
		return nil, nil
	case s.Moved:
		return []weburl.URL{s.To}, nil
	case !s.Success():
		return nil, nil
	}
	more, report, err := s.Read(at, func(e parse.Entry) bool {
		l.entry(e.URL)
		return true
	})
	if err != nil {
		look.Err = err.Error()
	}
	look.Form, look.Entries = string(report.Form), report.Entries
	return more, nil
}

// entry counts one page of a sitemap.
func (l *hostSurvey) entry(u weburl.URL) {
	l.Listed++
	switch {
	case !l.scope.Decide(u, 1).In, l.cfg.OptedOut(u):
		l.Outside++
	case u.Host() == l.Host.Host && !l.allows(u):
		l.Disallowed++
	case !l.fresh(u):
		l.Repeated++
	default:
		l.Pages[u.Host()]++
		// Samples are kept at powers of two, so that the last few are far apart.
		if l.seen++; u.Host() == l.Host.Host && l.seen&(l.seen-1) == 0 {
			l.samples = append(l.samples, u.Clone())
		}
	}
}

// fresh reports whether a URL was not listed before, up to maxMarks.
func (l *hostSurvey) fresh(u weburl.URL) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := u.Fingerprint128(weburl.Key{})
	if _, ok := l.marks[m]; ok {
		return false
	}
	if len(l.marks) < maxMarks {
		l.marks[m] = struct{}{}
	}
	return true
}

// fetchPages fetches the seed and a few others.
func (l *hostSurvey) fetchPages(ctx context.Context) error {
	pages := []weburl.URL{l.Seed}
	for _, u := range slices.Backward(l.samples) {
		if len(pages) < maxPages && !slices.Contains(pages, u) {
			pages = append(pages, u)
		}
	}
	for i := 0; i < len(pages) && i < maxPages+1 && !l.stop(); i++ {
		u := pages[i]
		if !l.allows(u) {
			continue
		}
		v, err := l.fetchPage(ctx, u)
		if err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if to := v.Answer.Location; v.Outcome == visit.Redirected && !to.IsZero() {
			l.scope.Widen(u, to)
			switch {
			case to.Host() == l.Host.Host:
				pages = slices.Insert(pages, 1, to)
			case l.scope.DecideSeed(to).In:
				l.other, l.Moved = to, to.Host()
			default:
				l.Moved, l.Left = to.Host(), true
			}
		}
		l.countLinks(v)
	}
	return nil
}

// countLinks counts the pages that the seed links to.
func (l *hostSurvey) countLinks(v *visit.Visit) {
	known := map[weburl.URL]bool{}
	for _, link := range v.Links {
		u := link.URL
		if known[u] || link.Nofollow || v.Outcome != visit.Fetched || !l.scope.Decide(u, 1).In || u.Host() == l.Host.Host && !l.allows(u) {
			continue
		}
		known[u] = true
		l.Links++
		l.mu.Lock()
		if _, listed := l.marks[u.Fingerprint128(weburl.Key{})]; !listed && u != l.Seed {
			l.Unlisted++
		}
		l.mu.Unlock()
	}
}

// fetchPage fetches and parses one page.
func (l *hostSurvey) fetchPage(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
	v := &visit.Visit{Item: visit.Item{URL: u, Found: visit.FoundSeed}}
	if ok, err := l.waitTurn(ctx, u.Path()); !ok {
		return v, err
	}
	page := l.requester().Page(ctx, exchange.PageRequest(v.Item, l.target()), v)
	defer page.Close()
	if page.LocalErr != nil {
		return v, page.LocalErr
	}
	l.observe(page, page.Timing.Sent)
	l.Looks = append(l.Looks, Page{
		URL: visit.Redact(u), Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Status: page.Status, Took: page.Timing.Total, Bytes: page.WireBytes,
	})
	return v, nil
}
