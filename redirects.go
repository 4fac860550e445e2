package headway

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

// redirects are where URLs lead whose visits are not committed yet: those under way
// and those of the next commits, so there are never many. Workers add to them.
type redirects struct {
	mu sync.Mutex
	to map[redirectFrom]weburl.URL
}

type redirectFrom struct {
	job job.ID
	url weburl.URL
}

func (r *redirects) put(it *visit.Item, to weburl.URL) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[redirectFrom]weburl.URL{}
	}
	r.to[redirectFrom{it.Job, it.URL}] = to
}

func (r *redirects) get(id job.ID, u weburl.URL) (weburl.URL, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, ok := r.to[redirectFrom{id, u}]
	return to, ok
}

// drop forgets the redirect of a visit that is committed, or will never be.
func (r *redirects) drop(it *visit.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, redirectFrom{it.Job, it.URL})
}

// endLoop ends a URL whose redirect leads back to it, or on for too long, over URLs
// that the job knows already: nothing would follow them again. A redirect is noted
// before it is followed, so of those that close a loop together the last one sees all
// others, noted or stored.
func (r *run) endLoop(ctx context.Context, v *visit.Visit) error {
	target := v.Answer.Location
	r.c.redirects.put(&v.Item, target)
	chain, end, err := r.follow(ctx, &v.Item, target)
	if err != nil || end != v.Item.URL && v.Item.Hops+len(chain) <= visit.MaxHops {
		return err
	}
	v.Outcome, v.Reason, v.Links = visit.Failed, visit.RedirectLoop, nil
	v.Detail = fmt.Sprintf("leads to %s again, or too far", visit.Redact(target))
	return nil
}

// follow follows the redirects that are known from a URL on, as far as they may be
// followed or until they come back. It returns the URLs that redirect, and where the last
// one leads.
func (r *run) follow(ctx context.Context, from *visit.Item, target weburl.URL) (chain []weburl.URL, end weburl.URL, err error) {
	for chain = []weburl.URL{from.URL}; from.Hops+len(chain) <= visit.MaxHops && !slices.Contains(chain, target); {
		next, ok, err := r.redirectOf(ctx, from.Job, target)
		if err != nil || !ok {
			return chain, target, err
		}
		chain, target = append(chain, target), next
	}
	return chain, target, nil
}

// maxFollowed bounds the redirects of a commit that are followed again.
const maxFollowed = store.MaxVisits

// lookForLoops follows the redirects of a commit again, in a fleet: of URLs that close a
// loop together, two workers may have stored theirs at the same time, neither knowing of
// the other's. The last one to do so sees it now. One URL of the loop is asked for once
// more, the same whoever sees it, and ends as what it is.
func (c *crawler) lookForLoops(ctx context.Context, visits []visit.Visit) {
	if c.fleet == nil {
		return
	}
	var list []visit.Visit
	for i := range visits {
		if v := &visits[i]; v.Outcome == visit.Redirected && c.runs[v.Item.Job] != nil && len(list) < maxFollowed {
			list = append(list, visit.Visit{Item: v.Item, Answer: visit.Answer{Location: v.Answer.Location}})
		}
	}
	if len(list) == 0 {
		return
	}
	runs := make([]*run, len(list))
	for i := range list {
		runs[i] = c.runs[list[i].Item.Job]
	}
	c.loop.Go(func() {
		for i := range list {
			it := &list[i].Item
			chain, end, err := runs[i].follow(ctx, it, list[i].Answer.Location)
			if err == nil && end == it.URL && len(chain) > 1 {
				first := slices.MinFunc(chain, func(a, b weburl.URL) int { return cmp.Compare(a.String(), b.String()) })
				err = c.loop.Retry(ctx, func() error {
					_, err := c.st.Reopen(ctx, c.loop.Now(), it.Job, []weburl.URL{first})
					return err
				})
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				c.loop.Post(func(time.Time) { c.loop.FailUnless(ctx, fmt.Errorf("look for redirects in a circle: %w", err)) })
				return
			}
		}
	})
}

// redirectOf is where a URL of the job leads, if that is known.
func (r *run) redirectOf(ctx context.Context, id job.ID, u weburl.URL) (to weburl.URL, ok bool, err error) {
	if to, ok = r.c.redirects.get(id, u); ok {
		return to, true, nil
	}
	var e store.Entry
	err = r.c.loop.Retry(ctx, func() (err error) { e, err = r.c.st.Lookup(ctx, id, u); return err })
	switch {
	case errors.Is(err, store.ErrNotFound):
		return to, false, nil
	case err != nil:
		return to, false, fmt.Errorf("look up where %s leads: %w", visit.Redact(u), err)
	case e.Outcome != visit.Redirected || e.Visit == nil:
		return to, false, nil
	}
	return e.Visit.Answer.Location, true, nil
}
