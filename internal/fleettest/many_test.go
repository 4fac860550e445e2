package fleettest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	life "headway/job"
	"headway/store"
	"headway/store/postgres"
)

// TestManyJobs runs as many jobs at once as there are hosts. All are complete, and the
// memory of workers does not grow.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	jobs := 60
	if full {
		jobs = 2000
	}
	f := newFleet(t, setup{hosts: jobs, pages: 5})
	seeds := f.lab.Seeds()
	first := f.submitFor(seeds[:1], "--max-pages", "1000")
	st, err := postgres.Open(t.Context(), postgres.Config{DSN: f.db.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	j, err := st.Job(t.Context(), life.ID(first))
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(j.Spec, &spec); err != nil {
		t.Fatal(err)
	}
	for i, seed := range seeds[1:] {
		spec["seeds"] = []string{seed}
		if j.Spec, err = json.Marshal(spec); err != nil {
			t.Fatal(err)
		}
		next := store.Job{Tenant: fmt.Sprint("tenant", i%10), Name: seed, State: life.Queued, MaxPages: j.MaxPages, Layers: j.Layers, Spec: j.Spec, CreatedAt: time.Now().UTC()}
		if _, err := st.CreateJob(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		f.start()
	}
	began, most := time.Now(), 0
	for {
		list, err := st.ActiveJobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(list))
		if len(list) == 0 && most > 0 {
			break
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("%d jobs still run", len(list))
		}
		time.Sleep(200 * time.Millisecond) // real processes at work
	}
	peak := slices.Max(slices.Collect(maps.Values(f.peaks()))) >> 20
	t.Logf("%d jobs, at most %d at once, took %v; the largest worker had %d MB", jobs, most, time.Since(began).Round(time.Second), peak)
	for after, n := life.ID(0), 0; n < jobs; {
		list, err := st.JobList(t.Context(), after, store.MaxPage)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d jobs, %v", n, err)
		}
		for _, j := range list {
			if j.State != life.Complete {
				t.Errorf("job %d is %s (%s)", j.ID, j.State, j.Reason)
			}
			after, n = j.ID, n+1
		}
	}
	if total := f.lab.Stats().Total; total.UniquePages != int64(jobs*f.pages) || total.PageAnswers != int64(jobs*f.pages) {
		t.Errorf("%d pages, %d answers, want %d", total.UniquePages, total.PageAnswers, jobs*f.pages)
	}
	if bound := int64(300); peak > bound { // the race detector's shadow included
		t.Errorf("a worker grew to %d MB, want at most %d", peak, bound)
	}
	f.polite()
}
