package jobrun

import (
	"context"
	"fmt"

	"headway/visit"
)

// Remember adds the validators of the last visit to an item without any.
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

// Recall copies the recorded page, and its links if they were kept, to a visit that was not
// modified: a 304 response has no body.
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
	v.Recall(was)
	return nil
}
