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
	r, err := s.pool.Query(ctx, "select "+jobFacts+", j.spec from job j where "+whose+" and j.id < $2 and ($3 = '' or j.state = $3) order by j.id desc limit $4",
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
	counts, err := s.countJobs(ctx, s.pool, ids...)
	if err != nil {
		return nil, fmt.Errorf("count %d jobs: %w", len(ids), wrap(err))
	}
	return counts, nil
}

// turnsOf reads the turns of queued jobs. The order is that of pickQueued.
const turnsOf = `with q as (select j.id, j.tenant, row_number() over w as round, greatest(first_value(j.turn) over w, coalesce(s.turn, 0)) as since
		from job j left join served s on s.tenant = j.tenant where j.state = 'queued' window w as (partition by j.tenant order by j.turn)),
	line as (select id, tenant, row_number() over (order by round, since) as place from q),
	busy as (select j.tenant, count(*) as n from job j where ` + active + ` group by j.tenant)
	select l.id, l.place, (select count(*) from worker), (select count(*) from worker w, format f where w.format < f.oldest), coalesce((select sum(n) from busy), 0)::bigint, coalesce(b.n, 0), coalesce((p.limits ->> 'max_concurrent_crawls')::bigint, 0)
		from line l left join busy b on b.tenant = l.tenant left join tenant x on x.name = l.tenant left join plan p on p.name = x.plan
		where l.id = any($1)`

// Turns implements [store.JobLists].
func (s *Store) Turns(ctx context.Context, ids []job.ID) (map[job.ID]store.Turn, error) {
	turns := map[job.ID]store.Turn{}
	var id int32
	var t store.Turn
	err := s.all(ctx, []any{&id, &t.Place, &t.Workers, &t.Older, &t.Running, &t.Own, &t.OwnMax}, func() { turns[job.ID(id)] = t }, turnsOf, numbers(ids))
	if err != nil {
		return nil, fmt.Errorf("turns of %d jobs: %w", len(ids), err)
	}
	return turns, nil
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
