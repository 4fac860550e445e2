package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// tenants is the plans, the tenants and their usage.
type tenants struct {
	plans map[string]store.Plan
	names map[string]store.Tenant
	used  map[month]store.Usage
}

// month is one month of one tenant.
type month struct {
	tenant string
	month  store.Month
}

var _ store.Tenants = (*Store)(nil)

// SetPlan implements [store.Tenants].
func (s *Store) SetPlan(ctx context.Context, p store.Plan) error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := s.begin(ctx, "set plan"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.tenants.plans[p.Name] = p
	return nil
}

// Plans implements [store.Tenants].
func (s *Store) Plans(ctx context.Context) ([]store.Plan, error) {
	if err := s.begin(ctx, "plans"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return sorted(s.tenants.plans), nil
}

// SetTenant implements [store.Tenants].
func (s *Store) SetTenant(ctx context.Context, t store.Tenant) error {
	if err := t.Check(); err != nil {
		return err
	}
	if err := s.begin(ctx, "set tenant"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.tenants.plans[t.Plan]; !ok && t.Plan != "" {
		return fmt.Errorf("set tenant %q: plan %q: %w", t.Name, t.Plan, store.ErrNotFound)
	}
	s.tenants.names[t.Name] = t
	return nil
}

// Tenants implements [store.Tenants].
func (s *Store) Tenants(ctx context.Context, names ...string) ([]store.Tenant, error) {
	if err := s.begin(ctx, "tenants"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	list := sorted(s.tenants.names)
	return slices.DeleteFunc(list, func(t store.Tenant) bool { return len(names) > 0 && !slices.Contains(names, t.Name) }), nil
}

// Usage implements [store.Tenants].
func (s *Store) Usage(ctx context.Context, m store.Month, names ...string) ([]store.Usage, error) {
	if err := s.begin(ctx, "usage"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Usage
	for k, u := range s.tenants.used {
		if k.month == m && (len(names) == 0 || slices.Contains(names, u.Tenant)) {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b store.Usage) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return list, nil
}

// sorted are the values of a map in the order of its keys.
func sorted[T any](m map[string]T) []T {
	var list []T
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[name])
	}
	return list
}

// planOf is the plan of a tenant, zero for none.
func (s *Store) planOf(tenant string) store.Plan {
	return s.tenants.plans[s.tenants.names[tenant].Plan]
}

// quota is what a tenant may use in a month, and has used.
func (s *Store) quota(now time.Time, tenant string) limit.Quota {
	p, u := s.planOf(tenant), s.tenants.used[month{tenant, store.MonthOf(now)}]
	return limit.Quota{Pages: p.MonthPages, UsedPages: u.Pages, Bytes: p.MonthBytes, UsedBytes: u.Bytes}
}

// around returns the layers around a job, except safety.
func (s *Store) around(now time.Time, r *run) store.Surroundings {
	around := store.Surroundings{Plan: s.planOf(r.Tenant).Limits, Quota: s.quota(now, r.Tenant)}
	around.Quota.HadPages = s.count(r).Pages()
	for i := range r.points {
		around.Quota.HadBytes += r.points[i].Bytes
	}
	return around
}

// Quota implements [store.Queue].
func (s *Store) Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error) {
	if err := s.begin(ctx, "quota"); err != nil {
		return limit.Quota{}, err
	}
	defer s.mu.Unlock()
	return s.quota(now, tenant), nil
}

// meter adds a commit to the usage of its tenants.
func (s *Store) meter(c *store.Commit) {
	add := func(v *visit.Visit, page bool) {
		tenant := s.jobs[v.Item.Job].Tenant
		if _, ok := s.tenants.names[tenant]; !ok {
			return
		}
		k := month{tenant, store.MonthOf(c.At)}
		u := s.tenants.used[k]
		u.Tenant, u.Month, u.Bytes = k.tenant, k.month, u.Bytes+v.Answer.WireBytes
		if page {
			u.Pages++
		}
		if u.Pages > 0 || u.Bytes > 0 {
			s.tenants.used[k] = u
		}
	}
	for i := range c.Visits {
		add(&c.Visits[i], c.Visits[i].Outcome.Page())
	}
	for i := range c.Retries {
		add(&c.Retries[i].Visit, false)
	}
}

// Note implements [store.Notices].
func (s *Store) Note(ctx context.Context, n store.Notice) (bool, error) {
	if err := s.begin(ctx, "note"); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	r := s.jobs[n.Job]
	return r != nil && r.note(n), nil
}

// note keeps a notice and reports whether it is new.
func (r *run) note(n store.Notice) bool {
	n.At = store.Stored(n.At)
	at := slices.IndexFunc(r.notices, func(x store.Notice) bool { return x.Limit == n.Limit && x.Percent == n.Percent && x.Max == n.Max })
	switch {
	case at >= 0 && (n.Percent != store.StoppedBy || !r.notices[at].At.Before(r.StartedAt)):
		return false
	case at >= 0:
		r.notices = slices.Delete(r.notices, at, at+1)
	}
	r.notices = append(r.notices, n)
	return true
}

// Notices implements [store.Notices].
func (s *Store) Notices(ctx context.Context, id job.ID) ([]store.Notice, error) {
	if err := s.begin(ctx, "notices"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if r := s.jobs[id]; r != nil {
		return slices.Clone(r.notices), nil
	}
	return nil, nil
}
