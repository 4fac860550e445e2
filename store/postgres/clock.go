package postgres

import (
	"context"
	"fmt"
	"time"
)

// clockSamples is how often the clock is read; the fastest response is the most exact.
const clockSamples = 3

// ClockOffset returns how far the clock of the server is ahead of now, and how wrong that can
// be: half the time the response took. Nothing that is stored depends on the server's clock:
// it is what the clocks of the fleet are compared with.
func (s *Store) ClockOffset(ctx context.Context, now func() time.Time) (offset, within time.Duration, err error) {
	for i := range clockSamples {
		var seconds float64
		began, sent := time.Now(), now()
		if err := s.pool.QueryRow(ctx, "select extract(epoch from clock_timestamp())::float8").Scan(&seconds); err != nil {
			return 0, 0, fmt.Errorf("read the clock of the database: %w", wrap(err))
		}
		half := time.Since(began) / 2
		if i > 0 && half >= within {
			continue
		}
		at := time.UnixMicro(int64(seconds * 1e6))
		offset, within = at.Sub(sent)-half, half
	}
	return offset, within, nil
}
