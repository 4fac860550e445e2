package postgres

import (
	"context"
	"fmt"
	"math"

	"headway/job"
	"headway/store"
)

var _ store.JobLists = (*Store)(nil)

// FindJobs implements [store.JobLists].
func (s *Store) FindJobs(ctx context.Context, q store.JobQuery) ([]store.Job, error) {
	before := int32(math.MaxInt32)
	if q.Before > 0 {
		before = int32(min(q.Before, math.MaxInt32))
	}
	whose := "j.tenant = $1" // uses its index
	if q.All {
		whose = "$1::text is not null"
	}
	var list []store.Job
	r, err := s.reading(ctx).Query(ctx, "select "+jobFacts+", j.spec from job j where "+whose+" and j.id < $2 and ($3 = '' or j.state = $3) order by j.id desc limit $4",
		q.Tenant, before, string(q.State), min(max(q.Max, 0), store.MaxPage))
	if err == nil {
		err = scanJobs(&list, func(j *store.Job) any { return &j.Spec })(r)
	}
	if err != nil {
		return nil, fmt.Errorf("find jobs of tenant %q: %w", q.Tenant, wrap(err))
	}
	return list, nil
}

// CountJobs implements [store.JobLists].
func (s *Store) CountJobs(ctx context.Context, ids []job.ID) (map[job.ID]store.Counts, error) {
	if len(ids) > store.MaxPage {
		return nil, fmt.Errorf("count %d jobs, at most %d", len(ids), store.MaxPage)
	}
	counts, err := s.countJobs(ctx, s.reading(ctx), ids...)
	if err != nil {
		return nil, fmt.Errorf("count %d jobs: %w", len(ids), wrap(err))
	}
	return counts, nil
}

// queueTurn reads the turn of a queued job. The order is that of pickQueued: in each round one
// job of each tenant. Ahead of a job are those of earlier rounds and, in its own round, those
// of tenants that have waited longer. Whatever the length of the queue, no more than MaxPlace
// jobs and tenants are read. The job is found by its id (offset 0): a plan made while the queue
// was empty would look for it in the whole queue.
var queueTurn = fmt.Sprintf(`with recursive me as materialized (select tenant, turn from (select * from job where id = $1 offset 0) as j where state = 'queued'),
	mine as materialized (select count(*) as round from (select from me cross join lateral (select from job j where j.state = 'queued' and j.tenant = me.tenant and j.turn <= me.turn order by j.turn limit %[1]d) as j) as n),
	t as ((select j.tenant, 1 as nth from job j where j.state = 'queued' order by j.tenant limit 1)
		union all select (select j.tenant from job j where j.state = 'queued' and j.tenant > t.tenant order by j.tenant limit 1), nth + 1 from t where t.tenant is not null and nth < %[1]d),
	s as materialized (select t.tenant, greatest((select j.turn from job j where j.state = 'queued' and j.tenant = t.tenant order by j.turn limit 1), (select s.turn from served s where s.tenant = t.tenant)) as since
		from t where t.tenant is not null),
	line as (select from s cross join lateral (select from job j where j.state = 'queued' and j.tenant = s.tenant order by j.turn
		limit (select round from mine) - case when s.since > (select x.since from s x, me where x.tenant = me.tenant) then 1 else 0 end) as j limit %[1]d),
	busy as (select j.tenant, count(*) as n from job j where `+active+` group by j.tenant)
	select case when (select round from mine) < %[1]d and (select count(*) from s) < %[1]d then (select count(*) from line) else %[1]d end, (select count(*) from worker), (select count(*) from worker w, format f where w.format < f.oldest),
		coalesce((select sum(n) from busy), 0)::bigint, coalesce(b.n, 0), coalesce((p.limits ->> 'max_concurrent_crawls')::bigint, 0)
		from me left join busy b on b.tenant = me.tenant left join tenant x on x.name = me.tenant left join plan p on p.name = x.plan`, store.MaxPlace+1)

// Turn implements [store.JobLists].
func (s *Store) Turn(ctx context.Context, id job.ID) (t store.Turn, ok bool, err error) {
	err = s.all(ctx, []any{&t.Place, &t.Workers, &t.Older, &t.Running, &t.Own, &t.OwnMax}, func() { ok = true }, queueTurn, number(id))
	if err != nil {
		return t, false, fmt.Errorf("turn of job %d: %w", id, err)
	}
	if t.Place > store.MaxPlace {
		t.Place = 0
	}
	return t, ok, nil
}

// Stops implements [store.JobLists].
func (s *Store) Stops(ctx context.Context, ids []job.ID) (map[job.ID][]store.Notice, error) {
	stops := map[job.ID][]store.Notice{}
	var id int32
	var at int64
	n := store.Notice{Percent: store.StoppedBy}
	err := s.all(ctx, []any{&id, &at, &n.Limit, &n.Layer, &n.Max, &n.Observed, &n.Text}, func() {
		n.Job, n.At = job.ID(id), instant(at)
		stops[n.Job] = append(stops[n.Job], n)
	}, "select job, at, name, layer, max, observed, text from notice where job = any($1) and percent = $2 order by at, name, max", numbers(ids), store.StoppedBy)
	if err != nil {
		return nil, fmt.Errorf("stops of %d jobs: %w", len(ids), err)
	}
	return stops, nil
}

// numbers are the stored numbers of jobs.
func numbers(ids []job.ID) []int32 {
	list := make([]int32, len(ids))
	for i, id := range ids {
		list[i] = number(id)
	}
	return list
}
