package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// pickQueued selects jobs for the free places, and before them jobs that were admitted under
// other settings than the newest. The fleet has as many places as its settings say, none
// without settings or while a worker of an older version is alive; so do the plans of
// tenants. One in KeptPart of the fleet's places is kept for the first job of tenants that
// have none. It steps from tenant to tenant and reads no more of a queue than could be
// admitted. In the first round tenants are ordered by how long they have waited, and then in
// the same order.
var pickQueued = fmt.Sprintf(`with recursive newest as materialized (select version, coalesce((safety ->> 'max_concurrent_crawls')::bigint, 0) as places from fleet_settings order by version desc limit 1),
	busy as materialized (select j.tenant, count(*) as n from job j where `+active+` group by j.tenant),
	allowed as materialized (select case places when 0 then %[1]d else places end as n, places / %[2]d as kept from newest where not exists (select from worker w, format f where w.format < f.oldest)),
	place as (select greatest(coalesce((select n from allowed), 0) - coalesce(sum(busy.n), 0), 0)::bigint as n from busy),
	t as ((select j.tenant from job j where j.state = 'queued' order by j.tenant limit 1)
		union all select (select j.tenant from job j where j.state = 'queued' and j.tenant > t.tenant order by j.tenant limit 1) from t where t.tenant is not null),
	q as (select t.tenant, j.id, busy.n is null as newcomer, row_number() over w as round, greatest(first_value(j.turn) over w, coalesce((select s.turn from served s where s.tenant = t.tenant), 0)) as since
		from t left join tenant x on x.name = t.tenant left join plan p on p.name = x.plan left join busy on busy.tenant = t.tenant
			cross join lateral (select j.id, j.turn from job j where j.state = 'queued' and j.tenant = t.tenant order by j.turn
				limit greatest(least((select n from place), (p.limits ->> 'max_concurrent_crawls')::bigint - coalesce(busy.n, 0)), 0)) as j
		window w as (partition by t.tenant order by j.turn)),
	line as (select id, tenant, newcomer and round = 1 as first, row_number() over (order by round, since) as nth from q)
	(select id, tenant, false as stale, nth from line where first or nth <= (select n - coalesce((select kept from allowed), 0) from place) order by nth limit (select least(n, %[3]d) from place))
	union all (select j.id, j.tenant, true, j.id from job j where `+active+` and j.settings <> (select version from newest) order by j.id limit %[3]d)
	order by 3 desc, 4`, math.MaxInt32, store.KeptPart, maxAdmit)

// Admit implements [store.Queue]. One caller at a time counts and fills places; the others
// wait. Usually there is nothing to do, which is checked without a lock.
func (s *Store) Admit(ctx context.Context, now time.Time) ([]store.Job, error) {
	var list []store.Job
	for more := true; more; {
		some, again, err := s.fill(ctx, now)
		if err != nil {
			return list, fmt.Errorf("admit jobs: %w", wrap(err))
		}
		list, more = append(list, some...), again
	}
	return list, nil
}

// fill fills places once, after it has given running jobs the newest settings.
func (s *Store) fill(ctx context.Context, now time.Time) (list []store.Job, more bool, err error) {
	var next []picked
	r, err := s.reading(ctx).Query(ctx, pickQueued)
	if err == nil {
		err = scanPicked(&next)(r)
	}
	if err != nil || len(next) == 0 {
		return nil, false, err
	}
	if next[0].stale {
		var ids []int32
		for _, p := range next {
			if p.stale {
				ids = append(ids, p.id)
			}
		}
		err := s.change(ctx, func(ctx context.Context, c *change) error { return c.resettle(ctx, now, ids) })
		if err == nil {
			s.notifier.notify(store.NewJobs, everybody)
		}
		return nil, true, err
	}
	err = s.change(ctx, func(ctx context.Context, c *change) (err error) {
		list, more, err = c.admit(ctx, now)
		return err
	})
	if err == nil {
		s.notifier.notify(store.NewJobs, everybody)
	}
	return list, more, err
}

// maxAdmit is how many jobs are admitted in one transaction.
const maxAdmit = 100

// picked is a job that is next.
type picked struct {
	id     int32
	tenant string
	stale  bool // it was admitted, under other settings
}

// scanPicked reads the result of pickQueued.
func scanPicked(list *[]picked) func(pgx.Rows) error {
	var p picked
	var nth int64
	return rows([]any{&p.id, &p.tenant, &p.stale, &nth}, func() error {
		*list = append(*list, p)
		return nil
	})
}

// candidate is a queued job that is next.
type candidate struct {
	store.Job
	around store.Surroundings
}

// candidates reads jobs that are still queued, in the order of the list.
func (c *change) candidates(ctx context.Context, now time.Time, next []picked) ([]candidate, error) {
	ids, tenants := make([]int32, len(next)), make([]string, len(next))
	for i, p := range next {
		ids[i], tenants[i] = p.id, p.tenant
	}
	var jobs []store.Job
	around := map[string]store.Surroundings{}
	c.queue("select "+jobFacts+", j.layers from job j where j.id = any($1::int[]) and j.state = 'queued'", ids).Query(scanJobs(&jobs, layersOf))
	c.queue(aroundTenants, tenants, store.MonthOf(now)).Query(scanAround(around))
	var newest store.SettingsVersion
	c.queue(newestSettings).Query(scanSettings(func(v store.SettingsVersion) { newest = v }))
	if err := c.send(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b store.Job) int { return slices.Index(ids, int32(a.ID)) - slices.Index(ids, int32(b.ID)) })
	list := make([]candidate, len(jobs))
	for i := range jobs {
		list[i] = candidate{jobs[i], around[jobs[i].Tenant]}
		list[i].around.Safety, list[i].Settings = newest.Safety, newest.Version
	}
	return list, nil
}

// admit fills places. There may be more to do if a job was rejected and its place is still
// free, or if there were many.
func (c *change) admit(ctx context.Context, now time.Time) (list []store.Job, more bool, err error) {
	var next []picked
	c.exec("select pg_advisory_xact_lock($1, 0)", lockOfQueue)
	c.queue(pickQueued).Query(scanPicked(&next))
	if err := c.send(ctx); err != nil || len(next) == 0 {
		return nil, false, err
	}
	if next[0].stale {
		return nil, true, nil // the settings have changed just now
	}
	for _, p := range slices.SortedFunc(slices.Values(next), func(a, b picked) int { return int(a.id - b.id) }) {
		c.lockJob(p.id) // prevents commits, extension and cancelling meanwhile
	}
	jobs, err := c.candidates(ctx, now, next)
	if err != nil {
		return nil, false, err
	}
	var tenants []string // in the order of their last turn
	for i := range jobs {
		j := &jobs[i]
		placed, err := c.place(ctx, now, &j.Job, &j.around)
		if err != nil {
			return nil, false, err
		}
		tenants = append(slices.DeleteFunc(tenants, func(t string) bool { return t == j.Tenant }), j.Tenant)
		if placed {
			j.Layers = nil
			list = append(list, j.Job)
		}
	}
	c.exec("insert into served (tenant, turn) select w.tenant, nextval('turn') from unnest($1::text[]) as w (tenant) on conflict (tenant) do update set turn = excluded.turn", tenants)
	c.exec("delete from served s where not exists (select from job j where j.state = 'queued' and j.tenant = s.tenant)")
	return list, len(list) < len(next) || len(next) == maxAdmit, nil
}

// place admits a job with its limits, or ends it if they allow nothing.
func (c *change) place(ctx context.Context, now time.Time, j *store.Job, s *store.Surroundings) (placed bool, err error) {
	var counts store.Counts
	if !j.StartedAt.IsZero() {
		if counts, err = c.had(ctx, j.ID, s); err != nil {
			return false, err
		}
	}
	over := s.Admit(j)
	j.State, j.Reason, j.StartedAt, j.EndedAt = job.Running, "", store.Stored(now), time.Time{}
	switch {
	case over != nil:
		j.State, j.Reason, j.EndedAt = job.Partial, string(over.Limit), store.Stored(now)
		c.queueNote(store.StopOf(j.ID, now, over))
	case j.MaxPages > 0:
		c.exec("insert into account (job, free) values ($1, $2) on conflict (job) do update set free = excluded.free", j.ID, j.MaxPages-counts.Pages()-counts.Tokens)
	}
	c.exec("update job set state = $2, reason = $3, max_pages = $4, layers = $5, started_at = $6, ended_at = $7, settings = $8, turn = 0 where id = $1",
		j.ID, j.State, j.Reason, j.MaxPages, notNone(j.Layers), milli(now), orNull(j.EndedAt), j.Settings)
	return over == nil, nil
}

// had records in the surroundings of a job what it has used, and returns its counts.
func (c *change) had(ctx context.Context, id job.ID, s *store.Surroundings) (store.Counts, error) {
	counts, err := c.s.counts(ctx, c.conn, id)
	if err != nil {
		return counts, err
	}
	s.Quota.HadPages = counts.Pages()
	if s.Quota.Bytes > 0 {
		points, err := readPoints(ctx, c.conn, id, "")
		if err != nil {
			return counts, err
		}
		for i := range points {
			s.Quota.HadBytes += points[i].Bytes
		}
	}
	return counts, nil
}

// ActiveJobs implements [store.Queue].
func (s *Store) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	var list []store.Job
	r, err := s.reading(ctx).Query(ctx, "select "+jobFacts+", j.layers from job j where "+active+" order by j.id")
	if err == nil {
		err = scanJobs(&list, layersOf)(r)
	}
	if err != nil {
		return nil, fmt.Errorf("list active jobs: %w", wrap(err))
	}
	return list, nil
}

// SetPace implements [store.Queue].
func (s *Store) SetPace(ctx context.Context, now time.Time, id job.ID, pace time.Duration) error {
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		j := store.Job{ID: id}
		c.queue("select state from job where id = $1 for update", number(id)).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&j.State)
			if noRows(err) {
				return store.ErrNotFound
			}
			return err
		})
		if err := c.send(ctx); err != nil {
			return err
		}
		if err := store.CheckPace(&j, pace); err != nil {
			return err
		}
		c.exec("update job set pace = $2, changed_at = $3 where id = $1", number(id), pace.Milliseconds(), milli(now))
		return nil
	})
	if err != nil {
		return fmt.Errorf("set the pace of job %d: %w", id, err)
	}
	s.news(ctx, store.NewJobs)
	return nil
}

// jobFacts are the columns of a job without its spec and layers, as scanJobs reads them.
const jobFacts = `j.id, j.tenant, j.name, j.state, j.reason, j.max_pages, j.created_at, coalesce(j.started_at, 0), coalesce(j.ended_at, 0), j.pace, j.settings, j.ran, j.since`

// scanJobs reads jobs into a list.
func scanJobs(list *[]store.Job, more ...func(j *store.Job) any) func(pgx.Rows) error {
	var j store.Job
	var created, started, ended, pace, ran int64
	targets := []any{&j.ID, &j.Tenant, &j.Name, &j.State, &j.Reason, &j.MaxPages, &created, &started, &ended, &pace, &j.Settings, &ran, &j.Since}
	for _, m := range more {
		targets = append(targets, m(&j))
	}
	return rows(targets, func() error {
		j.CreatedAt, j.StartedAt, j.EndedAt = instant(created), instant(started), instant(ended)
		j.Pace, j.Ran = time.Duration(pace)*time.Millisecond, time.Duration(ran)*time.Millisecond
		*list = append(*list, j)
		j.Spec, j.Layers = nil, nil
		return nil
	})
}

// layersOf makes scanJobs read the layers, too.
func layersOf(j *store.Job) any { return &j.Layers }

// notNone stores no layers as an empty list.
func notNone(layers []limit.Layer) []limit.Layer {
	if layers == nil {
		return []limit.Layer{}
	}
	return layers
}

// turnOf is the SQL expression for the turn of a job that enters a state.
func turnOf(s job.State) string {
	if s == job.Queued {
		return "nextval('turn')"
	}
	return "0"
}
