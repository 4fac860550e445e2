package memory

import (
	"context"
	"time"

	"headway/store"
)

var _ store.Stretches = (*Store)(nil)

// Stretch implements [store.Stretches].
func (s *Store) Stretch(ctx context.Context, now time.Time, wants []store.Stretch) ([]time.Duration, error) {
	if err := store.CheckStretches(wants); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "stretch"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	waits := make([]time.Duration, len(wants))
	for i, w := range wants {
		waits[i] = s.rates.Take(now, w)
	}
	return waits, nil
}
