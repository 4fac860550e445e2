package headway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"headway/limit"
	"headway/politeness"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Bounds of a survey.
const (
	// MaxSurveyed is how many hosts a survey looks at.
	MaxSurveyed = 50
	// MaxSurveySitemaps is how many sitemaps of a host are read.
	MaxSurveySitemaps = 20

	surveyAtOnce  = 7               // domains at a time: fewer than share an address
	surveyPages   = 3               // pages of a host: the seed, and others to learn what a page takes
	surveyMarks   = 1_000_000       // URLs that are told from repeats
	surveyPatient = time.Minute     // a host that wants to be left alone for longer is
	claimPatient  = 5 * time.Second // how long another crawl is waited for
)

// Survey is what a look at a host before a crawl told.
type Survey struct {
	Host   string
	Seed   weburl.URL
	Owned  bool
	Policy politeness.Policy // how it would be treated
	State  politeness.State  // what is known of it, this look included
	Known  bool              // something was known before

	// Taken says that another crawl has the domain, and Held that the host wants
	// to be left alone until then: little or nothing was asked.
	Taken bool
	Held  time.Time

	Robots   RobotsLook
	Names    []string // sitemaps that robots.txt names
	Sitemaps []SitemapLook
	Unread   int // sitemaps beyond those that are read

	Listed     int64            // entries of the sitemaps
	Pages      map[string]int64 // those that would be fetched, each once, by host
	Disallowed int64            // those that robots.txt forbids
	Outside    int64            // those that are out of scope or excluded
	Repeated   int64            // those that were listed before

	Looks    []PageLook
	Links    int    // pages in scope that the seed links to
	Unlisted int    // of them, those that no sitemap lists
	Moved    string // the host that the seed redirects to
	Left     bool   // which is out of scope
	Requests int    // that were sent
}

// SitemapLook is what a sitemap was.
type SitemapLook struct {
	URL     string
	Status  int
	Err     string
	Form    string
	Entries int
}

// PageLook is one page that was fetched.
type PageLook struct {
	URL     string
	Outcome visit.Outcome
	Reason  visit.Reason
	Detail  string
	Status  int
	Took    time.Duration
	Bytes   int64
}

// TakeSurvey looks at the hosts of the seeds as a crawl of cfg would meet them:
// robots.txt, sitemaps, the seed itself and one or two pages that sitemaps list,
// each in its host's turn. Hosts beyond [MaxSurveyed] are left out. Where the
// store shares hosts with other crawls, what was learned of them holds, and what
// this look learns is kept. Tell, if it is not nil, hears what is asked for.
//
// Nothing is stored of the pages. The error is our own trouble; what hosts do is
// in the surveys.
func TakeSurvey(ctx context.Context, cfg Config, tell func(host, what string)) ([]*Survey, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	cfg.Scope.Seeds = cfg.Seeds
	cfg.Scope.MaxDepth = int(cfg.Limits.Max(limit.Depth))
	rules, err := scope.New(cfg.Scope)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	if tell == nil {
		tell = func(string, string) {}
	}
	t := &survey{cfg: cfg, scope: rules, tell: tell, marks: map[weburl.Fingerprint128]struct{}{}}
	return t.run(ctx)
}

// survey is one that is being taken.
type survey struct {
	cfg   Config
	scope *scope.Rules

	mu    sync.Mutex
	tell  func(host, what string)
	marks map[weburl.Fingerprint128]struct{} // URLs that were listed
	list  []*Survey
	errs  []error
}

// run looks at the domains, a few at a time.
func (t *survey) run(ctx context.Context) ([]*Survey, error) {
	var domains []string
	seeds := map[string][]weburl.URL{} // of domains, one for each host
	known := map[string]bool{}
	for _, u := range t.cfg.Seeds {
		if known[u.Host()] || len(known) == MaxSurveyed {
			continue
		}
		known[u.Host()] = true
		if seeds[u.Domain()] == nil {
			domains = append(domains, u.Domain())
		}
		seeds[u.Domain()] = append(seeds[u.Domain()], u)
	}
	places := make(chan struct{}, surveyAtOnce)
	var wg sync.WaitGroup
	for _, d := range domains {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := t.domain(ctx, d, seeds[d]); err != nil {
				t.mu.Lock()
				t.errs = append(t.errs, err)
				t.mu.Unlock()
			}
		})
	}
	wg.Wait()
	order := map[string]int{}
	for i, u := range t.cfg.Seeds {
		if _, ok := order[u.Host()]; !ok {
			order[u.Host()] = i + 1
		}
	}
	slices.SortStableFunc(t.list, func(a, b *Survey) int { return order[a.Host] - order[b.Host] })
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return t.list, errors.Join(t.errs...)
}

// domain looks at the hosts of a domain, one after the other, and at those that
// its seeds have moved to.
func (t *survey) domain(ctx context.Context, domain string, seeds []weburl.URL) (err error) {
	claim, granted, err := t.claim(ctx, domain)
	if err != nil {
		return err
	}
	if !granted {
		for _, u := range seeds {
			t.add(&Survey{Host: u.Host(), Seed: u, Taken: true})
		}
		return nil
	}
	left, err := t.waiting(claim)
	if err != nil {
		return err
	}
	defer func() {
		if shared, ok := t.cfg.Store.(store.Domains); ok {
			err = errors.Join(err, shared.Yield(context.WithoutCancel(ctx), time.Now().UTC(), []string{domain}, slices.Collect(maps.Values(left))))
		}
	}()
	var interval politeness.Interval
	done := map[string]bool{}
	for len(seeds) > 0 {
		u := seeds[0]
		seeds = seeds[1:]
		if done[u.Host()] {
			continue
		}
		done[u.Host()] = true
		l := &lookout{survey: t, Survey: Survey{Host: u.Host(), Seed: u, Pages: map[string]int64{}}, interval: interval}
		l.begin(claim, slices.Contains(claim.Unclean, domain))
		err := l.look(ctx)
		interval = l.interval
		s := l.Survey
		t.add(&s)
		if h, encErr := l.stored(); encErr != nil {
			err = errors.Join(err, encErr)
		} else if l.Requests > 0 {
			left[h.Host] = h
		}
		if err != nil {
			return err
		}
		if other, ok := l.next(); ok && other.Domain() == domain {
			seeds = append(seeds, other)
		}
	}
	return nil
}

// waiting are the hosts of domains whose owner died, as they are handed on though
// nobody asks them: what was sent to them last is not known, so they wait their
// pace from now.
func (t *survey) waiting(claim store.Claim) (map[string]store.Host, error) {
	list := map[string]store.Host{}
	if len(claim.Unclean) == 0 {
		return list, nil
	}
	for _, h := range claim.Hosts {
		var state politeness.State
		if state.UnmarshalBinary(h.Politeness) != nil {
			state = politeness.New(h.Host) // what cannot be read is met anew
		}
		state = t.cfg.Strangers.Resume(state, time.Now())
		before := paceOf(&h)
		var err error
		if h.Politeness, err = state.MarshalBinary(); err != nil {
			return nil, fmt.Errorf("encode the state of %s: %w", h.Host, err)
		}
		learned(&h, state, before)
		list[h.Host] = h
	}
	return list, nil
}

func (t *survey) add(s *Survey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, s)
}

// claim takes a domain that may be shared with other crawls.
func (t *survey) claim(ctx context.Context, domain string) (store.Claim, bool, error) {
	shared, ok := t.cfg.Store.(store.Domains)
	if !ok {
		return store.Claim{}, true, nil
	}
	for began := time.Now(); ; {
		claim, err := shared.Claim(ctx, time.Now().UTC(), []string{domain})
		if err != nil {
			return claim, false, fmt.Errorf("claim %s: %w", domain, err)
		}
		if len(claim.Granted) > 0 {
			return claim, true, nil
		}
		if time.Since(began) > claimPatient {
			return claim, false, nil
		}
		select {
		case <-time.After(claimEvery):
		case <-ctx.Done():
			return claim, false, context.Cause(ctx)
		}
	}
}
