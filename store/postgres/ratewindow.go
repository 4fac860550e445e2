package postgres

import (
	"context"
	"fmt"
	"time"

	"headway/store"
)

var _ store.RateWindows = (*Store)(nil)

// rateWindowSQL reserves rate windows. A row is locked before its new value is computed, so
// that the clock is read when no other can reserve; the order by tenant avoids deadlocks. If
// the clock was set back, a tenant waits at most maxAhead.
const rateWindowSQL = `insert into stretch as s (tenant, until, lasts)
	select tenant, clock_timestamp() + lasts, lasts from (select tenant, micros * interval '1 microsecond' as lasts from unnest($1::text[], $2::bigint[]) as w (tenant, micros)) as w
	order by tenant
	on conflict (tenant) do update set until = greatest(least(s.until, clock_timestamp() + ` + maxAhead + `), clock_timestamp()) + excluded.lasts, lasts = excluded.lasts
	returning tenant, extract(epoch from until - lasts - clock_timestamp())::float8`

// maxAhead is how far ahead a tenant's time can be reserved, far more than workers request.
const maxAhead = "interval '10 minutes'"

// ReserveRate implements [store.RateWindows].
func (s *Store) ReserveRate(ctx context.Context, _ time.Time, wants []store.RateWindow) ([]time.Duration, error) {
	if err := store.CheckRateWindows(wants); err != nil {
		return nil, err
	}
	tenants, micros := make([]string, len(wants)), make([]int64, len(wants))
	for i, w := range wants {
		tenants[i], micros[i] = w.Tenant, (w.Length + time.Microsecond - 1).Microseconds()
	}
	given := make(map[string]time.Duration, len(wants))
	var tenant string
	var seconds float64
	err := s.single(ctx, rateWindowSQL, []any{tenants, micros}, rows([]any{&tenant, &seconds}, func() error {
		// Negative if the tenant's window began just before the result arrived.
		given[tenant] = max(time.Duration(seconds*float64(time.Second)), 0)
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("reserve rate windows: %w", err)
	}
	waits := make([]time.Duration, len(wants))
	for i, w := range wants {
		waits[i] = given[w.Tenant]
	}
	return waits, nil
}
