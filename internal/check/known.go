package check

import (
	"context"
	"errors"

	"headway/job"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Known returns the last visit of a URL in the previous run, for conditional requests;
// nil if there is none or it read no page.
func Known(st store.Store, id job.ID) func(context.Context, weburl.URL) (*visit.Visit, error) {
	return func(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
		e, err := st.Lookup(ctx, id, u)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return lastRead(e.Attempts), nil
	}
}

// lastRead is the last attempt if it read the page, or got 304. A 304 need not repeat
// the validators: those of the earlier response are used.
func lastRead(attempts []visit.Visit) *visit.Visit {
	var last *visit.Visit
	for i := len(attempts) - 1; i >= 0; i-- {
		v := &attempts[i]
		if v.Outcome != visit.Fetched && v.Outcome != visit.NotModified {
			break
		}
		if last == nil {
			last = v
		}
		if known := v.Answer.Validators; known != (visit.Validators{}) || v.Outcome == visit.Fetched {
			last.Answer.Validators = known
			break
		}
	}
	return last
}

// Widen lets a scope follow the seeds of a job to where they redirect, as the
// crawl did.
func Widen(ctx context.Context, st store.Store, id job.ID, rules *scope.Rules) error {
	return each(ctx, st, id, []store.Ending{{Outcome: visit.Redirected}}, func(e *store.Entry) error {
		if e.Item.Depth == 0 && e.Visit != nil && !e.Visit.Answer.Location.IsZero() {
			rules.Widen(e.Item.URL, e.Visit.Answer.Location)
		}
		return nil
	})
}

// errFound ends a search.
var errFound = errors.New("found")

// AnyRead reports whether any page of the checked site was read: without one nothing
// is known about its links.
func AnyRead(ctx context.Context, st store.Store, id job.ID, own func(weburl.URL) bool) (bool, error) {
	err := each(ctx, st, id, []store.Ending{{Outcome: visit.Fetched}, {Outcome: visit.NotModified}}, func(e *store.Entry) error {
		if own(e.Item.URL) {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
