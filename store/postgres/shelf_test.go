package postgres

import (
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// TestShelves makes tables for a job when it gets a place, if it may become large
// then: what waits in the queue has none, and what a limit keeps small lies with
// the others.
func TestShelves(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	shelves := func() (n int) {
		t.Helper()
		if err := s.pool.QueryRow(ctx, "select count(*) from shelf where id > 0").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var ids []job.ID
	for i := range 6 {
		id, err := s.CreateJob(ctx, store.Job{Tenant: fmt.Sprint("t", i%2), Name: "x", State: job.Queued, CreatedAt: now})
		if err != nil {
			t.Fatal(err)
		}
		if counts, err := s.Counts(ctx, id); err != nil || counts.Seen() > 0 {
			t.Errorf("a queued job: %+v, %v", counts, err)
		}
		ids = append(ids, id)
	}
	if n := shelves(); n > 0 {
		t.Errorf("%d shelves for queued jobs", n)
	}
	list, err := s.Admit(ctx, now, limit.Limits{ConcurrentCrawls: 2, Pages: 50})
	if err != nil || len(list) != 2 || shelves() > 0 {
		t.Errorf("%d jobs of at most 50 pages, %d shelves, %v", len(list), shelves(), err)
	}
	list, err = s.Admit(ctx, now, limit.Limits{ConcurrentCrawls: 5})
	if err != nil || len(list) != 3 || shelves() != 3 {
		t.Errorf("%d jobs without a limit, %d shelves, %v", len(list), shelves(), err)
	}
	for i, j := range list { // tenants in turn, though each shelf is a transaction
		if want := ids[2+i]; j.ID != want {
			t.Errorf("place %d went to job %d, want %d", i, j.ID, want)
		}
		if err := s.Drop(ctx, j.ID); err == nil {
			t.Error("a running job was dropped")
		}
	}
}

// TestShelvesAreMadeOutsideTheQueue looks who holds the queue while the tables of a
// job are made: nobody, so that other jobs get their places meanwhile.
func TestShelvesAreMadeOutsideTheQueue(t *testing.T) {
	var s *Store
	made := 0
	ctx, now := t.Context(), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	s = openTest(t, t.TempDir(), func(statement string) error {
		if statement != "create shelf" || s == nil {
			return nil
		}
		made++
		var held int
		err := s.pool.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and classid = $1", uint32(lockOfQueue)).Scan(&held)
		if err != nil || held > 0 {
			t.Errorf("the queue is held %d times while a shelf is made, %v", held, err)
		}
		return nil
	})
	defer s.Close()
	for range 2 {
		_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "x", State: job.Queued, CreatedAt: now})
		fatal(t, err)
	}
	list, err := s.Admit(ctx, now, limit.Limits{})
	if err != nil || len(list) != 2 || made != 2 {
		t.Errorf("%d jobs got places, %d shelves were made, %v", len(list), made, err)
	}
}
