// Package redirects detects redirect loops over URLs that a job already knows, which would
// otherwise never be followed to the end.
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

// Store looks up where URLs redirect to.
type Store interface {
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error)
	Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error)
}

// Redirects keeps the targets of redirects whose visits are not committed yet, so there are
// never many. The others are in the store. It is safe for concurrent use. It may block, so
// the loop calls only [Redirects.Drop].
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

// New returns an empty set. Store queries go through retry.
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

// Drop forgets the redirect of a visit that is committed or never will be.
func (r *Redirects) Drop(it *visit.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, from{it.Job, it.URL})
}

// EndLoop ends a URL whose redirects lead back to it, or are too many. A redirect is noted
// before it is followed, so the last URL that closes a loop sees all others, noted or
// stored.
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

// follow follows known redirects from a URL, until the limit or a loop. It returns the URLs
// that redirect, and the target of the last one.
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

// of returns the redirect target of a URL, if known.
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

// MaxFollowed bounds the redirects per commit that are checked again.
const MaxFollowed = store.MaxVisits

// Break checks the redirects of a commit again, in a fleet: two workers may have stored the
// two halves of a loop at the same time, neither aware of the other's. The later one
// detects it here. One URL of the loop, the same for every worker, is reopened and ends as
// a redirect loop.
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
