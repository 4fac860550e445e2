// Package survey examines hosts before a crawl: robots.txt, sitemaps and a few pages.
package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"headway/fetch"
	"headway/internal/borrow"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/visitor"
	"headway/weburl"
)

// Bounds of a survey.
const (
	// MaxHosts is how many hosts are surveyed.
	MaxHosts = 50
	// MaxSitemaps is how many sitemaps of a host are read.
	MaxSitemaps = 20

	atOnce   = 7           // concurrent domains: fewer than may share an address
	maxPages = 3           // pages per host: the seed, and samples of response time and size
	maxMarks = 1_000_000   // URLs checked for repeats
	patience = time.Minute // hosts on a longer hold are not contacted
)

// Host is the result for one host.
type Host struct {
	Host   string
	Seed   weburl.URL
	Owned  bool
	Policy politeness.Policy // the policy that a crawl would use
	State  politeness.State  // known state, including this survey
	Known  bool              // it was known before

	// Taken says that another crawl owns the domain, Held until when the host is on hold:
	// few or no requests were sent.
	Taken bool
	Held  time.Time

	Robots   visitor.RobotsLook
	Names    []string // sitemaps named in robots.txt
	Sitemaps []Sitemap
	Unread   int // sitemaps that were not read

	Listed     int64            // entries of the sitemaps
	Pages      map[string]int64 // entries that would be fetched, each once, by host
	Disallowed int64            // entries that robots.txt forbids
	Outside    int64            // entries out of scope or excluded
	Repeated   int64            // repeated entries

	Looks    []Page
	Links    int    // pages in scope that the seed links to
	Unlisted int    // of them, those not in a sitemap
	Moved    string // the host that the seed redirects to
	Left     bool   // that host is out of scope
	Requests int    // that were sent
}

// Sitemap is a sitemap that was read.
type Sitemap struct {
	URL     string
	Status  int
	Err     string
	Form    string
	Entries int
}

// Page is a page that was fetched.
type Page struct {
	URL     string
	Outcome visit.Outcome
	Reason  visit.Reason
	Detail  string
	Status  int
	Took    time.Duration
	Bytes   int64
}

// Config describes a crawl for the survey of its hosts.
type Config struct {
	Store         store.Store // stores what is learned, if it shares hosts with other crawls
	Fetcher       fetch.Fetcher
	Agent         string // our product token in robots.txt
	Seeds         []weburl.URL
	Fallback      map[string]weburl.URL // alternative seeds of hosts that cannot be connected to
	Scope         scope.Config
	Sitemaps      bool              // read sitemaps
	Policy        politeness.Policy // for owned hosts, and for all if it is suitable
	Strangers     politeness.Policy // for other hosts
	Robots        robots.Policy
	RobotsTimeout time.Duration
	IgnoreRobots  bool // on owned hosts
	Owned         func(weburl.URL) bool
	OptedOut      func(weburl.URL) bool
	Secrets       []fetch.Secrets
}

// Take surveys the hosts of the seeds as a crawl would: robots.txt, sitemaps, the seed
// itself and one or two pages from the sitemaps, at each host's pace. Hosts beyond
// [MaxHosts] are left out. If the store shares hosts with other crawls, their state is used
// and updated. Report, if not nil, is called before each request.
//
// Pages are not stored. The error is a local one; errors of hosts are in the result.
func Take(ctx context.Context, cfg Config, report func(host, what string)) ([]*Host, error) {
	rules, err := scope.New(cfg.Scope)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	if report == nil {
		report = func(string, string) {}
	}
	t := &surveyRun{cfg: cfg, scope: rules, report: report, marks: map[weburl.Fingerprint128]struct{}{}}
	return t.run(ctx)
}

// surveyRun is a survey in progress.
type surveyRun struct {
	cfg   Config
	scope *scope.Rules

	mu     sync.Mutex
	report func(host, what string)
	marks  map[weburl.Fingerprint128]struct{} // URLs that were listed
	list   []*Host
	errs   []error
}

// run surveys the domains, a few at a time.
func (t *surveyRun) run(ctx context.Context) ([]*Host, error) {
	var domains []string
	seeds := map[string][]weburl.URL{} // by domain, one for each host
	known := map[string]bool{}
	for _, u := range t.cfg.Seeds {
		if known[u.Host()] || len(known) == MaxHosts {
			continue
		}
		known[u.Host()] = true
		if seeds[u.Domain()] == nil {
			domains = append(domains, u.Domain())
		}
		seeds[u.Domain()] = append(seeds[u.Domain()], u)
	}
	places := make(chan struct{}, atOnce)
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
	slices.SortStableFunc(t.list, func(a, b *Host) int { return order[a.Host] - order[b.Host] })
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return t.list, errors.Join(t.errs...)
}

// domain surveys the hosts of a domain one after the other, including those that its seeds
// redirect to.
func (t *surveyRun) domain(ctx context.Context, domain string, seeds []weburl.URL) (err error) {
	d, err := borrow.Take(ctx, t.cfg.Store, domain, t.cfg.Strangers)
	switch {
	case errors.Is(err, borrow.ErrTaken):
		for _, u := range seeds {
			t.add(&Host{Host: u.Host(), Seed: u, Taken: true})
		}
		return nil
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, d.Return(ctx)) }()
	var interval politeness.Interval
	done := map[string]bool{}
	for len(seeds) > 0 {
		u := seeds[0]
		seeds = seeds[1:]
		if done[u.Host()] {
			continue
		}
		done[u.Host()] = true
		l := &hostSurvey{surveyRun: t, Host: Host{Host: u.Host(), Seed: u, Pages: map[string]int64{}}, interval: interval}
		l.begin(d)
		err := l.run(ctx)
		interval = l.interval
		s := l.Host
		t.add(&s)
		if h, encErr := l.stored(); encErr != nil {
			err = errors.Join(err, encErr)
		} else if l.Requests > 0 {
			d.Back[h.Host] = h
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

func (t *surveyRun) add(s *Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, s)
}
