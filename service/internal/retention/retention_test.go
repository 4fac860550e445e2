package retention

import (
	"context"
	"errors"
	"testing"
	"time"

	"headway/job"
	"headway/store"
)

// fakeStore is a store with a number of expired jobs and old events.
type fakeStore struct {
	jobs   []job.ID
	events int
	stuck  map[job.ID]error

	segments map[string]bool
}

func (s *fakeStore) Expired(_ context.Context, _ time.Time, most int) ([]job.ID, error) {
	return s.jobs[:min(most, len(s.jobs))], nil
}

func (s *fakeStore) Drop(_ context.Context, id job.ID) error {
	if err := s.stuck[id]; err != nil {
		return err
	}
	for i, j := range s.jobs {
		if j == id {
			s.jobs = append(append([]job.ID{}, s.jobs[:i]...), s.jobs[i+1:]...)
			return nil
		}
	}
	return store.ErrNotFound
}

func (s *fakeStore) ForgetEvents(context.Context, time.Time) (int, error) {
	n := min(s.events, store.MaxEvents)
	s.events -= n
	return n, nil
}

func (s *fakeStore) KnownSegments(_ context.Context, keys []string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, k := range keys {
		known[k] = s.segments[k]
	}
	return known, nil
}

// fakeArchive has objects by the time they were written.
type fakeArchive map[string]time.Time

func (a fakeArchive) Sweep(ctx context.Context, before time.Time, _ int, known func(context.Context, []string) (map[string]bool, error)) (n int, err error) {
	for key, at := range a {
		is, err := known(ctx, []string{key})
		if err != nil {
			return n, err
		}
		if at.Before(before) && !is[key] {
			delete(a, key)
			n++
		}
	}
	return n, nil
}

// TestSweep deletes objects of the archive a day after they were written, unless a job
// references them.
func TestSweep(t *testing.T) {
	now := time.Now()
	a := fakeArchive{"lost": now, "kept": now}
	k := New(&fakeStore{segments: map[string]bool{"kept": true}}, a, nil)
	for after, want := range map[time.Duration]int{23*time.Hour + 59*time.Minute: 2, 24*time.Hour + time.Second: 1} {
		a["lost"] = now
		if err := k.forget(t.Context(), now.Add(after)); err != nil || len(a) != want || a["kept"].IsZero() {
			t.Errorf("after %v: %v are left, %v", after, a, err)
		}
	}
}

func TestForget(t *testing.T) {
	errDisk := errors.New("no disk")
	for _, c := range []struct {
		name   string
		jobs   int
		events int
		stuck  map[job.ID]error
		left   int
		err    error
	}{
		{"nothing to do", 0, 0, nil, 0, nil},
		{"more than at once", 250, 2500, nil, 0, nil},
		{"some run again", 250, 10, map[job.ID]error{3: store.ErrConflict, 120: store.ErrConflict}, 2, nil},
		{"one fails", 50, 0, map[job.ID]error{7: errDisk}, 1, errDisk},
		{"a whole page is stuck", 100, 5, func() map[job.ID]error {
			all := map[job.ID]error{}
			for i := range 100 {
				all[job.ID(i+1)] = store.ErrConflict
			}
			return all
		}(), 100, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakeStore{events: c.events, stuck: c.stuck}
			for i := range c.jobs {
				s.jobs = append(s.jobs, job.ID(i+1))
			}
			if err := New(s, nil, nil).forget(t.Context(), time.Now()); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if len(s.jobs) != c.left || c.err == nil && s.events != 0 {
				t.Errorf("%d jobs and %d events are left, want %d and 0", len(s.jobs), s.events, c.left)
			}
		})
	}
}
