package headway

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
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
	r.job = id
	if err := r.widenAgain(ctx); err != nil {
		return Renewal{}, err
	}
	return r.renew(ctx, x.c.loop.Now())
}

// renew adds seeds that are new and revives what belongs to the crawl now.
func (r *run) renew(ctx context.Context, now time.Time) (out Renewal, err error) {
	if out.Seeds, err = r.addSeeds(ctx, now); err != nil || !r.cfg.Widened {
		return out, err
	}
	for _, reason := range []visit.Reason{visit.Excluded, visit.Depth, visit.NonDocument} {
		n, err := r.reviveSkipped(ctx, now, reason)
		if err != nil {
			return out, fmt.Errorf("revive what was skipped (%s): %w", reason, err)
		}
		out.Revived += n
	}
	n, lost, err := r.reviveAside(ctx, now)
	if err != nil {
		return out, fmt.Errorf("revive what was out of scope: %w", err)
	}
	out.Revived, out.Lost = out.Revived+n, lost
	return out, nil
}

// belongs tells whether a URL belongs to the crawl now.
func (r *run) belongs(it visit.Item) bool {
	d := r.rules.Still(it)
	return d.In && !r.rules.OptedOut(it.URL)
}

// reviveSkipped puts URLs that were skipped for a reason back to waiting.
func (r *run) reviveSkipped(ctx context.Context, now time.Time, reason visit.Reason) (n int, err error) {
	q := store.Query{Job: r.job, Outcome: visit.Skipped, Reason: reason, Max: store.MaxPage}
	for {
		page, err := r.c.st.List(ctx, q)
		if err != nil {
			return n, err
		}
		var urls []weburl.URL
		for i := range page.Entries {
			if it := page.Entries[i].Item; r.belongs(it) {
				urls = append(urls, it.URL)
			}
		}
		if len(urls) > 0 {
			revived, err := r.c.st.Reopen(ctx, now, r.job, urls)
			if err != nil {
				return n, err
			}
			n += revived
		}
		if page.Next == "" {
			return n, nil
		}
		q.After = page.Next
	}
}

// reviveAside takes URLs in that were out of scope.
func (r *run) reviveAside(ctx context.Context, now time.Time) (n int, lost int64, err error) {
	for after := store.Cursor(""); ; {
		page, err := r.c.st.ListAside(ctx, r.job, after, store.MaxPage)
		if err != nil {
			return n, lost, err
		}
		var in []store.Aside
		for i := range page.URLs {
			switch x := &page.URLs[i]; {
			case x.Item.URL.IsZero():
				lost++
			case r.belongs(x.Item):
				in = append(in, *x)
			}
		}
		if len(in) > 0 {
			revived, err := r.c.st.Readmit(ctx, now, r.job, in)
			if err != nil {
				return n, lost, err
			}
			n += revived
		}
		if page.Next == "" {
			return n, lost, nil
		}
		after = page.Next
	}
}
