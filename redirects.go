package headway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	loop, err := r.leadsBack(ctx, &v.Item, target)
	if err != nil || len(loop) == 0 {
		return err
	}
	v.Outcome, v.Reason, v.Links = visit.Failed, visit.RedirectLoop, nil
	v.Detail = fmt.Sprintf("leads to %s again, or too far", visit.Redact(target))
	return nil
}

// leadsBack follows the redirects that are known from a URL and its target on. It
// returns the URLs of the loop, or of the chain that is too long, and nil where it comes
// to something else.
func (r *run) leadsBack(ctx context.Context, from *visit.Item, target weburl.URL) ([]weburl.URL, error) {
	chain := []weburl.URL{from.URL}
	for hops := from.Hops + 1; ; hops++ {
		next, ok, err := r.redirectOf(ctx, from.Job, target)
		if err != nil || !ok {
			return nil, err
		}
		if chain = append(chain, target); hops >= visit.MaxHops || next == from.URL {
			return chain, nil
		}
		if slices.Contains(chain, next) {
			return nil, nil // a loop that this URL only leads to
		}
		target = next
	}
}

// redirectOf is where a URL of the job leads, if that is known.
func (r *run) redirectOf(ctx context.Context, id job.ID, u weburl.URL) (to weburl.URL, ok bool, err error) {
	if to, ok = r.c.redirects.get(id, u); ok {
		return to, true, nil
	}
	var e store.Entry
	err = r.c.insist(ctx, func() (err error) { e, err = r.c.st.Lookup(ctx, id, u); return err })
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
