package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// queue decides which queued job is next. One counter numbers both arrivals and turns.
type queue struct {
	last   int64
	served map[string]int64 // the last turn of tenants that have queued jobs
}

// next increments the counter.
func (q *queue) next() int64 {
	q.last++
	return q.last
}

// Admit implements [store.Queue].
func (s *Store) Admit(ctx context.Context, now time.Time) ([]store.Job, error) {
	if err := s.begin(ctx, "admit"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	s.resettle()
	safety := s.settings.newest().Safety
	var list []store.Job
	for r := s.nextQueued(safety); r != nil; r = s.nextQueued(safety) {
		around := s.around(now, r)
		around.Safety = safety
		r.Settings = s.settings.newest().Version
		over := around.Admit(&r.Job)
		r.State, r.Reason, r.StartedAt, r.EndedAt = job.Running, "", store.Stored(now), time.Time{}
		s.queue.served[r.Tenant] = s.queue.next()
		if over != nil {
			r.State, r.Reason, r.EndedAt = job.Partial, string(over.Limit), r.StartedAt
			r.note(store.StopOf(r.ID, now, over))
		} else {
			if r.MaxPages > 0 {
				s.ledger.SetLimit(r.ID, r.MaxPages, s.count(r).Pages())
			}
			list = append(list, withoutSpec(r.Job))
		}
		s.ledger.SetState(r.ID, r.State)
	}
	first := s.firstQueued()
	maps.DeleteFunc(s.queue.served, func(tenant string, _ int64) bool { return first[tenant] == nil })
	return list, nil
}

// firstQueued returns the oldest queued job of each tenant.
func (s *Store) firstQueued() map[string]*run {
	first := map[string]*run{}
	for _, r := range s.jobs {
		if f := first[r.Tenant]; r.State == job.Queued && (f == nil || r.turn < f.turn) {
			first[r.Tenant] = r
		}
	}
	return first
}

// nextQueued is the next job to admit; nil for none or if there is no place.
func (s *Store) nextQueued(safety limit.Limits) *run {
	busy := map[string]int64{}
	for _, r := range s.active() {
		busy[r.Tenant]++
	}
	taken := int64(len(s.active()))
	if full(safety, taken) {
		return nil
	}
	open := !full(safety, taken+safety.ConcurrentCrawls/store.KeptPart)
	first := s.firstQueued()
	maps.DeleteFunc(first, func(tenant string, _ *run) bool {
		return full(s.planOf(tenant).Limits, busy[tenant]) || busy[tenant] > 0 && !open
	})
	since := func(r *run) int64 { return max(r.turn, s.queue.served[r.Tenant]) }
	list := slices.SortedFunc(maps.Values(first), func(a, b *run) int { return cmp.Compare(since(a), since(b)) })
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// full reports whether all places are taken.
func full(l limit.Limits, taken int64) bool {
	return l.ConcurrentCrawls != 0 && taken >= max(l.ConcurrentCrawls, 0)
}

// active lists the admitted jobs, unordered.
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
		j := r.Job
		j.Spec = nil
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b store.Job) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// SetPace implements [store.Queue].
func (s *Store) SetPace(ctx context.Context, _ time.Time, id job.ID, pace time.Duration) error {
	if err := s.begin(ctx, "set pace"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return err
	}
	if err := store.CheckPace(&r.Job, pace); err != nil {
		return err
	}
	r.Pace = pace.Truncate(time.Millisecond)
	return nil
}

func withoutSpec(j store.Job) store.Job {
	j.Spec, j.Layers = nil, nil
	return j
}
