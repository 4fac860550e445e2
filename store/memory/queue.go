package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/store"
)

// queue is whose turn it is among the queued jobs. One counter numbers both the
// arrivals and the turns.
type queue struct {
	last   int64
	served map[string]int64 // the last turn of tenants that have queued jobs
}

// next counts on.
func (q *queue) next() int64 {
	q.last++
	return q.last
}

// Admit implements [store.Queue].
func (s *Store) Admit(ctx context.Context, now time.Time, most int) ([]store.Job, error) {
	if err := s.begin(ctx, "admit"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Job
	for range most - len(s.active()) {
		r := s.nextQueued()
		if r == nil {
			break
		}
		r.State, r.Reason, r.StartedAt, r.EndedAt = job.Running, "", store.Stored(now), time.Time{}
		s.queue.served[r.Tenant] = s.queue.next()
		list = append(list, withoutSpec(r.Job))
	}
	first := s.firstQueued()
	maps.DeleteFunc(s.queue.served, func(tenant string, _ int64) bool { return first[tenant] == nil })
	return list, nil
}

// firstQueued returns the job each tenant queued first.
func (s *Store) firstQueued() map[string]*run {
	first := map[string]*run{}
	for _, r := range s.jobs {
		if f := first[r.Tenant]; r.State == job.Queued && (f == nil || r.turn < f.turn) {
			first[r.Tenant] = r
		}
	}
	return first
}

// nextQueued is the job whose turn it is, nil for none.
func (s *Store) nextQueued() *run {
	since := func(r *run) int64 { return max(r.turn, s.queue.served[r.Tenant]) }
	first := slices.SortedFunc(maps.Values(s.firstQueued()), func(a, b *run) int { return cmp.Compare(since(a), since(b)) })
	if len(first) == 0 {
		return nil
	}
	return first[0]
}

// active lists the jobs that have a place, in no order.
func (s *Store) active() []*run {
	var list []*run
	for _, r := range s.jobs {
		if store.Active(r.State) {
			list = append(list, r)
		}
	}
	return list
}

// ActiveJobs implements [store.Queue].
func (s *Store) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	if err := s.begin(ctx, "active jobs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Job
	for _, r := range s.active() {
		list = append(list, withoutSpec(r.Job))
	}
	slices.SortFunc(list, func(a, b store.Job) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

func withoutSpec(j store.Job) store.Job {
	j.Spec = nil
	return j
}
