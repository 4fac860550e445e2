package storetest

import (
	"fmt"
	"slices"
	"testing"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// testTurns: the places of queued jobs are the order in which they are admitted, and the
// reason is what they wait for.
func testTurns(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	lists := w.store.(store.JobLists)
	var ids []job.ID
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
		ids = append(ids, w.submit(name[:1], name))
	}
	want := func(what string, reason store.QueueReason, order ...job.ID) {
		t.Helper()
		for _, id := range ids {
			turn, queued, err := lists.Turn(w.ctx, id)
			w.check(err)
			place := slices.Index(order, id) + 1
			if queued != (place > 0) || turn.Place != int64(place) || queued && turn.Reason() != reason {
				t.Errorf("%s: job %d has %+v (%s), want place %d (%s)", what, id, turn, turn.Reason(), place, reason)
			}
		}
	}
	want("no worker", store.QueuedNoWorker, ids[0], ids[3], ids[5], ids[1], ids[4], ids[2])
	_, err := w.store.Join(w.ctx, w.now, "w")
	w.check(err)
	want("nothing runs", store.QueuedStarting, ids[0], ids[3], ids[5], ids[1], ids[4], ids[2])
	w.admit(1)
	want("one runs", store.QueuedFleet, ids[3], ids[5], ids[1], ids[4], ids[2])
	w.check(w.store.(store.Tenants).SetPlan(w.ctx, store.Plan{Name: "one", Limits: limit.Limits{ConcurrentCrawls: 1}}))
	w.check(w.store.(store.Tenants).SetTenant(w.ctx, store.Tenant{Name: "a", Plan: "one"}))
	turn, queued, err := lists.Turn(w.ctx, ids[1])
	w.check(err)
	if !queued || turn.Reason() != store.QueuedPlan || turn.Own != 1 || turn.OwnMax != 1 {
		t.Errorf("at the plan's limit: %+v", turn)
	}
	for n := range store.MaxPlace + 1 {
		ids = append(ids, w.submit("d", fmt.Sprint("d", n)))
	}
	for n, want := range map[int]int64{len(ids) - 1: 0, 6: 4, 7: 7} { // after b1, c1 and a2; then b2 and a3
		if turn, queued, err := lists.Turn(w.ctx, ids[n]); err != nil || !queued || turn.Place != want {
			t.Errorf("job %d of a long queue: %+v, %v, want place %d", n, turn, err, want)
		}
	}
}

// testStops: the limits that stopped jobs, without warnings.
func testStops(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	a, b := w.submit("a", "a1"), w.submit("b", "b1")
	stop := store.Notice{Job: a, At: w.now, Limit: limit.Requests, Layer: limit.Plan, Max: 10, Observed: 11, Percent: store.StoppedBy, Text: "met"}
	near := stop
	near.Percent, near.Text = 80, "near"
	for _, n := range []store.Notice{near, stop} {
		_, err := w.q.Note(w.ctx, n)
		w.check(err)
	}
	stops, err := w.store.(store.JobLists).Stops(w.ctx, []job.ID{a, b})
	w.check(err)
	if len(stops) != 1 || !slices.Equal(stops[a], []store.Notice{stop}) {
		t.Errorf("%+v", stops)
	}
}

func testJobLists(t *testing.T, open Open) {
	newQueueWorld(t, open, t.TempDir(), nil) // skips the test if the engine has no queue
	w := newWorld(t, open, 5)
	lists := w.store.(store.JobLists)
	ids := []job.ID{w.job}
	for i := range 4 {
		id, err := w.store.CreateJob(w.ctx, store.Job{Tenant: []string{"acme", ""}[i%2], Name: fmt.Sprint(i), State: job.Running, MaxPages: int64(i), CreatedAt: w.now})
		w.check(err)
		ids = append(ids, id)
	}
	for _, c := range []struct {
		q    store.JobQuery
		want []job.ID
	}{
		{store.JobQuery{All: true, Max: 9}, []job.ID{ids[4], ids[3], ids[2], ids[1], ids[0]}},
		{store.JobQuery{All: true, Max: 2, Before: ids[3]}, []job.ID{ids[2], ids[1]}},
		{store.JobQuery{Max: 9}, []job.ID{ids[4], ids[2], ids[0]}},
		{store.JobQuery{Tenant: "acme", Max: 9}, []job.ID{ids[3], ids[1]}},
		{store.JobQuery{Tenant: "acme", State: job.Queued, Max: 9}, nil},
		{store.JobQuery{All: true}, nil},
	} {
		found, err := lists.FindJobs(w.ctx, c.q)
		w.check(err)
		var got []job.ID
		for i := range found {
			got = append(got, found[i].ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}

	// The counts of several jobs equal those of each job.
	for i, id := range ids[:4] {
		w.job = id
		w.add("http://a.example/1", "http://a.example/2", "http://b.example/3")
		o := store.Commit{Visits: visits(w.ended("http://a.example/1", visit.Skipped, visit.RobotsDisallow))}
		if _, err := w.store.Reserve(w.ctx, w.w.id, id, 2); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			o.Visits = append(o.Visits, w.visited("http://b.example/3"))
		}
		w.w.must(o)
	}
	counts, err := lists.CountJobs(w.ctx, append(slices.Clone(ids), ids[0], ids[4]+1000))
	w.check(err)
	if len(counts) != len(ids) {
		t.Errorf("counts of %d jobs, want %d", len(counts), len(ids))
	}
	for _, id := range ids {
		if want := w.countsOf(id); !counts[id].Equal(want) || counts[id].Ended == nil {
			t.Errorf("job %d: %+v, want %+v", id, counts[id], want)
		}
	}
	if counts, err := lists.CountJobs(w.ctx, nil); err != nil || len(counts) != 0 {
		t.Errorf("of none: %v, %v", counts, err)
	}
	if _, err := lists.CountJobs(w.ctx, make([]job.ID, store.MaxPage+1)); err == nil {
		t.Error("counted more than a page")
	}
}
