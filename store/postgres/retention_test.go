package postgres

import (
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// TestExpired lists expired jobs of tenants with all kinds of plans, as days pass.
func TestExpired(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	const day = 24 * time.Hour
	fatal(t, s.SetPlan(ctx, store.Plan{Name: "week", Limits: limit.Limits{Retention: 7 * day}}))
	fatal(t, s.SetPlan(ctx, store.Plan{Name: "ever"}))
	for name, plan := range map[string]string{"week": "week", "ever": "ever", "none": ""} {
		fatal(t, s.SetTenant(ctx, store.Tenant{Name: name, Plan: plan}))
	}
	asks := func(l limit.Level, d time.Duration) []limit.Layer {
		return []limit.Layer{{Level: l, Limits: limit.Limits{Retention: d}}}
	}
	ids := map[string]job.ID{}
	for name, j := range map[string]store.Job{
		"of the plan":     {Tenant: "week"},
		"of the job":      {Tenant: "week", Layers: asks(limit.Job, 2*day)},
		"asks for more":   {Tenant: "week", Layers: asks(limit.Job, 30*day)},
		"of safety":       {Tenant: "ever", Layers: asks(limit.Safety, 3*day)},
		"of an old plan":  {Tenant: "ever", Layers: asks(limit.Plan, day)},
		"of nobody":       {},
		"of a stranger":   {Tenant: "stranger"},
		"without a plan":  {Tenant: "none"},
		"still runs":      {Tenant: "week"},
		"of the job, too": {Layers: asks(limit.Job, 5*day)},
	} {
		j.Name, j.State, j.MaxPages, j.CreatedAt = name, job.Queued, 1, now
		id, err := s.CreateJob(ctx, j)
		fatal(t, err)
		ids[name] = id
		if name != "still runs" {
			fatal(t, s.SetState(ctx, now, id, job.Queued, job.Cancelled, ""))
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{
		{2 * day, nil},
		{2*day + time.Second, []string{"of the job"}},
		{6 * day, []string{"of the job", "of safety", "of the job, too"}},
		{400 * day, []string{"of the plan", "of the job", "asks for more", "of safety", "of the job, too"}},
	} {
		got, err := s.Expired(ctx, now.Add(c.after), 100)
		fatal(t, err)
		var want []job.ID
		for _, name := range c.want {
			want = append(want, ids[name])
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("after %s: %v, want %v (%q)", c.after, got, want, c.want)
		}
	}
	if got, err := s.Expired(ctx, now.Add(400*day), 2); err != nil || len(got) != 2 {
		t.Errorf("two at a time: %v, %v", got, err)
	}
	fatal(t, s.SetPlan(ctx, store.Plan{Name: "week", Limits: limit.Limits{Retention: 900 * day}}))
	if got, err := s.Expired(ctx, now.Add(400*day), 100); err != nil || len(got) != 4 {
		t.Errorf("after the plan was changed: %v, %v", got, err)
	}
}

// TestForgetEvents deletes old events, some at a time.
func TestForgetEvents(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	for range 3 {
		_, err := s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 1, CreatedAt: now})
		fatal(t, err)
	}
	_, err := s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 1, CreatedAt: now.Add(time.Hour)})
	fatal(t, err)
	_, err = s.LastEvent(ctx, now)
	fatal(t, err)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{store.EventLife - time.Minute, 0}, {store.EventLife + time.Minute, 3}, {store.EventLife + time.Minute, 0}, {store.EventLife + 2*time.Hour, 1}} {
		if n, err := s.ForgetEvents(ctx, now.Add(c.after)); err != nil || n != c.want {
			t.Errorf("after %s: %d, %v; want %d", c.after, n, err, c.want)
		}
	}
}
