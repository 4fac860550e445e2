package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/limit"
	"headway/store"
)

func scheduleOf(id string, due time.Time) store.Schedule {
	return store.Schedule{
		ID: id, Tenant: "acme", Name: "shop", Every: time.Hour, Least: time.Hour, Most: 24 * time.Hour,
		Spec: []byte(`{"seeds":["https://example.com/"]}`), MaxPages: 10, Layers: []limit.Layer{{Level: limit.Job, Limits: limit.Limits{Pages: 10}}},
		CreatedAt: due.Add(-time.Hour), DueAt: due,
	}
}

// TestSchedules creates, changes, pauses and drops schedules.
func TestSchedules(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	want := scheduleOf("a", now)
	fatal(t, s.CreateSchedule(ctx, want))
	got, err := s.Schedule(ctx, "a")
	fatal(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := scheduleOf("b", now.Add(time.Hour))
	other.Tenant, other.Cron, other.Every, other.Least, other.Most = "other", "@daily", 0, 0, 0
	fatal(t, s.CreateSchedule(ctx, other))
	if list, err := s.Schedules(ctx, store.ScheduleQuery{Tenant: "other"}); err != nil || len(list) != 1 || list[0].Cron != "@daily" {
		t.Errorf("of a tenant: %+v, %v", list, err)
	}
	if list, err := s.Schedules(ctx, store.ScheduleQuery{All: true}); err != nil || len(list) != 2 {
		t.Errorf("of all: %+v, %v", list, err)
	}

	due := func(at time.Time) (ids string) {
		list, err := s.DueSchedules(ctx, at, 10)
		fatal(t, err)
		for _, n := range list {
			ids += n.ID
		}
		return ids
	}
	if early, then, later := due(now.Add(-time.Second)), due(now), due(now.Add(time.Hour)); early != "" || then != "a" || later != "ab" {
		t.Errorf("due %q, %q and %q", early, then, later)
	}
	fatal(t, s.PauseSchedule(ctx, now, "a"))
	if paused := due(now); paused != "" {
		t.Errorf("paused, and due: %q", paused)
	}
	if id, err := s.RunSchedule(ctx, now, got, now.Add(time.Hour)); err != nil || id != 0 {
		t.Errorf("paused, and made job %d, %v", id, err)
	}
	changed := want
	changed.Name, changed.Spec, changed.MaxPages, changed.Layers = "other", []byte(`{"seeds":["https://example.org/"]}`), 20, nil
	changed.Every, changed.Least, changed.Most, changed.DueAt = 3*time.Hour, 2*time.Hour, 4*time.Hour, now.Add(time.Minute)
	fatal(t, s.SetSchedule(ctx, changed))
	if soon, later := due(now), due(now.Add(time.Minute)); soon != "" || later != "a" {
		t.Errorf("resumed, and due %q and %q", soon, later)
	}
	if id, err := s.RunSchedule(ctx, now, got, now.Add(time.Hour)); err != nil || id != 0 {
		t.Errorf("changed, and made job %d as it was before, %v", id, err)
	}
	got, err = s.Schedule(ctx, "a")
	fatal(t, err)
	changed.Layers = got.Layers // none, however it is encoded
	if diff := cmp.Diff(changed, got); diff != "" || len(got.Layers) > 0 {
		t.Error(diff)
	}
	id, err := s.RunSchedule(ctx, now, got, now.Add(time.Hour))
	if err != nil || id == 0 {
		t.Fatalf("not run: %d, %v", id, err)
	}
	if err := s.SetSchedule(ctx, got); !errors.Is(err, store.ErrConflict) {
		t.Errorf("set as it was before its last job: %v", err)
	}
	if got, err = s.Schedule(ctx, "a"); err != nil || got.Turn != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Cron, got.Every, got.Least, got.Most, got.PausedAt = "@daily", 0, 0, 0, now
	fatal(t, s.SetSchedule(ctx, got))
	if paused := due(now.Add(48 * time.Hour)); paused != "b" {
		t.Errorf("paused by a change, and due: %q", paused)
	}

	fatal(t, s.DropSchedule(ctx, "a"))
	for name, err := range map[string]error{
		"read":  func() error { _, err := s.Schedule(ctx, "a"); return err }(),
		"pause": s.PauseSchedule(ctx, now, "a"),
		"set":   s.SetSchedule(ctx, got),
		"drop":  s.DropSchedule(ctx, "a"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s a schedule that is gone: %v", name, err)
		}
	}
	if id, err := s.RunSchedule(ctx, now, got, now.Add(time.Hour)); err != nil || id != 0 {
		t.Errorf("gone, and made job %d, %v", id, err)
	}
}

// TestSchedulesRefused lists invalid schedules.
func TestSchedulesRefused(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	for name, change := range map[string]func(*store.Schedule){
		"no id":                 func(n *store.Schedule) { n.ID = "" },
		"no tenant":             func(n *store.Schedule) { n.Tenant = "" },
		"never due":             func(n *store.Schedule) { n.DueAt = time.Time{} },
		"a long name":           func(n *store.Schedule) { n.Name = strings.Repeat("n", store.MaxScheduleName+1) },
		"a long expression":     func(n *store.Schedule) { n.Cron = strings.Repeat("*", store.MaxCron+1) },
		"both kinds":            func(n *store.Schedule) { n.Cron = "@daily" },
		"too often":             func(n *store.Schedule) { n.Least = time.Second },
		"below its bounds":      func(n *store.Schedule) { n.Every = time.Minute },
		"above its bounds":      func(n *store.Schedule) { n.Every = 25 * time.Hour },
		"beyond all bounds":     func(n *store.Schedule) { n.Most = store.MaxEvery + 1 },
		"an impossible job":     func(n *store.Schedule) { n.MaxPages = -1 },
		"a job that is endless": func(n *store.Schedule) { n.Spec = make([]byte, store.MaxSpec+1) },
	} {
		n := scheduleOf("a", time.Now())
		change(&n)
		if err := s.CreateSchedule(t.Context(), n); err == nil {
			t.Errorf("%s was stored", name)
		}
	}
}

// TestRunSchedule runs the same schedules concurrently. Each due time creates one job, none
// while the last has not ended, and a stale schedule creates none.
func TestRunSchedule(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	const many = 8
	for i := range many {
		fatal(t, s.CreateSchedule(ctx, scheduleOf(fmt.Sprint("s", i), now)))
	}
	made := map[job.ID]string{}
	var mu sync.Mutex
	runAll := func(at time.Time) {
		t.Helper()
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				list, err := s.DueSchedules(ctx, at, many)
				if err != nil {
					t.Error(err)
				}
				for _, n := range list {
					id, err := s.RunSchedule(ctx, at, n, at.Add(n.Every))
					if err != nil {
						t.Error(err)
					}
					if id != 0 {
						mu.Lock()
						made[id] = n.ID
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
	}
	runAll(now)
	runAll(now)
	if len(made) != many {
		t.Fatalf("%d jobs of %d schedules", len(made), many)
	}
	runAll(now.Add(5 * time.Hour)) // the jobs have not ended
	if len(made) != many {
		t.Fatalf("%d jobs: some while the last had not ended", len(made))
	}
	for id, of := range made {
		j, err := s.Job(ctx, id)
		fatal(t, err)
		want := scheduleOf(of, now)
		if diff := cmp.Diff(want.Job(now), j, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "ID" }, cmp.Ignore())); diff != "" {
			t.Error(diff)
		}
		fatal(t, s.SetState(ctx, now, id, job.Queued, job.Cancelled, ""))
	}
	if fresh, err := s.FreshSchedules(ctx, many); err != nil || len(fresh) != 0 {
		t.Errorf("%d are to be compared after one run, %v", len(fresh), err)
	}
	runAll(now.Add(5 * time.Hour)) // five times were missed
	if len(made) != 2*many {
		t.Fatalf("%d jobs after two turns of %d schedules", len(made), many)
	}
	if fresh, err := s.FreshSchedules(ctx, many); err != nil || len(fresh) != 0 {
		t.Errorf("%d are to be compared while they run, %v", len(fresh), err)
	}
	n, err := s.Schedule(ctx, "s0")
	fatal(t, err)
	if n.Turn != 2 || made[n.Last] != "s0" || made[n.Before] != "s0" || n.Last <= n.Before || !n.BegunAt.Equal(now.Add(5*time.Hour)) || !n.DueAt.Equal(now.Add(6*time.Hour)) {
		t.Errorf("after two turns: %+v", n)
	}
	fatal(t, s.SetState(ctx, now, n.Last, job.Queued, job.Cancelled, ""))
	fresh, err := s.FreshSchedules(ctx, many)
	fatal(t, err)
	if len(fresh) != 1 || fresh[0].ID != "s0" {
		t.Fatalf("to be compared: %+v", fresh)
	}
	old := fresh[0]
	old.Turn--
	fatal(t, s.MeasureSchedule(ctx, old, 1, time.Hour))
	fatal(t, s.MeasureSchedule(ctx, fresh[0], 0.01, 2*time.Hour))
	fatal(t, s.MeasureSchedule(ctx, fresh[0], 1, time.Hour)) // it was measured
	if n, err = s.Schedule(ctx, "s0"); err != nil || n.Share != 0.01 || n.Every != 2*time.Hour || !n.DueAt.Equal(now.Add(7*time.Hour)) {
		t.Errorf("measured: %+v, %v", n, err)
	}
}

// TestScheduleSince runs a schedule whose jobs end in all ways. Each job names the last one
// that finished, which is not dropped while the job needs it.
func TestScheduleSince(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	n := scheduleOf("a", now)
	n.Layers = append(n.Layers, limit.Layer{Level: limit.Safety, Limits: limit.Limits{Retention: time.Minute}})
	fatal(t, s.CreateSchedule(ctx, n))
	run := func() store.Job {
		t.Helper()
		read, err := s.Schedule(ctx, "a")
		fatal(t, err)
		id, err := s.RunSchedule(ctx, now, read, now.Add(time.Hour))
		fatal(t, err)
		j, err := s.Job(ctx, id)
		fatal(t, err)
		return j
	}
	end := func(j store.Job, to job.State) {
		t.Helper()
		fatal(t, s.SetState(ctx, now, j.ID, job.Queued, job.Running, ""))
		fatal(t, s.SetState(ctx, now, j.ID, job.Running, to, ""))
	}
	first := run()
	end(first, job.Complete)
	second := run()
	if first.Since != 0 || second.Since != first.ID {
		t.Errorf("since %d and %d, want 0 and %d", first.Since, second.Since, first.ID)
	}
	if list, err := s.Expired(ctx, now.Add(time.Hour), 10); err != nil || len(list) != 0 {
		t.Errorf("needed, and expired: %v, %v", list, err)
	}
	if err := s.Drop(ctx, first.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("dropped while it is needed: %v", err)
	}
	end(second, job.Failed)
	third := run()
	if third.Since != first.ID {
		t.Errorf("after a failed run: since %d, want %d", third.Since, first.ID)
	}
	fatal(t, s.SetState(ctx, now, third.ID, job.Queued, job.Cancelled, ""))
	if list, err := s.Expired(ctx, now.Add(time.Hour), 10); err != nil || len(list) != 3 {
		t.Errorf("no longer needed, and expired: %v, %v", list, err)
	}
	fatal(t, s.Drop(ctx, first.ID))
	fourth := run()
	if fourth.Since != 0 {
		t.Errorf("since a job that was dropped: %d", fourth.Since)
	}
	end(fourth, job.Partial)
	if fifth := run(); fifth.Since != fourth.ID {
		t.Errorf("after a partial run: since %d, want %d", fifth.Since, fourth.ID)
	}
}
