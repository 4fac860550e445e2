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

// Turns implements [store.JobLists].
func (s *Store) Turns(ctx context.Context, ids []job.ID) (map[job.ID]store.Turn, error) {
	if err := s.begin(ctx, "turns"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	type waiting struct {
		*run
		round int
		since int64
	}
	var line []waiting
	first := s.firstQueued()
	for _, r := range s.jobs {
		if r.State != job.Queued {
			continue
		}
		x := waiting{r, 0, max(first[r.Tenant].turn, s.queue.served[r.Tenant])}
		for _, o := range s.jobs {
			if o.State == job.Queued && o.Tenant == r.Tenant && o.turn < r.turn {
				x.round++
			}
		}
		line = append(line, x)
	}
	slices.SortFunc(line, func(a, b waiting) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.since, b.since)) })
	turns := map[job.ID]store.Turn{}
	for i, x := range line {
		if !slices.Contains(ids, x.ID) {
			continue
		}
		t := store.Turn{Place: int64(i + 1), Workers: int64(len(s.ledger.Workers())), OwnMax: s.planOf(x.Tenant).Limits.ConcurrentCrawls}
		for _, r := range s.active() {
			t.Running++
			if r.Tenant == x.Tenant {
				t.Own++
			}
		}
		turns[x.ID] = t
	}
	return turns, nil
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
