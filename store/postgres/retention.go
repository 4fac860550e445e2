package postgres

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
)

var _ store.Retention = (*Store)(nil)

// expired selects jobs whose retention has ended at $1. The plan is the current one; those
// of safety and the job were stored with the job. What a running job still reads is kept.
const expired = `select j.id from job j left join tenant x on x.name = j.tenant left join plan p on p.name = x.plan
	where j.ended_at < $1 - least(nullif((p.limits ->> 'retention_ms')::bigint, 0), (select min((l -> 'limits' ->> 'retention_ms')::bigint) from jsonb_array_elements(j.layers) as l where l ->> 'level' in ('safety', 'job')))
		and not ` + neededBySince + `
	order by j.ended_at, j.id limit $2`

// Expired implements [store.Retention].
func (s *Store) Expired(ctx context.Context, now time.Time, most int) ([]job.ID, error) {
	var list []job.ID
	var id job.ID
	if err := s.all(ctx, []any{&id}, func() { list = append(list, id) }, expired, milli(now), most); err != nil {
		return nil, fmt.Errorf("expired jobs: %w", err)
	}
	return list, nil
}

// ForgetEvents implements [store.Retention].
func (s *Store) ForgetEvents(ctx context.Context, now time.Time) (int, error) {
	tag, err := s.pool.Exec(ctx, forgetEvents, milli(now.Add(-store.EventLife)), store.MaxEvents)
	if err != nil {
		return 0, fmt.Errorf("forget events: %w", wrap(err))
	}
	return int(tag.RowsAffected()), nil
}
