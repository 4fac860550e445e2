package jobrun_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"headway/internal/discovery"
	"headway/internal/jobrun"
	"headway/job"
	"headway/limit"
	"headway/scope"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// now is the time of all tests.
var now = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func parse(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// newStored returns a job with a seed on each host, under limits.
func newStored(t *testing.T, st *memory.Store, limits limit.Limits, hosts ...string) *jobrun.Stored {
	t.Helper()
	var seeds []weburl.URL
	for _, h := range hosts {
		seeds = append(seeds, parse(t, "http://"+h+"/"))
	}
	rules, err := scope.New(scope.Config{Seeds: seeds})
	if err != nil {
		t.Fatal(err)
	}
	return &jobrun.Stored{
		Spec:  jobrun.Spec{Name: "test", Seeds: seeds, Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limits})},
		Rules: &discovery.Rules{Scope: rules, OptedOut: func(u weburl.URL) bool { return u.Hostname() == "out.example" }, Key: st.Key()},
		Store: st, Queue: st, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	}
}

// ended returns counts of finished URLs.
func ended(pairs ...any) store.Counts {
	c := store.Counts{Ended: map[store.Ending]int64{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Ended[pairs[i].(store.Ending)] = int64(pairs[i+1].(int))
	}
	return c
}

// TestVerdict derives the end of a crawl from the outcomes of its URLs.
func TestVerdict(t *testing.T) {
	fetched, deferred := store.Ending{Outcome: visit.Fetched}, store.Ending{Outcome: visit.Deferred}
	skipped := func(r visit.Reason) store.Ending { return store.Ending{Outcome: visit.Skipped, Reason: r} }
	failed := func(r visit.Reason) store.Ending { return store.Ending{Outcome: visit.Failed, Reason: r} }
	for name, tt := range map[string]struct {
		counts store.Counts
		want   job.State
		reason string
	}{
		"all fetched":                  {ended(fetched, 3), job.Complete, "all URLs processed"},
		"nothing at all":               {ended(), job.Complete, "all URLs processed"},
		"some forbidden":               {ended(fetched, 1, skipped(visit.RobotsDisallow), 9), job.Complete, "all URLs processed"},
		"all forbidden":                {ended(skipped(visit.RobotsDisallow), 9), job.Blocked, "robots.txt or a firewall blocks everything"},
		"all behind a firewall":        {ended(store.Ending{Outcome: visit.Blocked}, 2), job.Blocked, "robots.txt or a firewall blocks everything"},
		"opted out":                    {ended(skipped(visit.OptedOut), 1), job.Blocked, "all hosts are on the opt-out list"},
		"deferred":                     {ended(fetched, 5, deferred, 1), job.Partial, "patience"},
		"robots.txt never read":        {ended(skipped(visit.RobotsUnreachable), 1), job.Partial, "patience"},
		"redirect loop":                {ended(failed(visit.RedirectLoop), 1), job.Failed, "redirect loop or too many redirects"},
		"no host reachable":            {ended(failed(visit.DNS), 1), job.Failed, "no host could be reached"},
		"one host reachable":           {ended(failed(visit.DNS), 7, fetched, 1), job.Complete, "all URLs processed"},
		"nothing in scope":             {ended(skipped(visit.OutOfScope), 4), job.Failed, jobrun.NothingInScope},
		"redirected out of its domain": {ended(store.Ending{Outcome: visit.Redirected}, 1, skipped(visit.OutOfScope), 1), job.Failed, jobrun.NothingInScope},
	} {
		if state, reason := jobrun.Verdict(tt.counts); state != tt.want || reason != tt.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, state, reason, tt.want, tt.reason)
		}
	}
}

// TestOpen creates a job, resumes it, and does not touch a finished one unless Continue is
// set.
func TestOpen(t *testing.T) {
	ctx, st := t.Context(), memory.Open(memory.Config{})
	s := newStored(t, st, limit.Limits{Pages: 10}, "a.example", "out.example")
	open, err := s.Open(ctx, now)
	if err != nil || open.Resumed || open.Ended != nil || !open.Started.Equal(now) {
		t.Fatalf("a new one: %+v, %v", open, err)
	}
	counts, err := s.Counts(ctx)
	if err != nil || counts.Waiting != 1 || counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OptedOut}] != 1 {
		t.Errorf("its seeds: %+v, %v", counts, err)
	}
	again := newStored(t, st, limit.Limits{Pages: 20}, "a.example", "b.example")
	open, err = again.Open(ctx, now.Add(time.Hour))
	if err != nil || !open.Resumed || again.ID != s.ID || !open.Started.Equal(now) {
		t.Errorf("gone on with: %+v, %v", open, err)
	}
	if j, err := st.Job(ctx, s.ID); err != nil || j.MaxPages != 20 {
		t.Errorf("its page limit is %d (%v)", j.MaxPages, err)
	}
	if counts, _ := again.Counts(ctx); counts.Waiting != 2 {
		t.Errorf("%d wait with the new seed", counts.Waiting)
	}
	if err := st.SetState(ctx, now, s.ID, job.Running, job.Partial, "max_pages"); err != nil {
		t.Fatal(err)
	}
	over := newStored(t, st, limit.Limits{Pages: 20}, "a.example")
	open, err = over.Open(ctx, now)
	if err != nil || open.Ended == nil || open.Ended.State != job.Partial || open.Ended.Reason != "max_pages" {
		t.Errorf("one that has ended: %+v, %v", open, err)
	}
	over.Continue = true
	if open, err = over.Open(ctx, now); err != nil || open.Ended != nil {
		t.Errorf("with Continue: %+v, %v", open, err)
	}
	if j, err := st.Job(ctx, s.ID); err != nil || j.State != job.Running {
		t.Errorf("it is %s (%v)", j.State, err)
	}
}

// TestHostsOfSeeds reserves the hosts of seeds in order, and defers those beyond the limit.
func TestHostsOfSeeds(t *testing.T) {
	ctx, st := t.Context(), memory.Open(memory.Config{})
	s := newStored(t, st, limit.Limits{Hosts: 2}, "a.example", "b.example", "c.example")
	if _, err := s.Open(ctx, now); err != nil {
		t.Fatal(err)
	}
	counts, err := s.Counts(ctx)
	if err != nil || counts.Waiting != 2 || counts.Ended[store.Ending{Outcome: visit.Deferred}] != 1 {
		t.Fatalf("%+v, %v", counts, err)
	}
	taken, limited, err := s.Take(ctx, []string{"http://c.example"})
	if err != nil || !limited || taken.N != 2 {
		t.Fatalf("%+v, %v", taken, err)
	}
	h := jobrun.NewHosts(2)
	if h.Out("http://c.example") || h.Has("http://a.example") {
		t.Error("something is known before the store has said it")
	}
	if more := h.Learn(&taken); more != 2 {
		t.Errorf("%d are new", more)
	}
	if !h.Has("http://a.example") || h.Out("http://a.example") || !h.Out("http://c.example") || h.Has("http://c.example") {
		t.Error("not what the store said")
	}
	if h = nil; h.Out("http://c.example") || !h.Has("http://c.example") {
		t.Error("nil is a limit")
	}
}

// TestEnding ends as partial if hosts were excluded, and not at all if there is room for
// them now.
func TestEnding(t *testing.T) {
	ctx, st := t.Context(), memory.Open(memory.Config{})
	s := newStored(t, st, limit.Limits{Hosts: 1}, "a.example", "b.example")
	if _, err := s.Open(ctx, now); err != nil {
		t.Fatal(err)
	}
	left := ended(store.Ending{Outcome: visit.Deferred}, 1, store.Ending{Outcome: visit.Fetched}, 1)
	end, err := s.Ending(ctx, left, false)
	if err != nil || end == nil || end.State != job.Partial || end.Reason != "max_hosts" || end.Limit == nil {
		t.Errorf("hosts left out: %+v, %v", end, err)
	}
	if end, err = s.Ending(ctx, left, true); err != nil || end == nil || end.Reason != jobrun.DiscoveryStopped {
		t.Errorf("discovery stopped: %+v, %v", end, err)
	}
	s.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Hosts: 5}})
	if end, err = s.Ending(ctx, left, false); err != nil || end != nil {
		t.Errorf("there is room: %+v, %v", end, err)
	}
	if counts, _ := s.Counts(ctx); counts.Waiting != 2 {
		t.Errorf("%d wait", counts.Waiting)
	}
	if s.DryRun = true; err == nil {
		if end, err = s.Ending(ctx, left, false); err != nil || end.State != job.Complete {
			t.Errorf("a dry run: %+v, %v", end, err)
		}
	}
}

// TestSupervise adds seeds once, ends a drained job, and reports a reached limit.
func TestSupervise(t *testing.T) {
	for name, tt := range map[string]struct {
		limits limit.Limits
		q      jobrun.Snapshot
		want   job.State
		reason string
	}{
		"runs":               {limit.Limits{}, jobrun.Snapshot{State: job.Running}, job.Running, ""},
		"time is up":         {limit.Limits{Time: time.Minute}, jobrun.Snapshot{State: job.Running, Spent: limit.Use{Time: time.Hour}}, job.Draining, "max_time"},
		"drains":             {limit.Limits{}, jobrun.Snapshot{State: job.Draining, Drained: now.Add(time.Second)}, job.Draining, ""},
		"has drained":        {limit.Limits{}, jobrun.Snapshot{State: job.Draining, Drained: now}, job.Partial, "drained"},
		"drained by a limit": {limit.Limits{}, jobrun.Snapshot{State: job.Draining, Reason: "max_time", Drained: now}, job.Partial, "max_time"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, st := t.Context(), memory.Open(memory.Config{})
			s := newStored(t, st, tt.limits, "a.example")
			var err error
			if s.ID, err = st.CreateJob(ctx, store.Job{Name: "test", State: job.Running, CreatedAt: now, StartedAt: now}); err != nil {
				t.Fatal(err)
			}
			if tt.q.State == job.Draining {
				if err := st.SetState(ctx, now, s.ID, job.Running, job.Draining, tt.q.Reason); err != nil {
					t.Fatal(err)
				}
			}
			changed, counts, err := s.Supervise(ctx, tt.q)
			if err != nil || counts.Waiting != 1 || changed != (tt.want != tt.q.State) {
				t.Errorf("changed %v, %+v, %v", changed, counts, err)
			}
			j, err := st.Job(ctx, s.ID)
			if err != nil || j.State != tt.want || tt.reason != "" && j.Reason != tt.reason {
				t.Errorf("%s (%s), want %s (%s)", j.State, j.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestSupervisePageLimit: at its page limit a job waits for URLs that end without a request,
// unless one is known to need a request, or pages may be fetched meanwhile.
func TestSupervisePageLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		q    jobrun.Snapshot
		ends time.Duration
	}{
		"waits":          {jobrun.Snapshot{Tokens: true}, 2 * time.Second},
		"a URL is left":  {jobrun.Snapshot{Tokens: true, Starved: true}, 0},
		"without tokens": {jobrun.Snapshot{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, st := t.Context(), memory.Open(memory.Config{})
			s := newStored(t, st, limit.Limits{Pages: -1}, "a.example")
			at := now
			s.Now = func() time.Time { return at }
			var err error
			if s.ID, err = st.CreateJob(ctx, store.Job{Name: "test", State: job.Running, CreatedAt: now, StartedAt: now}); err != nil {
				t.Fatal(err)
			}
			tt.q.State = job.Running
			for after := time.Duration(0); after <= tt.ends; after += time.Second {
				at = now.Add(after)
				if changed, _, err := s.Supervise(ctx, tt.q); err != nil || changed != (after == tt.ends) {
					t.Errorf("after %v: ended %v, %v", after, changed, err)
				}
			}
			if j, err := st.Job(ctx, s.ID); err != nil || j.State != job.Partial || j.Reason != "max_pages" {
				t.Errorf("%s (%s), %v", j.State, j.Reason, err)
			}
		})
	}
}

// racing is a store in which a page of a job is stored after its usage was read for the first
// time: what it used before, and in all.
type racing struct {
	*memory.Store
	before, all int64 // bytes
	reads       int
	notes       []store.Notice
}

func (r *racing) ReserveRequests(context.Context, store.Reservation) (store.Reserved, error) {
	return store.Reserved{}, nil
}

func (r *racing) Points(context.Context, job.ID) ([]store.Point, error) {
	if r.reads++; r.reads == 1 {
		return []store.Point{{Bytes: r.before}}, nil
	}
	return []store.Point{{Bytes: r.all}}, nil
}

func (r *racing) Quota(context.Context, time.Time, string) (limit.Quota, error) {
	return limit.Quota{Bytes: 800_000, UsedBytes: max(800_000, r.all)}, nil
}

func (r *racing) Note(_ context.Context, n store.Notice) (bool, error) {
	r.notes = append(r.notes, n)
	return true, nil
}

// TestSuperviseQuota: a job that has used up the quota of its tenant names the quota, whatever
// is stored while it is supervised; one of several jobs names what it used itself.
func TestSuperviseQuota(t *testing.T) {
	for all, want := range map[int64]int64{850_000: 800_000, 700_000: 700_000} {
		ctx := t.Context()
		st := &racing{Store: memory.Open(memory.Config{}), before: 650_000, all: all}
		s := newStored(t, st.Store, limit.Limits{}, "a.example")
		s.Store, s.Queue, s.Metered = st, st, true
		s.Limits = limit.Resolve(limit.Layer{Level: limit.Usage, Limits: limit.Limits{Bytes: 800_000}})
		var err error
		if s.ID, err = st.CreateJob(ctx, store.Job{Name: "test", State: job.Running, CreatedAt: now, StartedAt: now}); err != nil {
			t.Fatal(err)
		}
		if changed, _, err := s.Supervise(ctx, jobrun.Snapshot{State: job.Running}); err != nil || !changed {
			t.Fatalf("changed %v, %v", changed, err)
		}
		stop := st.notes[len(st.notes)-1]
		if stop.Percent != store.StoppedBy || stop.Layer != limit.Usage || stop.Max != want || stop.Observed != all {
			t.Errorf("%d bytes used: stopped by %+v, want at most %d", all, stop, want)
		}
	}
}

// TestRenew reopens URLs that are in scope since it was widened.
func TestRenew(t *testing.T) {
	ctx, st := t.Context(), memory.Open(memory.Config{})
	s := newStored(t, st, limit.Limits{}, "a.example")
	if _, err := s.Open(ctx, now); err != nil {
		t.Fatal(err)
	}
	skipped := store.Found{Item: visit.Item{Job: s.ID, URL: parse(t, "http://a.example/x"), Found: visit.FoundLink, Depth: 1}, Outcome: visit.Skipped, Reason: visit.Depth}
	if _, err := st.Add(ctx, now, []store.Found{skipped}); err != nil {
		t.Fatal(err)
	}
	if more, err := s.Renew(ctx, now); err != nil || more.Revived != 0 || more.Seeds != 0 {
		t.Errorf("as it was: %+v, %v", more, err)
	}
	s.Widened = true
	if more, err := s.Renew(ctx, now); err != nil || more.Revived != 1 {
		t.Errorf("widened: %+v, %v", more, err)
	}
}
