package postgres

import (
	"context"
	"fmt"
	"time"

	"headway/store"
)

var _ store.Stretches = (*Store)(nil)

// stretchSQL gives stretches. A row is locked before its new value is worked out, so
// the clock is read when nobody else can give any; in the order of tenants nobody waits
// for another who waits for him. A clock that was set back does not keep a tenant waiting
// for longer than maxAhead.
const stretchSQL = `insert into stretch as s (tenant, until, lasts)
	select tenant, clock_timestamp() + lasts, lasts from (select tenant, micros * interval '1 microsecond' as lasts from unnest($1::text[], $2::bigint[]) as w (tenant, micros)) as w
	order by tenant
	on conflict (tenant) do update set until = greatest(least(s.until, clock_timestamp() + ` + maxAhead + `), clock_timestamp()) + excluded.lasts, lasts = excluded.lasts
	returning tenant, extract(epoch from until - lasts - clock_timestamp())::float8`

// maxAhead is how far ahead the time of a tenant is given, far more than workers ask for.
const maxAhead = "interval '10 minutes'"

// Stretch implements [store.Stretches].
func (s *Store) Stretch(ctx context.Context, _ time.Time, wants []store.Stretch) ([]time.Duration, error) {
	if err := store.CheckStretches(wants); err != nil {
		return nil, err
	}
	tenants, micros := make([]string, len(wants)), make([]int64, len(wants))
	for i, w := range wants {
		tenants[i], micros[i] = w.Tenant, (w.Length + time.Microsecond - 1).Microseconds()
	}
	given := make(map[string]time.Duration, len(wants))
	var tenant string
	var seconds float64
	err := s.single(ctx, stretchSQL, []any{tenants, micros}, rows([]any{&tenant, &seconds}, func() error {
		// It began a moment ago where the tenant had nobody before us.
		given[tenant] = max(time.Duration(seconds*float64(time.Second)), 0)
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("give stretches: %w", err)
	}
	waits := make([]time.Duration, len(wants))
	for i, w := range wants {
		waits[i] = given[w.Tenant]
	}
	return waits, nil
}
