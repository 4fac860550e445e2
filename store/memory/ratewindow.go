package memory

import (
	"context"
	"time"

	"headway/store"
)

var _ store.RateWindows = (*Store)(nil)

// ReserveRate implements [store.RateWindows].
func (s *Store) ReserveRate(ctx context.Context, now time.Time, wants []store.RateWindow) ([]time.Duration, error) {
	if err := store.CheckRateWindows(wants); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "rate windows"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	waits := make([]time.Duration, len(wants))
	for i, w := range wants {
		waits[i] = s.rates.Take(now, w)
	}
	return waits, nil
}
