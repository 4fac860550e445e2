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

// notifying is a store that sends notifications, and takes a while to list jobs.
type notifying struct {
	*line
	store.Control
	news   chan store.News
	listed atomic.Int64 // how often jobs were listed
}

// listTime is the duration of listing jobs.
const listTime = 300 * time.Millisecond

func (s *notifying) Holdings(context.Context) ([]store.Holding, error) { return nil, nil }

func (s *notifying) Await(ctx context.Context, _ store.WorkerID, look func(store.News)) error {
	for what := store.AllNews; ; {
		look(what)
		select {
		case what = <-s.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ActiveJobs returns the jobs at the time of the call.
func (s *notifying) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	s.listed.Add(1)
	list, err := s.line.ActiveJobs(ctx)
	time.Sleep(listTime)
	return list, err
}

// TestFleetNotification sends a notification while an older list of jobs is being read: the
// list is read again right after, not at the next poll.
func TestFleetNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &notifying{news: make(chan store.News)}
		f := &fleet{simulated: newSimulated(t, 1, small(3))}
		f.worker = func(c *headway.Worker) {
			st.line = c.Store.(*line)
			c.Store = st
		}
		workers := []*worker{f.start()}
		time.Sleep(store.PollEvery / 2) // it has polled, and polls again in as long
		before := st.listed.Load()
		st.news <- store.NewJobs
		time.Sleep(listTime / 2)
		st.news <- store.NewJobs
		time.Sleep(2 * listTime)
		if n := st.listed.Load() - before; n != 2 {
			t.Errorf("jobs were listed %d times after two notifications, want 2", n)
		}
		f.drain(workers)
	})
}
