// Package redirects finds redirects that lead in a circle over URLs that a job knows
// already: nothing would follow them again.
package redirects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Store is what is asked where URLs lead.
type Store interface {
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error)
	Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error)
}

// Redirects are where URLs lead whose visits are not committed yet: those under way and
// those of the next commits, so there are never many. The store knows of the others. All
// of it may be used by many goroutines, and none of it by the loop but [Redirects.Drop].
type Redirects struct {
	st    Store
	retry func(ctx context.Context, do func() error) error

	mu sync.Mutex
	to map[from]weburl.URL
}

type from struct {
	job job.ID
	url weburl.URL
}

// New returns the redirects of jobs in a store, which is asked again where that helps.
func New(st Store, retry func(ctx context.Context, do func() error) error) *Redirects {
	return &Redirects{st: st, retry: retry, to: map[from]weburl.URL{}}
}

func (r *Redirects) note(it *visit.Item, to weburl.URL) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to[from{it.Job, it.URL}] = to
}

func (r *Redirects) noted(id job.ID, u weburl.URL) (weburl.URL, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, ok := r.to[from{id, u}]
	return to, ok
}

// Drop forgets the redirect of a visit that is committed, or will never be.
func (r *Redirects) Drop(it *visit.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, from{it.Job, it.URL})
}

// EndLoop ends a URL whose redirect leads back to it, or on for too long, over URLs
// that the job knows already. A redirect is noted before it is followed, so of those
// that close a loop together the last one sees all others, noted or stored.
func (r *Redirects) EndLoop(ctx context.Context, v *visit.Visit) error {
	target := v.Answer.Location
	r.note(&v.Item, target)
	chain, end, err := r.follow(ctx, &v.Item, target)
	if err != nil || end != v.Item.URL && v.Item.Hops+len(chain) <= visit.MaxHops {
		return err
	}
	v.Outcome, v.Reason, v.Links = visit.Failed, visit.RedirectLoop, nil
	v.Detail = fmt.Sprintf("redirect loop or too many redirects, at %s", visit.Redact(target))
	return nil
}

// follow follows the redirects that are known from a URL on, as far as they may be
// followed or until they come back. It returns the URLs that redirect, and where the last
// one leads.
func (r *Redirects) follow(ctx context.Context, it *visit.Item, target weburl.URL) (chain []weburl.URL, end weburl.URL, err error) {
	for chain = []weburl.URL{it.URL}; it.Hops+len(chain) <= visit.MaxHops && !slices.Contains(chain, target); {
		next, ok, err := r.of(ctx, it.Job, target)
		if err != nil || !ok {
			return chain, target, err
		}
		chain, target = append(chain, target), next
	}
	return chain, target, nil
}

// of is where a URL of a job leads, if that is known.
func (r *Redirects) of(ctx context.Context, id job.ID, u weburl.URL) (to weburl.URL, ok bool, err error) {
	if to, ok = r.noted(id, u); ok {
		return to, true, nil
	}
	var e store.Entry
	err = r.retry(ctx, func() (err error) { e, err = r.st.Lookup(ctx, id, u); return err })
	switch {
	case errors.Is(err, store.ErrNotFound):
		return to, false, nil
	case err != nil:
		return to, false, fmt.Errorf("look up redirect target of %s: %w", visit.Redact(u), err)
	case e.Outcome != visit.Redirected || e.Visit == nil:
		return to, false, nil
	}
	return e.Visit.Answer.Location, true, nil
}

// MaxFollowed bounds the redirects of a commit that are followed again.
const MaxFollowed = store.MaxVisits

// Break follows the redirects of a commit again, in a fleet: of URLs that close a loop
// together, two workers may have stored theirs at the same time, neither knowing of the
// other's. The last one to do so sees it now. One URL of the loop is asked for once more,
// the same whoever sees it, and ends as what it is.
func (r *Redirects) Break(ctx context.Context, now func() time.Time, visits []visit.Visit) error {
	for i := range visits {
		it := &visits[i].Item
		chain, end, err := r.follow(ctx, it, visits[i].Answer.Location)
		if err == nil && end == it.URL && len(chain) > 1 {
			first := slices.MinFunc(chain, func(a, b weburl.URL) int { return cmp.Compare(a.String(), b.String()) })
			err = r.retry(ctx, func() error {
				_, err := r.st.Reopen(ctx, now(), it.Job, []weburl.URL{first})
				return err
			})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find redirect loops: %w", err)
		}
	}
	return nil
}
