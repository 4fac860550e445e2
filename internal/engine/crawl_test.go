package engine

import (
	"context"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/weburl"
)

// clockStore records the times at which URLs were added.
type clockStore struct {
	store.Store
	added []time.Time
}

func (s *clockStore) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	s.added = append(s.added, now)
	return s.Store.Add(ctx, now, found)
}

// TestRenewClock checks that Renew adds URLs with the current time.
func TestRenewClock(t *testing.T) {
	st := &clockStore{Store: memory.Open(memory.Config{})}
	id, err := st.CreateJob(t.Context(), store.Job{State: job.Queued, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := weburl.Parse("http://new.example/")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(newWorker(st), Job{Seeds: []weburl.URL{seed}})
	if err != nil {
		t.Fatal(err)
	}
	if more, err := c.Renew(t.Context(), id); err != nil || more.Seeds != 1 {
		t.Fatalf("%+v, %v", more, err)
	}
	for _, at := range st.added {
		if age := time.Since(at); age < 0 || age > time.Minute {
			t.Errorf("added by the time of %v", at)
		}
	}
	if len(st.added) == 0 {
		t.Error("nothing was added")
	}
}
