package postgres

import (
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/storetest"
)

// TestJobTables creates tables for a job when it is admitted, if it may become large then:
// queued jobs have none, and jobs with a low limit share tables.
func TestJobTables(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	tables := func() (n int) {
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
	if n := tables(); n > 0 {
		t.Errorf("%d sets of tables for queued jobs", n)
	}
	storetest.SetSafety(t, s, limit.Limits{ConcurrentCrawls: 2, Pages: 50})
	list, err := s.Admit(ctx, now)
	if err != nil || len(list) != 2 || tables() > 0 {
		t.Errorf("%d jobs of at most 50 pages, %d sets of tables, %v", len(list), tables(), err)
	}
	storetest.SetSafety(t, s, limit.Limits{ConcurrentCrawls: 5})
	list, err = s.Admit(ctx, now)
	if err != nil || len(list) != 3 || tables() != 3 {
		t.Errorf("%d jobs without a limit, %d sets of tables, %v", len(list), tables(), err)
	}
	for i, j := range list { // tenants in turn, though each set of tables is a transaction
		if want := ids[2+i]; j.ID != want {
			t.Errorf("place %d went to job %d, want %d", i, j.ID, want)
		}
		if err := s.Drop(ctx, j.ID); err == nil {
			t.Error("a running job was dropped")
		}
	}
}

// TestTablesAreCreatedOutsideTheQueue checks that the queue is not locked while the tables of
// a job are created, so that other jobs are admitted meanwhile.
func TestTablesAreCreatedOutsideTheQueue(t *testing.T) {
	var s *Store
	made := 0
	ctx, now := t.Context(), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	s = openTest(t, t.TempDir(), func(statement string) error {
		if statement != "create job tables" || s == nil {
			return nil
		}
		made++
		var held int
		err := s.pool.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and classid = $1", uint32(lockOfQueue)).Scan(&held)
		if err != nil || held > 0 {
			t.Errorf("the queue is held %d times while tables are created, %v", held, err)
		}
		return nil
	})
	defer s.Close()
	for range 2 {
		_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "x", State: job.Queued, CreatedAt: now})
		fatal(t, err)
	}
	storetest.SetSafety(t, s, limit.Limits{})
	list, err := s.Admit(ctx, now)
	if err != nil || len(list) != 2 || made != 2 {
		t.Errorf("%d jobs got places, %d sets of tables were made, %v", len(list), made, err)
	}
}
