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
