package storetest

import (
	"fmt"
	"slices"
	"testing"

	"headway/job"
	"headway/store"
	"headway/visit"
)

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
