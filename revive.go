package headway

import (
	"context"

	"headway/job"
)

// Renewal is what a crawl that has ended, or was interrupted, has to do because more
// is asked of it than before.
type Renewal struct {
	Seeds   int   // new ones
	Revived int   // URLs that were skipped, and belong to the crawl now
	Lost    int64 // URLs out of scope whose address was not kept: see [store.MaxAside]
}

// Any tells whether there is anything to do.
func (r Renewal) Any() bool { return r.Seeds+r.Revived > 0 }

// Renew adds what a crawl that has ended is asked for anew: seeds it has not seen and,
// with [Job.Widened], URLs that were skipped because they did not belong to it. The
// job stays in the state it is in: queue it if there is anything to do.
func Renew(ctx context.Context, w Worker, j Job, id job.ID) (Renewal, error) {
	x, err := New(w, j)
	if err != nil {
		return Renewal{}, err
	}
	r := x.r
	r.ID = id
	if err := r.WidenAgain(ctx); err != nil {
		return Renewal{}, err
	}
	more, err := r.Stored.Renew(ctx, x.c.loop.Now())
	return Renewal(more), err
}
