package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

var (
	_ store.HostTimes = (*Store)(nil)
	_ store.Database  = (*Store)(nil)
)

// IsDatabase implements [store.Database].
func (*Store) IsDatabase() {}

// storeHostTime adds host times in the order of their keys: workers of one shard could
// otherwise deadlock.
func (b *batch) storeHostTime() {
	if len(b.hostTime) == 0 {
		return
	}
	type key struct {
		job   int32
		state string
	}
	sums := map[key]int64{}
	for _, h := range b.hostTime {
		sums[key{number(h.Job), h.State}] += h.Spent.Microseconds()
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.job, y.job), cmp.Compare(x.state, y.state))
	})
	jobs, states, spent := make([]int32, len(keys)), make([]string, len(keys)), make([]int64, len(keys))
	for i, k := range keys {
		jobs[i], states[i], spent[i] = k.job, k.state, sums[k]
	}
	b.exec(`insert into host_time (job, shard, state, spent) select w.job, $1, w.state, w.spent from unnest($2::int[], $3::text[], $4::bigint[]) as w (job, state, spent)
		join job j on j.id = w.job on conflict (job, shard, state) do update set spent = host_time.spent + excluded.spent`, b.shard(), jobs, states, spent)
}

// HostTime implements [store.HostTimes].
func (s *Store) HostTime(ctx context.Context, id job.ID) (map[string]time.Duration, error) {
	sums := map[string]time.Duration{}
	err := s.read(ctx, func(tx pgx.Tx) error {
		r, err := tx.Query(ctx, "select state, sum(spent)::bigint from host_time where job = $1 group by state", number(id))
		if err != nil {
			return err
		}
		var state string
		var spent int64
		_, err = pgx.ForEachRow(r, []any{&state, &spent}, func() error {
			sums[state] = time.Duration(spent) * time.Microsecond
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("host time of job %d: %w", id, err)
	}
	return sums, nil
}
