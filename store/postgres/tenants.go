package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

var _ store.Tenants = (*Store)(nil)

// SetPlan implements [store.Tenants].
func (s *Store) SetPlan(ctx context.Context, p store.Plan) error {
	if err := p.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.exec(`insert into plan (name, limits, month_pages, month_bytes) values ($1, $2, $3, $4)
			on conflict (name) do update set limits = excluded.limits, month_pages = excluded.month_pages, month_bytes = excluded.month_bytes`,
			clean(p.Name), p.Limits, p.MonthPages, p.MonthBytes)
		return nil
	})
	if err != nil {
		return fmt.Errorf("set plan %q: %w", p.Name, err)
	}
	s.notifier.notify(store.NewJobs, everybody) // there may be more places
	return nil
}

// Plans implements [store.Tenants].
func (s *Store) Plans(ctx context.Context) ([]store.Plan, error) {
	var list []store.Plan
	var p store.Plan
	err := s.all(ctx, []any{&p.Name, &p.Limits, &p.MonthPages, &p.MonthBytes}, func() { list = append(list, p) },
		"select name, limits, month_pages, month_bytes from plan order by name")
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return list, nil
}

// SetTenant implements [store.Tenants].
func (s *Store) SetTenant(ctx context.Context, t store.Tenant) error {
	if err := t.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue("select 1 where $1 = '' or exists (select from plan where name = $1)", clean(t.Plan)).Exec(affected(1, errf("plan %q: %w", t.Plan, store.ErrNotFound)))
		c.exec("insert into tenant (name, plan) values ($1, nullif($2, '')) on conflict (name) do update set plan = excluded.plan", clean(t.Name), clean(t.Plan))
		return nil
	})
	if err != nil {
		return fmt.Errorf("set tenant %q: %w", t.Name, err)
	}
	s.notifier.notify(store.NewJobs, everybody) // there may be more places
	return nil
}

// Tenants implements [store.Tenants].
func (s *Store) Tenants(ctx context.Context, names ...string) ([]store.Tenant, error) {
	var list []store.Tenant
	var t store.Tenant
	query, args := "select name, coalesce(plan, '') from tenant", []any{}
	if len(names) > 0 {
		query, args = query+" where name = any($1)", append(args, names)
	}
	err := s.all(ctx, []any{&t.Name, &t.Plan}, func() { list = append(list, t) }, query+" order by name", args...)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	return list, nil
}

// Usage implements [store.Tenants].
func (s *Store) Usage(ctx context.Context, m store.Month, names ...string) ([]store.Usage, error) {
	var list []store.Usage
	u := store.Usage{Month: m}
	query, args := "select tenant, sum(pages)::bigint, sum(bytes)::bigint from usage where month = $1", []any{m}
	if len(names) > 0 {
		query, args = query+" and tenant = any($2)", append(args, names)
	}
	err := s.all(ctx, []any{&u.Tenant, &u.Pages, &u.Bytes}, func() { list = append(list, u) }, query+" group by tenant order by tenant", args...)
	if err != nil {
		return nil, fmt.Errorf("usage in %s: %w", m, err)
	}
	return list, nil
}

// all reads all rows of a query.
func (s *Store) all(ctx context.Context, targets []any, each func(), query string, args ...any) error {
	r, err := s.reading(ctx).Query(ctx, query, args...)
	if err == nil {
		err = rows(targets, func() error { each(); return nil })(r)
	}
	return wrap(err)
}

// aroundTenants reads the plans of tenants and their usage in a month. Unknown tenants have
// neither.
const aroundTenants = `select x.name, coalesce(p.limits, '{}'), coalesce(p.month_pages, 0), coalesce(p.month_bytes, 0), u.pages, u.bytes
	from unnest($1::text[]) as w (name) join tenant x on x.name = w.name left join plan p on p.name = x.plan
	cross join lateral (select coalesce(sum(u.pages), 0)::bigint as pages, coalesce(sum(u.bytes), 0)::bigint as bytes from usage u where u.tenant = x.name and u.month = $2) as u`

// scanAround reads the surroundings of the jobs of tenants.
func scanAround(around map[string]store.Surroundings) func(pgx.Rows) error {
	var name string
	var s store.Surroundings
	return rows([]any{&name, &s.Plan, &s.Quota.Pages, &s.Quota.Bytes, &s.Quota.UsedPages, &s.Quota.UsedBytes}, func() error {
		around[name] = s
		return nil
	})
}

// Quota implements [store.Queue].
func (s *Store) Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error) {
	around := map[string]store.Surroundings{}
	r, err := s.reading(ctx).Query(ctx, aroundTenants, []string{tenant}, store.MonthOf(now))
	if err == nil {
		err = scanAround(around)(r)
	}
	if err != nil {
		return limit.Quota{}, fmt.Errorf("quota of %q: %w", tenant, wrap(err))
	}
	return around[tenant].Quota, nil
}

// meter adds a commit to the usage of its tenants. Jobs without a tenant are not counted.
func (b *batch) meter(c *store.Commit) {
	type use struct{ pages, bytes int64 }
	used := map[string]use{}
	add := func(id job.ID, pages int64, v *visit.Visit) {
		if tenant := b.tenants[id]; tenant != "" {
			u := used[tenant]
			used[tenant] = use{u.pages + pages, u.bytes + v.Answer.WireBytes}
		}
	}
	for i := range c.Visits {
		v, pages := &c.Visits[i], int64(0)
		if v.Outcome.Page() {
			pages = 1
		}
		add(v.Item.Job, pages, v)
	}
	for i := range c.Retries {
		add(c.Retries[i].Visit.Item.Job, 0, &c.Retries[i].Visit)
	}
	maps.DeleteFunc(used, func(_ string, u use) bool { return u == use{} })
	if len(used) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(used))
	pages, bytes := make([]int64, len(names)), make([]int64, len(names))
	for i, name := range names {
		pages[i], bytes[i] = used[name].pages, used[name].bytes
	}
	b.exec(`insert into usage (tenant, month, shard, pages, bytes) select w.name, $1, $2, w.pages, w.bytes from unnest($3::text[], $4::bigint[], $5::bigint[]) as w (name, pages, bytes) join tenant x on x.name = w.name
		on conflict (tenant, month, shard) do update set pages = usage.pages + excluded.pages, bytes = usage.bytes + excluded.bytes`, store.MonthOf(c.At), b.shard(), names, pages, bytes)
}
