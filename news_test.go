package headway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/store"
)

// told is a store that tells of news, and takes a while to list jobs.
type told struct {
	*line
	store.Control
	news   chan store.News
	listed atomic.Int64 // how often jobs were asked for
}

// listTime is how long the list of jobs is under way.
const listTime = 300 * time.Millisecond

func (s *told) Holdings(context.Context) ([]store.Holding, error) { return nil, nil }

func (s *told) Await(ctx context.Context, _ store.WorkerID, look func(store.News)) error {
	for what := store.AllNews; ; {
		look(what)
		select {
		case what = <-s.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ActiveJobs is what there was when it was asked for.
func (s *told) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	s.listed.Add(1)
	list, err := s.line.ActiveJobs(ctx)
	time.Sleep(listTime)
	return list, err
}

// TestFleetNews brings news while the question for what there was before is under
// way: it is asked again right after the answer, not at the next poll.
func TestFleetNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &told{news: make(chan store.News)}
		f := &fleet{simulated: newSimulated(t, 1, small(3))}
		f.worker = func(c *headway.Worker) {
			st.line = c.Store.(*line)
			c.Store = st
		}
		workers := []*worker{f.start()}
		time.Sleep(store.PollEvery / 2) // it has looked, and looks again in as long
		before := st.listed.Load()
		st.news <- store.NewJobs
		time.Sleep(listTime / 2)
		st.news <- store.NewJobs
		time.Sleep(2 * listTime)
		if n := st.listed.Load() - before; n != 2 {
			t.Errorf("jobs were asked for %d times after news of two, want 2", n)
		}
		f.drain(workers)
	})
}
