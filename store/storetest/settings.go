package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// SetSafety gives a fleet these safety limits, unless it has them.
func SetSafety(t testing.TB, st store.Settings, l limit.Limits) {
	t.Helper()
	v, err := st.FleetSettings(t.Context())
	if err == nil && v.Safety != l {
		v.Safety = l
		_, err = st.SetFleetSettings(t.Context(), start, "test", v.Version, v.FleetSettings)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func testSettings(t *testing.T, open Open) {
	t.Run("versions", func(t *testing.T) { testSettingsVersions(t, open) })
	t.Run("a new store allows one crawl of 50 pages in a minute", func(t *testing.T) {
		w := newTenantWorld(t, open, t.TempDir(), nil)
		first, second := w.ask("a", 1000), w.ask("b", 0)
		_, err := w.q.Admit(w.ctx, w.now)
		w.check(err)
		j := w.read(first)
		if e := j.Limits(); j.State != job.Running || j.Settings != 1 || e.Of(limit.Pages).String() != "max_pages 50 (safety; requested 1000)" || e.Of(limit.Time).String() != "max_time 1m (safety)" {
			t.Errorf("%s under version %d: %v", j.State, j.Settings, e.Ceilings())
		}
		if j := w.read(second); j.State != job.Queued || j.Settings != 0 {
			t.Errorf("the second is %s", j.State)
		}
	})
	t.Run("running jobs follow", func(t *testing.T) { testSettingsFollowed(t, open) })
	t.Run("running time", func(t *testing.T) { testRunningTime(t, open) })
}

// testSettingsVersions changes settings: each version is kept, and a change must be based on
// the newest.
func testSettingsVersions(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	read := func() store.SettingsVersion {
		t.Helper()
		v, err := w.q.FleetSettings(w.ctx)
		w.check(err)
		return v
	}
	first := read()
	if first.Version != 1 || first.FleetSettings != store.NewFleetSettings() {
		t.Fatalf("a new store has %+v", first)
	}
	all := limit.Limits{Pages: 1, Requests: 2, Time: 3 * time.Second, Depth: 4, Bytes: 5, PagesPerHost: 6, Patience: time.Minute, ConcurrentCrawls: 8, Hosts: 9, RequestsPerSecond: 10}
	want := store.SettingsVersion{Version: 2, At: w.now, By: "anna", FleetSettings: store.FleetSettings{Safety: all, Lease: 5 * time.Second, CommitGap: 20 * time.Millisecond}}
	got, err := w.q.SetFleetSettings(w.ctx, w.now, "anna", 1, want.FleetSettings)
	w.check(err)
	if diff := cmp.Diff(want, got); diff != "" || read() != want {
		t.Errorf("set %s, and read %+v", diff, read())
	}
	for _, after := range []int64{0, 1, 3} {
		if _, err := w.q.SetFleetSettings(w.ctx, w.now, "otto", after, store.NewFleetSettings()); !errors.Is(err, store.ErrConflict) {
			t.Errorf("after version %d: %v", after, err)
		}
	}
	for name, bad := range map[string]store.FleetSettings{
		"a negative limit": {Safety: limit.Limits{Pages: -1}, Lease: time.Minute},
		"no lease":         {},
		"a long gap":       {Lease: time.Minute, CommitGap: time.Second},
	} {
		if _, err := w.q.SetFleetSettings(w.ctx, w.now, "otto", 2, bad); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, tc := range []struct {
		below int64
		most  int
		want  []int64
	}{{0, 10, []int64{2, 1}}, {0, 1, []int64{2}}, {2, 10, []int64{1}}, {1, 10, nil}} {
		list, err := w.q.SettingsHistory(w.ctx, tc.below, tc.most)
		w.check(err)
		var numbers []int64
		for i := range list {
			numbers = append(numbers, list[i].Version)
		}
		if !cmp.Equal(numbers, tc.want) {
			t.Errorf("below %d, %d of them: %v, want %v", tc.below, tc.most, numbers, tc.want)
		}
	}
}

// testSettingsFollowed tightens and loosens the safety limits of a running job.
func testSettingsFollowed(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	o := w.newOwner(store.SlotCount)
	id := w.ask("acme", 20)
	j := w.admit(limit.Limits{Pages: 10}, id)
	if n := w.fetch(o, id, 0, 6); n != 6 || j.MaxPages != 10 {
		t.Fatalf("%d pages of %d", n, j.MaxPages)
	}
	j = w.admit(limit.Limits{Pages: 4, Time: time.Minute}, id)
	if got := j.Limits().Of(limit.Pages).String(); got != "max_pages 4 (safety; requested 20)" || j.MaxPages != 4 || j.Limits().Max(limit.Time) != int64(time.Minute) {
		t.Errorf("tightened: %s, %d pages", got, j.MaxPages)
	}
	if n := w.fetch(o, id, 6, 7); n != 0 {
		t.Errorf("%d pages above the limit", n)
	}
	if j = w.admit(limit.Limits{Pages: 8}, id); j.MaxPages != 8 || j.Limits().Of(limit.Time).Limited() {
		t.Errorf("loosened: %d pages, %s", j.MaxPages, j.Limits().Of(limit.Time))
	}
	if n := w.fetch(o, id, 6, 12); n != 2 {
		t.Errorf("%d more pages, want 2", n)
	}
	if j = w.admit(limit.Limits{}, id); j.MaxPages != 20 || j.Settings != w.read(id).Settings || w.fetch(o, id, 8, 30) != 12 {
		t.Errorf("no limit: %d pages, %d in all", j.MaxPages, w.countsOf(id).Pages())
	}
}

// testRunningTime: the time limit counts the time in the state running over the life of a
// job. Once it is used up, the job is not admitted again.
func testRunningTime(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	ran := func(want time.Duration) {
		t.Helper()
		if j := w.read(w.job); j.RanFor(w.now) != want {
			t.Errorf("%s: it ran for %v, want %v", j.State, j.RanFor(w.now), want)
		}
	}
	later := func(d time.Duration) { w.now = w.now.Add(d) }
	w.job = w.ask("acme", 20)
	later(time.Hour) // in the queue
	safety := limit.Limits{Time: time.Minute}
	w.admit(safety, w.job)
	later(20 * time.Second)
	ran(20 * time.Second)
	w.set(w.job, job.Running, job.Paused)
	later(time.Hour)
	ran(20 * time.Second)
	w.set(w.job, job.Paused, job.Running)
	later(10 * time.Second)
	ran(30 * time.Second)
	w.set(w.job, job.Running, job.Draining)
	later(5 * time.Second)
	w.set(w.job, job.Draining, job.Partial)
	w.check(w.store.Extend(w.ctx, w.now, w.job, 30))
	w.set(w.job, job.Partial, job.Queued)
	later(time.Hour)
	ran(30 * time.Second)
	w.admit(safety, w.job)
	later(30 * time.Second)
	w.set(w.job, job.Running, job.Partial)
	ran(time.Minute)
	w.check(w.store.Extend(w.ctx, w.now, w.job, 40))
	w.set(w.job, job.Partial, job.Queued)
	j := w.admit(safety, w.job)
	notices, err := w.q.Notices(w.ctx, w.job)
	w.check(err)
	if j.State != job.Partial || j.Reason != "max_time" || len(notices) != 1 || notices[0].Text != "Safety limit: Crawl timeout exceeded (60000ms)" {
		t.Errorf("its time is used up: %s (%s), %+v", j.State, j.Reason, notices)
	}
	ran(time.Minute)
}
