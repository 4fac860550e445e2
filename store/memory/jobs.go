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
	"headway/weburl"
)

// CreateJob implements [store.Jobs].
func (s *Store) CreateJob(ctx context.Context, j store.Job) (job.ID, error) {
	if err := j.Check(); err != nil {
		return 0, err
	}
	if err := s.begin(ctx, "create job"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	s.lastJob++
	j.ID, j.Spec, j.Layers, j.CreatedAt = s.lastJob, slices.Clone(j.Spec), slices.Clone(j.Layers), store.Stored(j.CreatedAt)
	j.StartedAt, j.EndedAt, j.Settings, j.Ran = time.Time{}, time.Time{}, 0, 0
	if j.State == job.Running {
		j.StartedAt, j.Settings = j.CreatedAt, s.settings.newest().Version
	}
	s.jobs[j.ID] = &run{
		Job: j, turn: s.queue.next(),
		urls: map[weburl.URL]*row{}, aside: map[weburl.URL]visit.Item{}, taken: map[string]bool{}, segments: map[string]bool{},
	}
	s.ledger.SetLimit(j.ID, j.MaxPages, 0)
	return j.ID, nil
}

// run finds a job. The store must be locked.
func (s *Store) run(id job.ID) (*run, error) {
	r := s.jobs[id]
	if r == nil {
		return nil, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	return r, nil
}

// Job implements [store.Jobs].
func (s *Store) Job(ctx context.Context, id job.ID) (store.Job, error) {
	if err := s.begin(ctx, "job"); err != nil {
		return store.Job{}, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return store.Job{}, err
	}
	return r.Job, nil
}

// JobList implements [store.Jobs].
func (s *Store) JobList(ctx context.Context, after job.ID, most int) ([]store.Job, error) {
	if err := s.begin(ctx, "job list"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Job
	for id, r := range s.jobs {
		if id > after {
			list = append(list, r.Job)
		}
	}
	slices.SortFunc(list, func(a, b store.Job) int { return cmp.Compare(a.ID, b.ID) })
	return list[:min(len(list), most)], nil
}

// SetState implements [store.Jobs].
func (s *Store) SetState(ctx context.Context, now time.Time, id job.ID, from, to job.State, reason string) error {
	if err := job.Check(from, to); err != nil {
		return err
	}
	if err := s.begin(ctx, "set state"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return err
	}
	if r.State != from {
		return fmt.Errorf("job %d is %s, not %s: %w", id, r.State, from, store.ErrConflict)
	}
	r.Ran = r.RanFor(store.Stored(now))
	r.State, r.Reason, r.EndedAt = to, reason, time.Time{}
	if to == job.Queued {
		r.turn, r.Settings = s.queue.next(), 0
	}
	if from == job.Queued && to == job.Running {
		r.Settings = s.settings.newest().Version
	}
	if to == job.Running {
		r.StartedAt = store.Stored(now)
	}
	if to.Ended() {
		r.EndedAt = store.Stored(now)
	}
	s.ledger.SetState(id, to)
	if to == job.Cancelled {
		s.forgetArrivalsOf(id)
	}
	return nil
}

// Extend implements [store.Jobs].
func (s *Store) Extend(ctx context.Context, now time.Time, id job.ID, maxPages int64) error {
	return s.ExtendLimits(ctx, now, id, store.Extension{limit.Pages: maxPages})
}

// ExtendLimits implements [store.Queue].
func (s *Store) ExtendLimits(ctx context.Context, now time.Time, id job.ID, to store.Extension) error {
	if err := s.begin(ctx, "extend"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return err
	}
	c := s.count(r)
	around := s.around(now, r)
	around.Safety = s.settings.newest().Safety
	if err := around.Extend(&r.Job, c, to); err != nil {
		return fmt.Errorf("extend job %d: %w", id, err)
	}
	s.ledger.SetLimit(id, r.MaxPages, c.Pages())
	for _, x := range r.order {
		if x.outcome == visit.Deferred {
			x.outcome, x.reason, x.endedAt, x.visit = visit.Pending, "", time.Time{}, nil
			r.admitted++
			s.arrive(id, x.item.URL.Host())
		}
	}
	return nil
}

// Reopen implements [store.Jobs].
func (s *Store) Reopen(ctx context.Context, _ time.Time, id job.ID, urls []weburl.URL) (int, error) {
	if len(urls) > store.MaxFound {
		return 0, fmt.Errorf("reopen %d URLs, at most %d", len(urls), store.MaxFound)
	}
	if err := s.begin(ctx, "reopen"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, u := range urls {
		x := r.urls[u]
		if x == nil || x.outcome == visit.Pending {
			continue
		}
		if x.outcome.Page() {
			s.ledger.Restore(id, 1)
		}
		if x.visit != nil {
			x.keep(*x.visit)
		}
		x.item.Attempt, x.item.NotBefore = 0, time.Time{}
		x.outcome, x.reason, x.endedAt, x.visit = visit.Pending, "", time.Time{}, nil
		r.admitted++
		s.arrive(id, u.Host())
		n++
	}
	return n, nil
}

// arrive records an arrival that is not in the owner's receipt, unless the job was
// cancelled.
func (s *Store) arrive(id job.ID, host string) {
	if s.ledger.Slots[s.slotOf(host)].Owner != 0 && s.jobs[id].State != job.Cancelled {
		s.arrivals[store.Arrival{Host: host, Job: id}] = true
	}
}

// count counts the rows of a run.
func (s *Store) count(r *run) store.Counts {
	c := store.Counts{Ended: map[store.Ending]int64{}, Admitted: r.admitted}
	var ending store.Ending // of the current run of equal endings: most equal the one before
	var alike int64
	for _, x := range r.order {
		if x.outcome == visit.Pending {
			c.Waiting++
			continue
		}
		if e := (store.Ending{Outcome: x.outcome, Reason: x.reason}); e != ending {
			if alike > 0 {
				c.Ended[ending] += alike
			}
			ending, alike = e, 0
		}
		alike++
	}
	if alike > 0 {
		c.Ended[ending] += alike
	}
	for _, e := range r.errands {
		if !e.ended {
			c.Errands++
		}
	}
	if n := len(r.aside); n > 0 {
		c.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}] += int64(n)
	}
	c.Tokens = s.ledger.Held(r.ID)
	return c
}

// Counts implements [store.Jobs].
func (s *Store) Counts(ctx context.Context, id job.ID) (store.Counts, error) {
	if err := s.begin(ctx, "counts"); err != nil {
		return store.Counts{}, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return store.Counts{}, err
	}
	return s.count(r), nil
}

// Audit implements [store.Jobs]. In memory only the rows are counted anyway.
func (s *Store) Audit(ctx context.Context, id job.ID) (store.Counts, error) { return s.Counts(ctx, id) }

// Idle implements [store.Jobs].
func (s *Store) Idle(ctx context.Context, id job.ID) (store.Idle, error) {
	c, err := s.Counts(ctx, id)
	return store.Idle{None: c.Waiting == 0 && c.Errands == 0, Admitted: c.Admitted}, err
}

// Drop implements [store.Jobs].
func (s *Store) Drop(ctx context.Context, id job.ID) error {
	if err := s.begin(ctx, "drop"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return err
	}
	if !r.State.Ended() {
		return fmt.Errorf("drop job %d, which is %s: %w", id, r.State, store.ErrConflict)
	}
	delete(s.jobs, id)
	maps.DeleteFunc(s.suspects.urls, func(k suspectKey, _ *suspect) bool { return k.job == id })
	s.ledger.DropJob(id)
	s.forgetArrivalsOf(id)
	return nil
}

// forgetArrivalsOf drops the notices of a job.
func (s *Store) forgetArrivalsOf(id job.ID) {
	for a := range s.arrivals {
		if a.Job == id {
			delete(s.arrivals, a)
		}
	}
}

// Record implements [store.Series].
func (s *Store) Record(ctx context.Context, points []store.Point) error {
	for i := range points {
		if err := points[i].Check(); err != nil {
			return err
		}
	}
	if err := s.begin(ctx, "record"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, p := range points {
		if _, err := s.run(p.Job); err != nil {
			return err
		}
	}
	for _, p := range points {
		r := s.jobs[p.Job]
		p.At = store.Stored(p.At)
		at, ok := slices.BinarySearchFunc(r.points, p, func(a, b store.Point) int { return a.At.Compare(b.At) })
		if ok {
			r.points[at] = r.points[at].Plus(p)
		} else {
			r.points = slices.Insert(r.points, at, p.Plus(store.Point{}))
		}
		r.points = store.Thin(r.points)
	}
	return nil
}

// Points implements [store.Series].
func (s *Store) Points(ctx context.Context, id job.ID) ([]store.Point, error) {
	if err := s.begin(ctx, "points"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.points), nil
}
