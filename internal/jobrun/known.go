package jobrun

import (
	"cmp"
	"context"
	"fmt"

	"headway/visit"
)

// Remember gives a request what the server said last time to ask by, where the
// item does not carry it.
func (s *Stored) Remember(ctx context.Context, item *visit.Item) error {
	if s.Known == nil || item.Validators != (visit.Validators{}) {
		return nil
	}
	was, err := s.Known(ctx, item.URL)
	if err != nil {
		return fmt.Errorf("read the earlier crawl: %w", err)
	}
	if was != nil && (was.Outcome == visit.Fetched || was.Outcome == visit.NotModified) {
		item.Validators = was.Answer.Validators
	}
	return nil
}

// Recall gives a page that did not change what the earlier crawl read of it. An
// answer of 304 has no body to read it from.
func (s *Stored) Recall(ctx context.Context, v *visit.Visit) error {
	if v.Outcome != visit.NotModified || s.Known == nil {
		return nil
	}
	was, err := s.Known(ctx, v.Item.URL)
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
