package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/ledger"
	"headway/weburl"
)

var _ store.Suspects = (*Store)(nil)

// suspects is what is watched, what is suspect, and when owners of slots died.
type suspects struct {
	urls map[suspectKey]*suspect
	died map[store.Slot]time.Time
}

type suspectKey struct {
	job job.ID
	url weburl.URL
}

type suspect struct {
	worker store.WorkerID // that watches it; 0 for none
	deaths int
}

// Watch implements [store.Suspects].
func (s *Store) Watch(ctx context.Context, w store.WorkerID, begun, done []store.Suspect) error {
	if err := store.CheckWatched(begun, done); err != nil {
		return err
	}
	if err := s.begin(ctx, "watch"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.ledger.Workers(), func(x store.Worker) bool { return x.ID == w }) {
		return fmt.Errorf("worker %d watches URLs: %w", w, store.ErrFenced)
	}
	for _, u := range done {
		k := suspectKey{u.Job, u.URL}
		if x := s.suspects.urls[k]; x != nil && (x.worker == w || x.worker == 0) {
			delete(s.suspects.urls, k)
		}
	}
	for _, u := range begun {
		if s.jobs[u.Job] == nil {
			continue
		}
		k := suspectKey{u.Job, u.URL}
		x := s.suspects.urls[k]
		if x == nil {
			x = &suspect{deaths: 1}
			s.suspects.urls[k] = x
		}
		x.worker = w
	}
	return nil
}

// Suspicions implements [store.Suspects].
func (s *Store) Suspicions(ctx context.Context, slots []store.Slot) (store.Suspicions, error) {
	if err := s.begin(ctx, "suspicions"); err != nil {
		return store.Suspicions{}, err
	}
	defer s.mu.Unlock()
	got := store.Suspicions{Died: map[store.Slot]time.Time{}}
	for _, slot := range slots {
		if at, ok := s.suspects.died[slot]; ok {
			got.Died[slot] = at
		}
	}
	for k, x := range s.suspects.urls {
		if x.deaths > 1 && slices.Contains(slots, store.SlotOf(s.key, k.url.Domain())) && !s.jobs[k.job].State.Ended() {
			got.URLs = append(got.URLs, store.Suspect{Job: k.job, URL: k.url, Deaths: x.deaths})
		}
	}
	slices.SortFunc(got.URLs, func(a, b store.Suspect) int {
		return cmp.Or(cmp.Compare(b.Deaths, a.Deaths), cmp.Compare(a.Job, b.Job), strings.Compare(a.URL.String(), b.URL.String()))
	})
	got.URLs = got.URLs[:min(len(got.URLs), store.MaxSuspects)]
	return got, nil
}

// end ends what a worker watches. If it died, that is suspect.
func (s *suspects) end(w store.WorkerID, died bool) {
	for k, x := range s.urls {
		switch {
		case x.worker != w:
		case died:
			x.deaths++
			x.worker = 0
		case x.deaths == 1:
			delete(s.urls, k)
		default:
			x.worker = 0
		}
	}
}

// deaths compares the workers with those before, some of which may have been declared dead
// since, and records what was in flight.
func (s *Store) deaths(now time.Time, workers []store.Worker, slots *[store.SlotCount]ledger.Slot) {
	alive := map[store.WorkerID]bool{}
	for _, w := range s.ledger.Workers() {
		alive[w.ID] = true
	}
	for _, w := range workers {
		if alive[w.ID] {
			continue
		}
		s.suspects.end(w.ID, true)
		for i := range slots {
			if slots[i].Owner == w.ID {
				s.suspects.died[store.Slot(i)] = store.Stored(now)
			}
		}
	}
}
