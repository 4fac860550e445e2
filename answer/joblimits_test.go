package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
)

// TestReadJobLimits reads the limits of a job before it is scheduled, after, and when one
// of them has stopped it; after a resume the stop is gone.
func TestReadJobLimits(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	st := memory.Open(memory.Config{})
	asked := limit.Limits{Pages: 100, Time: time.Hour}
	id, err := st.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 100, CreatedAt: now, Layers: []limit.Layer{{Level: limit.Job, Limits: asked}}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(what string, want JobLimits) {
		t.Helper()
		j, err := st.Job(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadJobLimits(ctx, st, &j)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		row, err := ReadJob(ctx, st, &j)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Errors, row.Errors, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: errors of the job: %s", what, diff)
		}
		if (row.Queue != nil) != (j.State == job.Queued) {
			t.Errorf("%s: queue is %+v", what, row.Queue)
		}
	}
	admit := func() {
		t.Helper()
		now = now.Add(time.Minute)
		storetest.SetSafety(t, st, limit.Limits{Pages: 50, ConcurrentCrawls: 1})
		if _, err := st.Admit(ctx, now); err != nil {
			t.Fatal(err)
		}
	}
	set := func(from, to job.State) {
		t.Helper()
		if err := st.SetState(ctx, now, id, from, to, ""); err != nil {
			t.Fatal(err)
		}
	}
	hour := Ceiling{Limit: limit.Time, Layer: limit.Job, Max: 3600, Requested: 3600, Unit: "seconds", Text: "max_time 1h (job)"}
	capped := Ceiling{Limit: limit.Pages, Layer: limit.Safety, Max: 50, Requested: 100, Text: "max_pages 50 (safety; requested 100)"}
	met := LimitError{Limit: limit.Pages, Layer: limit.Safety, Max: 50, Observed: 50, Text: "met"}
	read("queued", JobLimits{[]Ceiling{{Limit: limit.Pages, Layer: limit.Job, Max: 100, Requested: 100, Text: "max_pages 100 (job)"}, hour}, []string{}, []LimitError{}})
	admit()
	read("running", JobLimits{[]Ceiling{capped, hour}, []string{}, []LimitError{}})
	for _, n := range []store.Notice{
		{Job: id, At: now, Limit: limit.Pages, Max: 50, Percent: 80, Text: "near"},
		{Job: id, At: now, Limit: limit.Pages, Layer: limit.Safety, Max: 50, Observed: 50, Percent: store.StoppedBy, Text: "met"},
	} {
		if _, err := st.Note(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	set(job.Running, job.Partial)
	read("stopped", JobLimits{[]Ceiling{capped, hour}, []string{"near"}, []LimitError{met}})
	set(job.Partial, job.Queued)
	admit()
	read("going on", JobLimits{[]Ceiling{capped, hour}, []string{"near"}, []LimitError{}})
	set(job.Running, job.Partial)
	read("stopped by something else", JobLimits{[]Ceiling{capped, hour}, []string{"near"}, []LimitError{}})
}
