package jobrun

import (
	"context"
	"fmt"
	"time"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Renewal is the work added to a finished or interrupted crawl.
type Renewal struct {
	Seeds   int   // new ones
	Revived int   // skipped URLs that are in scope now
	Lost    int64 // URLs out of scope whose address was not kept: see [store.MaxAside]
}

// Renew adds new seeds and reopens URLs that are in scope now.
func (s *Stored) Renew(ctx context.Context, now time.Time) (out Renewal, err error) {
	if out.Seeds, err = s.addSeeds(ctx, now); err != nil || !s.Widened {
		return out, err
	}
	for _, reason := range []visit.Reason{visit.Excluded, visit.Depth, visit.NonDocument} {
		n, err := s.reopenSkipped(ctx, now, reason)
		if err != nil {
			return out, fmt.Errorf("reopen skipped URLs (%s): %w", reason, err)
		}
		out.Revived += n
	}
	n, lost, err := s.readmitOutOfScope(ctx, now)
	if err != nil {
		return out, fmt.Errorf("admit URLs that were out of scope: %w", err)
	}
	out.Revived, out.Lost = out.Revived+n, lost
	return out, nil
}

// reopenSkipped puts URLs that were skipped for a reason back to waiting.
func (s *Stored) reopenSkipped(ctx context.Context, now time.Time, reason visit.Reason) (n int, err error) {
	q := store.Query{Job: s.ID, Outcome: visit.Skipped, Reason: reason, Max: store.MaxPage}
	for {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return n, err
		}
		var urls []weburl.URL
		for i := range page.Entries {
			if it := page.Entries[i].Item; s.Rules.Belongs(it) {
				urls = append(urls, it.URL)
			}
		}
		if len(urls) > 0 {
			revived, err := s.Store.Reopen(ctx, now, s.ID, urls)
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

// readmitOutOfScope admits URLs that were out of scope.
func (s *Stored) readmitOutOfScope(ctx context.Context, now time.Time) (n int, lost int64, err error) {
	for after := store.Cursor(""); ; {
		page, err := s.Store.ListAside(ctx, s.ID, after, store.MaxPage)
		if err != nil {
			return n, lost, err
		}
		var in []store.Aside
		for i := range page.URLs {
			switch x := &page.URLs[i]; {
			case x.Item.URL.IsZero():
				lost++
			case s.Rules.Belongs(x.Item):
				in = append(in, *x)
			}
		}
		if len(in) > 0 {
			revived, err := s.Store.Readmit(ctx, now, s.ID, in)
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
