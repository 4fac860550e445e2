package headway

import (
	"cmp"
	"context"
	"fmt"

	"headway/visit"
)

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
