// Package survey looks at hosts before a crawl: robots.txt, sitemaps and a few pages.
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
	// MaxHosts is how many hosts are looked at.
	MaxHosts = 50
	// MaxSitemaps is how many sitemaps of a host are read.
	MaxSitemaps = 20

	atOnce   = 7           // domains at a time: fewer than share an address
	maxPages = 3           // pages of a host: the seed, and others to learn what a page takes
	maxMarks = 1_000_000   // URLs that are told from repeats
	patience = time.Minute // a host that wants to be left alone for longer is
)

// Host is what a look at a host told.
type Host struct {
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

	Robots   visitor.RobotsLook
	Names    []string // sitemaps that robots.txt names
	Sitemaps []Sitemap
	Unread   int // sitemaps beyond those that are read

	Listed     int64            // entries of the sitemaps
	Pages      map[string]int64 // those that would be fetched, each once, by host
	Disallowed int64            // those that robots.txt forbids
	Outside    int64            // those that are out of scope or excluded
	Repeated   int64            // those that were listed before

	Looks    []Page
	Links    int    // pages in scope that the seed links to
	Unlisted int    // of them, those that no sitemap lists
	Moved    string // the host that the seed redirects to
	Left     bool   // which is out of scope
	Requests int    // that were sent
}

// Sitemap is what a sitemap was.
type Sitemap struct {
	URL     string
	Status  int
	Err     string
	Form    string
	Entries int
}

// Page is one page that was fetched.
type Page struct {
	URL     string
	Outcome visit.Outcome
	Reason  visit.Reason
	Detail  string
	Status  int
	Took    time.Duration
	Bytes   int64
}

// Config is a crawl as far as a look at its hosts is concerned.
type Config struct {
	Store         store.Store // where it shares hosts with other crawls, what is learned of them is kept
	Fetcher       fetch.Fetcher
	Agent         string // our product token in robots.txt
	Seeds         []weburl.URL
	Fallback      map[string]weburl.URL // of hosts that cannot be connected to: where to look instead
	Scope         scope.Config
	Sitemaps      bool              // whether they are read
	Policy        politeness.Policy // for hosts that are the operator's, and all if it fits strangers
	Strangers     politeness.Policy // for others
	Robots        robots.Policy
	RobotsTimeout time.Duration
	IgnoreRobots  bool // on owned hosts
	Owned         func(weburl.URL) bool
	OptedOut      func(weburl.URL) bool
	Secrets       []fetch.Secrets
}

// Take looks at the hosts of the seeds as a crawl would meet them: robots.txt,
// sitemaps, the seed itself and one or two pages that sitemaps list, each in its
// host's turn. Hosts beyond [MaxHosts] are left out. Where the store shares hosts with
// other crawls, what was learned of them holds, and what this look learns is kept.
// Tell, if it is not nil, hears what is asked for.
//
// Nothing is stored of the pages. The error is our own trouble; what hosts do is
// in what is returned.
func Take(ctx context.Context, cfg Config, tell func(host, what string)) ([]*Host, error) {
	rules, err := scope.New(cfg.Scope)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	if tell == nil {
		tell = func(string, string) {}
	}
	t := &taking{cfg: cfg, scope: rules, tell: tell, marks: map[weburl.Fingerprint128]struct{}{}}
	return t.run(ctx)
}

// taking is a survey that is being taken.
type taking struct {
	cfg   Config
	scope *scope.Rules

	mu    sync.Mutex
	tell  func(host, what string)
	marks map[weburl.Fingerprint128]struct{} // URLs that were listed
	list  []*Host
	errs  []error
}

// run looks at the domains, a few at a time.
func (t *taking) run(ctx context.Context) ([]*Host, error) {
	var domains []string
	seeds := map[string][]weburl.URL{} // of domains, one for each host
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

// domain looks at the hosts of a domain, one after the other, and at those that
// its seeds have moved to.
func (t *taking) domain(ctx context.Context, domain string, seeds []weburl.URL) (err error) {
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
		l := &lookout{taking: t, Host: Host{Host: u.Host(), Seed: u, Pages: map[string]int64{}}, interval: interval}
		l.begin(d)
		err := l.look(ctx)
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

func (t *taking) add(s *Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, s)
}
