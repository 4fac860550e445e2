package postgres

import (
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// TestUnsetSettings upgrades a database that holds jobs: it gets no settings, nothing is
// admitted until they are set, and an extension keeps the safety layer of its admission.
func TestUnsetSettings(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	running, err := s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 100})
	fatal(t, err)
	_, err = s.Admit(ctx, now)
	fatal(t, err)
	queued, err := s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 100})
	fatal(t, err)
	for _, text := range []string{"delete from fleet_settings", "update job set settings = 0"} { // as the migration leaves it
		_, err = s.pool.Exec(ctx, text)
		fatal(t, err)
	}
	fatal(t, s.SetState(ctx, now, running, job.Running, job.Paused, ""))
	if v, err := s.FleetSettings(ctx); err != nil || v.Version != 0 {
		t.Errorf("version %d, %v", v.Version, err)
	}
	if list, err := s.Admit(ctx, now); err != nil || len(list) > 0 {
		t.Errorf("admitted %v, %v", list, err)
	}
	fatal(t, s.Extend(ctx, now, running, 500))
	j, err := s.Job(ctx, running)
	if got := j.Limits().Of(limit.Pages).String(); err != nil || got != "max_pages 50 (safety; requested 500)" {
		t.Errorf("extended: %s, %v", got, err)
	}
	set := store.NewFleetSettings()
	set.Safety = limit.Limits{Pages: 20, ConcurrentCrawls: 2}
	_, err = s.SetFleetSettings(ctx, now, "anna", 0, set)
	fatal(t, err)
	if list, err := s.Admit(ctx, now); err != nil || len(list) != 1 || list[0].ID != queued || list[0].MaxPages != 20 {
		t.Errorf("admitted %+v, %v", list, err)
	}
	if j, err := s.Job(ctx, running); err != nil || j.MaxPages != 20 || j.Settings != 1 {
		t.Errorf("the paused job: %d pages under version %d, %v", j.MaxPages, j.Settings, err)
	}
	orders, err := s.Orders(ctx, store.OrderQuery{All: true, Max: 10})
	if err != nil || len(orders) != 1 || orders[0].By != "anna" || orders[0].Before != "not set" || orders[0].After != "max_pages 20, max_concurrent_crawls 2; lease 30s, commit gap 100ms" {
		t.Errorf("orders %+v, %v", orders, err)
	}
}

// TestOlderWorker: no job is admitted while a worker of an older version is alive, nor by one.
func TestOlderWorker(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	joined(t, s, 1)
	id, err := s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 1})
	fatal(t, err)
	var older store.WorkerID
	fatal(t, s.pool.QueryRow(ctx, "insert into worker (name, joined_at) values ('older', 1) returning id").Scan(&older))
	if list, err := s.Admit(ctx, now); err != nil || len(list) > 0 {
		t.Errorf("beside an older worker: %v, %v", list, err)
	}
	why := func() store.QueueReason {
		t.Helper()
		turn, _, err := s.Turn(ctx, id)
		fatal(t, err)
		return turn.Reason()
	}
	if r := why(); r != store.QueuedOlderWorker {
		t.Errorf("beside an older worker it is queued for %s", r)
	}
	if _, err := s.pool.Exec(ctx, "update job set state = 'running', started_at = 1, turn = 0 where id = $1", id); err == nil {
		t.Error("an older worker has admitted a job")
	}
	fatal(t, s.Leave(ctx, older))
	if r := why(); r != store.QueuedStarting {
		t.Errorf("after it has left the job is queued for %s", r)
	}
	if list, err := s.Admit(ctx, now); err != nil || len(list) != 1 {
		t.Errorf("after it has left: %v, %v", list, err)
	}
	fatal(t, s.SetState(ctx, now, id, job.Running, job.Partial, ""))
	fatal(t, s.SetState(ctx, now, id, job.Partial, job.Queued, ""))
	if _, err := s.pool.Exec(ctx, "update job set state = 'running', started_at = 1, turn = 0 where id = $1", id); err == nil {
		t.Error("an older worker has admitted a job again")
	}
}
