package headway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/fetch"
	"headway/parse"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// lookout looks at one host.
type lookout struct {
	Survey
	*survey
	home     weburl.URL
	secrets  fetch.Secrets
	before   store.Host // as it was stored
	verdict  robots.Verdict
	rules    *robots.Rules
	interval politeness.Interval // of the domain
	other    weburl.URL          // where to look further
	samples  []weburl.URL        // pages that sitemaps list
	seen     int64               // pages that were considered for it
}

// begin takes up what is known of the host.
func (l *lookout) begin(claim store.Claim, unclean bool) {
	l.home = l.Seed
	if home, err := l.Seed.Resolve("/"); err == nil {
		l.home = home
	}
	l.Owned = l.cfg.Owned(l.home)
	for _, s := range l.cfg.Secrets {
		if s.Host() == l.Host {
			l.secrets = s
		}
	}
	l.treat()
	l.State = politeness.New(l.Host)
	l.before = store.Host{Host: l.Host}
	for _, h := range claim.Hosts {
		if h.Host == l.Host && l.State.UnmarshalBinary(h.Politeness) == nil {
			l.before, l.Known = h, true
		}
	}
	if unclean {
		l.State = l.Policy.Resume(l.State, time.Now())
	}
}

// treat chooses the policy.
func (l *lookout) treat() {
	l.Policy = l.cfg.Strangers
	if p := l.cfg.Policy; p.ForStrangers() || l.Owned {
		l.Policy = p
	}
}

// stored is the host as it is kept for other crawls.
func (l *lookout) stored() (store.Host, error) {
	h := l.before
	var err error
	if h.Politeness, err = l.State.MarshalBinary(); err != nil {
		return h, fmt.Errorf("encode the state of %s: %w", l.Host, err)
	}
	learned(&h, l.State, paceOf(&l.before))
	return h, nil
}

// next is another host to look at: the one that the seed has moved to, or the
// other scheme of one that nobody answers at.
func (l *lookout) next() (weburl.URL, bool) { return l.other, !l.other.IsZero() }

// look asks what there is to ask.
func (l *lookout) look(ctx context.Context) error {
	if l.cfg.OptedOut(l.Seed) {
		return nil
	}
	if err := l.askRobots(ctx); err != nil || l.stop() {
		return err
	}
	if err := l.askSitemaps(ctx); err != nil || l.stop() {
		return err
	}
	if l.allows(l.Seed) && l.fresh(l.Seed) {
		l.Pages[l.Host]++
	}
	return l.askPages(ctx)
}

// stop tells whether the host is not to be asked further.
func (l *lookout) stop() bool {
	return !l.Held.IsZero() || l.verdict.Access == robots.AccessNone || l.State.Refusing()
}

// turn waits for the host's turn and that of its domain. It is not ok for a host
// that wants to be left alone for long.
func (l *lookout) turn(ctx context.Context, what string) (ok bool, err error) {
	now := time.Now()
	if until := l.State.HeldUntil(); l.State.Paused() || until.Sub(now) > surveyPatient {
		l.Held = until
		if l.State.Paused() {
			l.Held = now
		}
		return false, nil
	}
	l.mu.Lock()
	l.tell(l.Host, what)
	l.mu.Unlock()
	if err := waitTurn(ctx, l.Policy, l.State); err != nil {
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

// took learns how the host bore a request.
func (l *lookout) took(res *fetch.Result, err error, challenge bool, sent time.Time) {
	if sent.IsZero() {
		return
	}
	l.Requests++
	l.interval = l.interval.Sent(sent)
	l.State = l.Policy.Sent(l.State, sent)
	now := time.Now().UTC()
	a := politeAnswer(res, err, challenge, now)
	a.SentAt = sent
	l.State, _ = l.Policy.Observe(l.State, now, a)
	if res.Owned && !l.Owned {
		l.Owned = true
		l.treat()
	}
}

// askRobots fetches and reads robots.txt.
func (l *lookout) askRobots(ctx context.Context) error {
	if l.cfg.IgnoreRobots && l.Owned {
		l.Robots.Ignored = true
		l.Robots.Decision = robots.Decision{Allowed: true, Reason: robots.Ignored}
		l.verdict = robots.Verdict{Access: robots.AccessAll, Reason: robots.Ignored}
		return nil
	}
	at, err := robotsURL(l.home)
	if err != nil {
		return fmt.Errorf("robots.txt of %s: %w", l.Host, err)
	}
	if ok, err := l.turn(ctx, "robots.txt"); !ok {
		return err
	}
	res, hops, err := l.cfg.Fetcher.Robots(ctx, fetch.Request{URL: at, Owned: l.Owned, Secrets: l.secrets, Timeout: l.cfg.RobotsTimeout})
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	if own := ownError(ctx, err); own != nil {
		return own
	}
	now := time.Now().UTC()
	if !res.Timing.Sent.IsZero() {
		// Redirects make it several requests: the interval counts from the last.
		l.took(res, err, false, now)
		l.Requests += len(hops) - 1
	}
	var file *robots.File
	if err == nil && res.Status >= 200 && res.Status < 300 {
		file = robots.Parse(res.Body)
		l.rules = file.For(l.cfg.Agent)
		l.Names = sitemapsOf(file)
	}
	l.Robots = RobotsLook{URL: at, Hops: hops, Sent: res.Timing.Sent, Status: res.Status, Err: err}
	if failure, ok := errors.AsType[*fetch.Error](err); ok && res.Timing.Sent.IsZero() {
		if other, has := l.cfg.Fallback[l.Host]; has && (failure.Phase == fetch.PhaseConnect || failure.Phase == fetch.PhaseTLS) {
			l.other, l.Moved = other, other.Host()
		}
	}
	state := l.cfg.Robots.Observe(robots.State{}, now, robotsAnswer(res, err, file, now))
	l.verdict = l.cfg.Robots.Verdict(state, now)
	l.Robots.Access, l.Robots.Until = l.verdict.Access, l.verdict.Until
	l.Robots.Decision = l.verdict.Decide(l.rules, l.Seed)
	if d := l.Robots.Decision; d.Delayed && d.Delay <= robots.MaxDelay {
		l.State = l.State.WithCrawlDelay(d.Delay)
	}
	return nil
}

// allows asks robots.txt about a URL of the host.
func (l *lookout) allows(u weburl.URL) bool { return l.verdict.Decide(l.rules, u).Allowed }

// askSitemaps reads the sitemaps of the host and counts what they list.
func (l *lookout) askSitemaps(ctx context.Context) error {
	if l.cfg.Sitemaps == SitemapsOff {
		return nil
	}
	type sitemap struct {
		at     weburl.URL
		nested int
	}
	var queue []sitemap
	known := map[weburl.URL]bool{}
	want := func(u weburl.URL, nested int) {
		if known[u] || len(known) >= maxSitemaps || nested >= maxNested || u.Host() != l.Host && !l.scope.DecideSeed(u).In {
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
	for len(queue) > 0 && len(l.Sitemaps) < MaxSurveySitemaps && !l.stop() {
		s := queue[0]
		queue = queue[1:]
		// Other hosts have clocks of their own; a crawl would ask there too.
		if s.at.Host() != l.Host || !l.allows(s.at) {
			l.Unread++
			continue
		}
		more, err := l.askSitemap(ctx, s.at)
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

// askSitemap reads one, and returns what an index leads to.
func (l *lookout) askSitemap(ctx context.Context, at weburl.URL) (more []weburl.URL, err error) {
	if ok, err := l.turn(ctx, at.Path()); !ok {
		return nil, err
	}
	res, err := l.cfg.Fetcher.Do(ctx, fetch.Request{URL: at, Owned: l.Owned, Secrets: l.secrets, MaxBody: maxSitemapBody, CutBody: true})
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	if own := ownError(ctx, err); own != nil {
		return nil, own
	}
	l.took(res, err, false, res.Timing.Sent)
	look := SitemapLook{URL: visit.Redact(at), Status: res.Status}
	defer func() { l.Sitemaps = append(l.Sitemaps, look) }()
	if err != nil {
		look.Err = err.Error()
		return nil, nil
	}
	if target, moved := sitemapMoved(res, err); moved {
		return []weburl.URL{target}, nil
	}
	if res.Status < 200 || res.Status > 299 {
		return nil, nil
	}
	s := parse.NewSitemap(bytes.NewReader(res.Body), at, parse.SitemapOptions{Named: []weburl.URL{l.home}})
	for e := range s.Entries() {
		if e.Sitemap {
			if len(more) < maxSitemaps {
				more = append(more, e.URL.Clone())
			}
			continue
		}
		l.entry(e.URL)
	}
	if err := s.Err(); err != nil {
		look.Err = err.Error()
	}
	report := s.Report()
	look.Form, look.Entries = string(report.Form), report.Entries
	return more, nil
}

// entry counts one page that a sitemap lists.
func (l *lookout) entry(u weburl.URL) {
	l.Listed++
	switch {
	case !l.scope.Decide(u, 1).In, l.cfg.OptedOut(u):
		l.Outside++
	case u.Host() == l.Host && !l.allows(u):
		l.Disallowed++
	case !l.fresh(u):
		l.Repeated++
	default:
		l.Pages[u.Host()]++
		// Those at powers of two are kept: the last few lie far apart.
		if l.seen++; u.Host() == l.Host && l.seen&(l.seen-1) == 0 {
			l.samples = append(l.samples, u.Clone())
		}
	}
}

// fresh tells whether a URL was not listed before, as far as that is kept.
func (l *lookout) fresh(u weburl.URL) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := u.Fingerprint128(weburl.Key{})
	if _, ok := l.marks[m]; ok {
		return false
	}
	if len(l.marks) < surveyMarks {
		l.marks[m] = struct{}{}
	}
	return true
}

// askPages fetches the seed and a few others.
func (l *lookout) askPages(ctx context.Context) error {
	pages := []weburl.URL{l.Seed}
	for _, u := range slices.Backward(l.samples) {
		if len(pages) < surveyPages && !slices.Contains(pages, u) {
			pages = append(pages, u)
		}
	}
	for i := 0; i < len(pages) && i < surveyPages+1 && !l.stop(); i++ {
		u := pages[i]
		if !l.allows(u) {
			continue
		}
		v, err := l.askPage(ctx, u)
		if err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if to := v.Answer.Location; v.Outcome == visit.Redirected && !to.IsZero() {
			l.scope.Widen(u, to)
			switch {
			case to.Host() == l.Host:
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

// countLinks counts the pages that the seed leads to.
func (l *lookout) countLinks(v *visit.Visit) {
	known := map[weburl.URL]bool{}
	for _, link := range v.Links {
		u := link.URL
		if known[u] || link.Nofollow || v.Outcome != visit.Fetched || !l.scope.Decide(u, 1).In || u.Host() == l.Host && !l.allows(u) {
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

// askPage fetches and reads one page.
func (l *lookout) askPage(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
	v := &visit.Visit{Item: visit.Item{URL: u, Found: visit.FoundSeed}}
	if ok, err := l.turn(ctx, u.Path()); !ok {
		return v, err
	}
	res, err := l.cfg.Fetcher.Do(ctx, pageRequest(v.Item, l.Owned, l.secrets))
	defer res.Close() //nolint:staticcheck // a result is there beside an error too, and must be closed
	if own := ownError(ctx, err); own != nil {
		return v, own
	}
	r := reading{res: res, err: err, agent: l.cfg.Agent, at: time.Now().UTC()}
	if err == nil {
		r.page, r.parseErr = parse.Read(parse.Answer{URL: res.URL, Status: res.Status, Header: res.Header, Body: res.Body}, parse.Options{Agent: l.cfg.Agent})
	}
	record(v, r)
	l.took(res, err, !r.page.Challenge.IsZero(), res.Timing.Sent)
	l.Looks = append(l.Looks, PageLook{
		URL: visit.Redact(u), Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Status: res.Status, Took: res.Timing.Total, Bytes: res.WireBytes,
	})
	return v, nil
}
