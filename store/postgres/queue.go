package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// mayAdmit tells whether a job is queued and a place is free. It is asked
// without a lock, because most of the time one of the two is not so.
const mayAdmit = "select exists (select from job j where j.state = 'queued') and (select count(*) from (select from job j where " + active + " limit $1) as x) < $1"

// pickQueued chooses jobs to fill places. It steps from tenant to tenant and
// reads no more of a queue than could be admitted. In the first round tenants go
// by how long they have waited, and in the same order in those that follow.
const pickQueued = `with recursive t as ((select j.tenant from job j where j.state = 'queued' order by j.tenant limit 1)
		union all select (select j.tenant from job j where j.state = 'queued' and j.tenant > t.tenant order by j.tenant limit 1) from t where t.tenant is not null),
	q as (select t.tenant, j.id, row_number() over w as round, greatest(first_value(j.turn) over w, coalesce((select s.turn from served s where s.tenant = t.tenant), 0)) as since
		from t cross join lateral (select j.id, j.turn from job j where j.state = 'queued' and j.tenant = t.tenant order by j.turn limit $1) as j
		window w as (partition by t.tenant order by j.turn))
	select id, tenant from q order by round, since limit $1`

// Admit implements [store.Queue]. One caller at a time counts places and fills
// them; the others wait for it.
func (s *Store) Admit(ctx context.Context, now time.Time, most int) ([]store.Job, error) {
	var worth bool
	var list []store.Job
	err := s.pool.QueryRow(ctx, mayAdmit, most).Scan(&worth)
	if err == nil && worth {
		err = s.change(ctx, func(ctx context.Context, c *change) (err error) {
			list, err = c.admit(ctx, now, most)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("admit jobs: %w", wrap(err))
	}
	if len(list) > 0 {
		s.notifier.tell(store.NewJobs, everybody)
	}
	return list, nil
}

func (c *change) admit(ctx context.Context, now time.Time, most int) ([]store.Job, error) {
	var taken int
	c.exec("select pg_advisory_xact_lock($1, 0)", lockOfQueue)
	c.queue("select count(*) from job j where " + active).QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
	if err := c.send(ctx); err != nil || taken >= most {
		return nil, err
	}
	var ids []int32
	var tenants []string // in the order of their last turn
	var id int32
	var tenant string
	c.queue(pickQueued, most-taken).Query(rows([]any{&id, &tenant}, func() error {
		ids = append(ids, id)
		tenants = append(slices.DeleteFunc(tenants, func(t string) bool { return t == tenant }), tenant)
		return nil
	}))
	if err := c.send(ctx); err != nil || len(ids) == 0 {
		return nil, err
	}
	var list []store.Job
	// One that was cancelled meanwhile is not queued any more.
	c.queue("update job j set state = 'running', reason = '', started_at = $2, ended_at = null where j.id = any($1::int[]) and j.state = 'queued' returning "+jobFacts, ids, milli(now)).
		Query(scanJobs(&list))
	c.exec("insert into served (tenant, turn) select w.tenant, nextval('turn') from unnest($1::text[]) as w (tenant) on conflict (tenant) do update set turn = excluded.turn", tenants)
	c.exec("delete from served s where not exists (select from job j where j.state = 'queued' and j.tenant = s.tenant)")
	if err := c.send(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b store.Job) int { return slices.Index(ids, int32(a.ID)) - slices.Index(ids, int32(b.ID)) })
	return list, nil
}

// ActiveJobs implements [store.Queue].
func (s *Store) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	var list []store.Job
	r, err := s.pool.Query(ctx, "select "+jobFacts+" from job j where "+active+" order by j.id")
	if err == nil {
		err = scanJobs(&list)(r)
	}
	if err != nil {
		return nil, fmt.Errorf("list active jobs: %w", wrap(err))
	}
	return list, nil
}

// jobFacts are the columns of a job but its spec, as scanJobs reads them.
const jobFacts = `j.id, j.tenant, j.name, j.state, j.reason, j.max_pages, j.created_at, coalesce(j.started_at, 0), coalesce(j.ended_at, 0)`

// scanJobs reads jobs into a list.
func scanJobs(list *[]store.Job, more ...func(j *store.Job) any) func(pgx.Rows) error {
	var j store.Job
	var created, started, ended int64
	targets := []any{&j.ID, &j.Tenant, &j.Name, &j.State, &j.Reason, &j.MaxPages, &created, &started, &ended}
	for _, m := range more {
		targets = append(targets, m(&j))
	}
	return rows(targets, func() error {
		j.CreatedAt, j.StartedAt, j.EndedAt = instant(created), instant(started), instant(ended)
		*list = append(*list, j)
		j.Spec = nil
		return nil
	})
}

// turnOf is the statement's term for the turn of a job that comes into a state.
func turnOf(s job.State) string {
	if s == job.Queued {
		return "nextval('turn')"
	}
	return "0"
}
