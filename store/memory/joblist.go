package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"headway/job"
	"headway/store"
)

var _ store.JobLists = (*Store)(nil)

// FindJobs implements [store.JobLists].
func (s *Store) FindJobs(ctx context.Context, q store.JobQuery) ([]store.Job, error) {
	if err := s.begin(ctx, "find jobs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Job
	for id, r := range s.jobs {
		if (q.All || r.Tenant == q.Tenant) && (q.State == "" || r.State == q.State) && (q.Before <= 0 || id < q.Before) {
			j := r.Job
			j.Layers = nil
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b store.Job) int { return cmp.Compare(b.ID, a.ID) })
	return list[:min(len(list), max(q.Max, 0), store.MaxPage)], nil
}

// CountJobs implements [store.JobLists].
func (s *Store) CountJobs(ctx context.Context, ids []job.ID) (map[job.ID]store.Counts, error) {
	if len(ids) > store.MaxPage {
		return nil, fmt.Errorf("count %d jobs, at most %d", len(ids), store.MaxPage)
	}
	if err := s.begin(ctx, "count jobs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	counts := make(map[job.ID]store.Counts, len(ids))
	for _, id := range ids {
		if r := s.jobs[id]; r != nil {
			counts[id] = s.count(r)
		}
	}
	return counts, nil
}

// Turn implements [store.JobLists].
func (s *Store) Turn(ctx context.Context, id job.ID) (t store.Turn, ok bool, err error) {
	if err := s.begin(ctx, "turn"); err != nil {
		return t, false, err
	}
	defer s.mu.Unlock()
	me := s.jobs[id]
	if me == nil || me.State != job.Queued {
		return t, false, nil
	}
	first := s.firstQueued()
	since := func(r *run) int64 { return max(first[r.Tenant].turn, s.queue.served[r.Tenant]) }
	rounds := map[job.ID]int{}
	tenants := map[string]bool{}
	for _, r := range s.jobs {
		if r.State != job.Queued {
			continue
		}
		tenants[r.Tenant] = true
		for _, o := range s.jobs {
			if o.State == job.Queued && o.Tenant == r.Tenant && o.turn <= r.turn {
				rounds[r.ID]++
			}
		}
	}
	for id, round := range rounds {
		if round < rounds[me.ID] || round == rounds[me.ID] && since(s.jobs[id]) <= since(me) {
			t.Place++
		}
	}
	if max(t.Place, int64(len(tenants))) > store.MaxPlace {
		t.Place = 0
	}
	t.Workers, t.OwnMax = int64(len(s.ledger.Workers())), s.planOf(me.Tenant).Limits.ConcurrentCrawls
	for _, r := range s.active() {
		t.Running++
		if r.Tenant == me.Tenant {
			t.Own++
		}
	}
	return t, true, nil
}

// Stops implements [store.JobLists].
func (s *Store) Stops(ctx context.Context, ids []job.ID) (map[job.ID][]store.Notice, error) {
	stops := map[job.ID][]store.Notice{}
	for _, id := range ids {
		list, err := s.Notices(ctx, id)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Percent == store.StoppedBy {
				stops[id] = append(stops[id], list[i])
			}
		}
	}
	return stops, nil
}
