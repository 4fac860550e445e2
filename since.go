package headway

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"headway/store"
	"headway/visit"
)

// sinceChunk is how many URLs of an earlier crawl are taken over at a time.
const sinceChunk = 5000

// addKnown makes the URLs of an earlier crawl seen, with what servers gave to ask
// by whether they changed. A page that did not change names no links, so what it
// led to last time is asked for because of that, not because of a link. Those
// that are no longer in scope are left to be found. It may be repeated.
func (r *run) addKnown(ctx context.Context, now time.Time) error {
	if r.cfg.Since == nil {
		return nil
	}
	found := make([]store.Found, 0, sinceChunk)
	flush := func() error {
		if len(found) == 0 {
			return nil
		}
		if _, err := r.c.st.Add(ctx, now, found); err != nil {
			return fmt.Errorf("add what is known: %w", err)
		}
		found = found[:0]
		return nil
	}
	for item, err := range r.cfg.Since {
		if err != nil {
			return fmt.Errorf("read the earlier crawl: %w", err)
		}
		d := r.rules.Still(item)
		if !d.In || r.rules.OptedOut(item.URL) {
			continue
		}
		found = append(found, store.Found{Item: visit.Item{
			Job: r.job, URL: item.URL, Via: item.Via, Found: item.Found, Depth: item.Depth, Priority: item.Priority, Validators: item.Validators,
		}})
		if len(found) == sinceChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// remember gives a request what the server said last time to ask by, where the
// item does not carry it.
func (r *run) remember(ctx context.Context, item *visit.Item) error {
	if r.cfg.Known == nil || item.Validators != (visit.Validators{}) {
		return nil
	}
	was, err := r.cfg.Known(ctx, item.URL)
	if err != nil {
		return fmt.Errorf("read the earlier crawl: %w", err)
	}
	if was != nil && (was.Outcome == visit.Fetched || was.Outcome == visit.NotModified) {
		item.Validators = was.Answer.Validators
	}
	return nil
}

// recall gives a page that did not change what the earlier crawl read of it. An
// answer of 304 has no body to read it from.
func (r *run) recall(ctx context.Context, v *visit.Visit) error {
	if v.Outcome != visit.NotModified || r.cfg.Known == nil {
		return nil
	}
	was, err := r.cfg.Known(ctx, v.Item.URL)
	if err != nil {
		return fmt.Errorf("read the earlier crawl: %w", err)
	}
	if was == nil {
		return nil
	}
	v.Page = was.Page
	v.Answer.ContentType = cmp.Or(v.Answer.ContentType, was.Answer.ContentType)
	return nil
}
