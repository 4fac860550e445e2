package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headway/job"
	"headway/store"
)

// TestKeys creates, uses, rotates and revokes keys.
func TestKeys(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	k := store.APIKey{ID: "a", Tenant: "acme", Name: "ci", Scope: store.ScopeWrite, Sum: sha256.Sum256([]byte("a")), CreatedAt: now}
	fatal(t, s.CreateKey(ctx, now, k))
	got, err := s.APIKey(ctx, "a")
	fatal(t, err)
	if diff := cmp.Diff(k, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.APIKey(ctx, "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a key that is not there: %v", err)
	}

	fatal(t, s.UseKey(ctx, now.Add(time.Minute), "a"))
	fatal(t, s.UseKey(ctx, now.Add(2*time.Minute), "a"))
	if got, err = s.APIKey(ctx, "a"); err != nil || !got.UsedAt.Equal(now.Add(time.Minute)) {
		t.Errorf("used at %s, %v: the second use within the step is not written", got.UsedAt, err)
	}

	next := store.APIKey{ID: "b", Tenant: "acme", Name: "ci", Scope: store.ScopeWrite, Sum: sha256.Sum256([]byte("b")), CreatedAt: now}
	fatal(t, s.RotateKey(ctx, now, "a", now.Add(time.Hour), next))
	fatal(t, s.CreateKey(ctx, now, store.APIKey{ID: "c", Tenant: "other", Scope: store.ScopeRead, CreatedAt: now}))
	list, err := s.APIKeys(ctx, store.KeyQuery{Tenant: "acme"})
	fatal(t, err)
	if len(list) != 2 || !list[0].Valid(now) || list[0].Valid(now.Add(time.Hour)) || !list[1].Valid(now.Add(time.Hour)) {
		t.Errorf("after rotation: %+v", list)
	}
	fatal(t, s.RevokeKey(ctx, now, "b"))
	if got, err = s.APIKey(ctx, "b"); err != nil || got.Valid(now) {
		t.Errorf("revoked: %+v, %v", got, err)
	}
	if err := s.RotateKey(ctx, now, "b", now, store.APIKey{ID: "d", Tenant: "acme", Scope: store.ScopeRead}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("rotate a revoked key: %v", err)
	}
	if err := s.RevokeKey(ctx, now, "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoke nothing: %v", err)
	}
	if all, err := s.APIKeys(ctx, store.KeyQuery{All: true}); err != nil || len(all) != 3 {
		t.Errorf("all keys: %+v, %v", all, err)
	}

	later := now.Add(store.KeyKeep + 2*time.Hour)
	fatal(t, s.CreateKey(ctx, later, store.APIKey{ID: "e", Tenant: "acme", Scope: store.ScopeRead, CreatedAt: later}))
	if list, err = s.APIKeys(ctx, store.KeyQuery{Tenant: "acme"}); err != nil || len(list) != 1 {
		t.Errorf("keys long out of use: %+v, %v", list, err)
	}
}

// TestEventsOfJob: every state of a job is an event, once and in order, for its tenant only.
func TestEventsOfJob(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	id, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "shop", State: job.Queued, MaxPages: 10, CreatedAt: now})
	fatal(t, err)
	_, err = s.CreateJob(ctx, store.Job{Tenant: "other", State: job.Queued, CreatedAt: now})
	fatal(t, err)
	_, err = s.Admit(ctx, now)
	fatal(t, err)
	for _, step := range []struct{ from, to job.State }{{job.Running, job.Paused}, {job.Paused, job.Running}, {job.Running, job.Partial}} {
		fatal(t, s.SetState(ctx, now, id, step.from, step.to, "max_pages"))
	}
	fatal(t, s.Extend(ctx, now, id, 20))
	fatal(t, s.SetState(ctx, now, id, job.Partial, job.Queued, "extended"))
	if err := s.SetState(ctx, now, id, job.Running, job.Paused, ""); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}

	list, err := s.Events(ctx, now, store.EventQuery{Tenant: "acme", Max: 100})
	fatal(t, err)
	var kinds []store.EventKind
	for i, e := range list {
		kinds = append(kinds, e.Kind)
		if e.Job != id || e.Tenant != "acme" || e.At.IsZero() || i > 0 && e.Number <= list[i-1].Number {
			t.Errorf("event %+v", e)
		}
		if !slices.Contains(store.EventKinds(), e.Kind) {
			t.Errorf("%s is not in the closed set", e.Kind)
		}
	}
	want := []store.EventKind{"job.created", "job.running", "job.paused", "job.running", "job.partial", "job.extended", "job.queued"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	var body map[string]any
	fatal(t, json.Unmarshal(list[4].Body, &body))
	if diff := cmp.Diff(map[string]any{"state": "partial", "was": "running", "reason": "max_pages", "name": "shop", "max_pages": 10.0}, body); diff != "" {
		t.Error(diff)
	}
	rest, err := s.Events(ctx, now, store.EventQuery{Tenant: "acme", Job: id, After: list[2].Number, Max: 2})
	fatal(t, err)
	if diff := cmp.Diff(list[3:5], rest); diff != "" {
		t.Error(diff)
	}
	if last, err := s.LastEvent(ctx, now); err != nil || last < list[6].Number {
		t.Errorf("last event %d, %v", last, err)
	}

	// All are deleted after EventLife.
	if n, err := s.ForgetEvents(ctx, now.Add(store.EventLife+time.Hour)); err != nil || n == 0 {
		t.Errorf("%d events forgotten, %v", n, err)
	}
	list, err = s.Events(ctx, now, store.EventQuery{All: true, Max: 100})
	fatal(t, err)
	if len(list) != 0 {
		t.Errorf("events after their life: %+v", list)
	}
}

// TestReadersShareTheNumbering lets many read events while another process numbers them: one
// reader of this process waits for it, the others wait for that one, and those that find all
// numbered do not wait.
func TestReadersShareTheNumbering(t *testing.T) {
	var passes atomic.Int64
	s := openTest(t, t.TempDir(), func(statement string) error {
		if statement == numberEvents {
			passes.Add(1)
		}
		return nil
	})
	defer s.Close()
	ctx := t.Context()
	_, err := s.pool.Exec(ctx, "insert into event (at, tenant, job, kind, body) values (1e15, 'acme', 1, 'job.created', '{}')")
	fatal(t, err)
	other, err := s.pool.Begin(ctx)
	fatal(t, err)
	_, err = other.Exec(ctx, "select pg_advisory_xact_lock($1, 0)", lockOfEvents)
	fatal(t, err)
	const readers = 100
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			list, err := s.Events(ctx, time.Now(), store.EventQuery{Tenant: "acme", Max: 10})
			if err != nil || len(list) != 1 {
				t.Errorf("read %d events, %v", len(list), err)
			}
		})
	}
	waiting := func() (n int) {
		err := s.pool.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and classid = $1 and not granted", uint32(lockOfEvents)).Scan(&n)
		fatal(t, err)
		return n
	}
	for range 50 { // every query uses the connections that readers wait for, too
		if n := waiting(); n > 1 {
			t.Fatalf("%d readers wait for the lock", n)
		}
	}
	fatal(t, other.Commit(ctx))
	wg.Wait()
	// Those that came during the first pass share the second.
	if n := passes.Load(); n > 2 {
		t.Errorf("%d readers numbered %d times", readers, n)
	}
	_, err = s.Events(ctx, time.Now(), store.EventQuery{Tenant: "acme", Max: 10})
	fatal(t, err)
	if n := passes.Load(); n > 2 {
		t.Error("a reader took the lock to number nothing")
	}
}

// TestEventsAreNeverPassed follows events while many transactions of different length write
// them: no event appears behind a follower's position.
func TestEventsAreNeverPassed(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	const writers, each = 4, 25
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := s.change(ctx, func(ctx context.Context, c *change) error {
					c.exec("insert into event (at, tenant, job, kind, body) values (1e15, 'acme', $1, 'job.created', '{}')", w*each+i+1)
					c.exec("select pg_sleep($1)", float64(w)*0.002) // later than others that began after it
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[job.ID]int{}
	var after store.EventNumber
	for done := false; ; {
		list, err := s.Events(ctx, time.Now(), store.EventQuery{Tenant: "acme", After: after, Max: 7})
		fatal(t, err)
		for _, e := range list {
			seen[e.Job]++
			after = e.Number
		}
		if len(seen) == writers*each || len(list) == 0 && done {
			break
		}
		if len(list) == 0 && len(seen) > writers*each/2 && !done {
			wg.Wait()
			done = true
		}
	}
	wg.Wait()
	if len(seen) != writers*each {
		t.Errorf("followed %d events of %d", len(seen), writers*each)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("event %d seen %d times", id, n)
		}
	}
}

// TestAwaitEvents is notified of a change of a job that another process makes.
func TestAwaitEvents(t *testing.T) {
	place := t.TempDir()
	s, other := openTest(t, place, nil), openTest(t, place, nil)
	defer s.Close()
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan struct{}, 10)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.AwaitEvents(ctx, func() { looks <- struct{}{} }) }) // ends with ctx
	defer wg.Wait()
	defer cancel()
	<-looks // it is listening
	_, err := other.CreateJob(ctx, store.Job{State: job.Queued})
	fatal(t, err)
	<-looks
}

// TestSubmit creates one job for one submission, however often and concurrently it is sent,
// and returns the same each time.
func TestSubmit(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	submit := func(tenant, key, what string, at time.Time) (string, bool, error) {
		text, repeated, err := s.Once(ctx, at, tenant, store.Submission{Key: key, Sum: sha256.Sum256([]byte(what))}, func(ctx context.Context) ([]byte, error) {
			id, err := s.CreateJob(ctx, store.Job{Tenant: tenant, Name: what, State: job.Queued, MaxPages: 5, CreatedAt: at})
			return fmt.Appendf(nil, "job %d", id), err
		})
		return string(text), repeated, err
	}
	var mu sync.Mutex
	answers, fresh := map[string]int{}, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			text, repeated, err := submit("acme", "k", "shop", now)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			answers[text]++
			if !repeated {
				fresh++
			}
		})
	}
	wg.Wait()
	if fresh != 1 || len(answers) != 1 {
		t.Errorf("%d jobs made, answers %v", fresh, answers)
	}
	if _, _, err := submit("acme", "k", "another", now); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the key again for something else: %v", err)
	}
	if text, repeated, err := submit("other", "k", "shop", now); err != nil || repeated || answers[text] != 0 {
		t.Errorf("another tenant: %q, %v, %v", text, repeated, err)
	}
	if text, repeated, err := submit("acme", "k", "another", now.Add(store.SubmissionLife+time.Second)); err != nil || repeated || answers[text] != 0 {
		t.Errorf("after its life: %q, %v, %v", text, repeated, err)
	}
	// If do fails, nothing is stored, and the key is free.
	fails := errors.New("no answer")
	_, _, err := s.Once(ctx, now, "acme", store.Submission{Key: "new"}, func(ctx context.Context) ([]byte, error) {
		_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "lost", State: job.Queued, CreatedAt: now})
		return nil, errors.Join(err, fails)
	})
	if !errors.Is(err, fails) {
		t.Errorf("a submission that fails: %v", err)
	}
	if text, repeated, err := submit("acme", "new", "shop", now); err != nil || repeated || text == "" {
		t.Errorf("the key of one that failed: %q, %v, %v", text, repeated, err)
	}
	list, err := s.JobList(ctx, 0, 10)
	fatal(t, err)
	if len(list) != 4 {
		t.Errorf("%d jobs, want 4", len(list))
	}
}

// TestTogether stores an order and its entry in the log, or neither, and notifies workers
// when it is committed.
func TestTogether(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	id, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "x", State: job.Running, MaxPages: 5, CreatedAt: now})
	fatal(t, err)
	pause := func(o store.Order) error {
		return s.Together(ctx, func(ctx context.Context) error {
			if err := s.SetState(ctx, now, id, job.Running, job.Paused, ""); err != nil {
				return err
			}
			if j, err := s.Job(ctx, id); err != nil || j.State != job.Running {
				t.Errorf("read before its end: %+v, %v", j, err)
			}
			return s.LogOrder(ctx, o)
		})
	}
	if err := pause(store.Order{At: now, What: "pause", Job: -1 << 40}); err == nil { // out of the range of the table
		t.Error("an order that cannot be logged was carried out")
	}
	if j, err := s.Job(ctx, id); err != nil || j.State != job.Running {
		t.Errorf("after an order that was not logged: %+v, %v", j, err)
	}
	fatal(t, pause(store.Order{At: now, By: "me", What: "pause", Tenant: "acme", Job: id, Before: "running", After: "paused"}))
	fatal(t, s.LogOrder(ctx, store.Order{At: now, By: "op", What: "slow", Host: "http://a.example"}))
	fatal(t, s.LogOrder(ctx, store.Order{At: now, By: "op", What: "create-webhook", Tenant: "other", About: "ep_1"}))
	for _, c := range []struct {
		q    store.OrderQuery
		want string
	}{
		{store.OrderQuery{All: true, Max: 10}, "pause slow create-webhook"},
		{store.OrderQuery{All: true, Max: 1}, "pause"},
		{store.OrderQuery{Tenant: "acme", Max: 10}, "pause"},
		{store.OrderQuery{Tenant: "other", Max: 10}, "create-webhook"},
		{store.OrderQuery{Tenant: "nobody", Max: 10}, ""},
		{store.OrderQuery{All: true, Host: "http://a.example", Max: 10}, "slow"},
		{store.OrderQuery{All: true, Job: id, Max: 10}, "pause"},
		{store.OrderQuery{Tenant: "other", Job: id, Max: 10}, ""},
	} {
		list, err := s.Orders(ctx, c.q)
		fatal(t, err)
		var got []string
		for _, o := range list {
			got = append(got, o.What)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.q, got, c.want)
		}
	}
	list, err := s.Orders(ctx, store.OrderQuery{All: true, After: 1, Max: 10})
	if err != nil || len(list) == 0 || list[len(list)-1].About != "ep_1" {
		t.Errorf("after the first: %+v, %v", list, err)
	}
}

// mine marks the context of calls whose connections are counted.
type mine struct{}

// holding counts the connections that calls with a marked context hold.
type holding struct {
	counter
	mu             sync.Mutex
	conns          map[*pgx.Conn]bool
	most, acquired int
}

func (h *holding) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return ctx
}

func (h *holding) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, d pgxpool.TraceAcquireEndData) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Value(mine{}) != nil && d.Conn != nil {
		h.conns[d.Conn] = true
		h.most, h.acquired = max(h.most, len(h.conns)), h.acquired+1
	}
}

func (h *holding) TraceRelease(_ *pgxpool.Pool, d pgxpool.TraceReleaseData) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, d.Conn)
}

// TestTogetherConns: all lookups of a shared transaction use one more connection, which is
// taken for the first of them, and none of them sees the changes. It never holds a third.
func TestTogetherConns(t *testing.T) {
	place := t.TempDir()
	openTest(t, place, nil).Close()
	h := &holding{conns: map[*pgx.Conn]bool{}}
	s, err := Open(t.Context(), Config{DSN: cluster.DSN(nameOf(place)), partitions: 2, tracer: h})
	fatal(t, err)
	defer s.Close()
	ctx, now := context.WithValue(t.Context(), mine{}, true), store.Stored(time.Now())
	lookups := map[string]func(context.Context) error{
		"tenant":   func(ctx context.Context) error { return second(s.Tenants(ctx, "acme")) },
		"plans":    func(ctx context.Context) error { return second(s.Plans(ctx)) },
		"quota":    func(ctx context.Context) error { return second(s.Quota(ctx, now, "acme")) },
		"settings": func(ctx context.Context) error { return second(s.FleetSettings(ctx)) },
		"hosts":    func(ctx context.Context) error { return second(s.OwnedHosts(ctx, "acme")) },
		"jobs": func(ctx context.Context) error {
			return second(s.FindJobs(ctx, store.JobQuery{Tenant: "acme", Max: 1}))
		},
		"orders":    func(ctx context.Context) error { return second(s.Orders(ctx, store.OrderQuery{All: true, Max: 1})) },
		"keys":      func(ctx context.Context) error { return second(s.APIKeys(ctx, store.KeyQuery{All: true})) },
		"schedules": func(ctx context.Context) error { return second(s.Schedules(ctx, store.ScheduleQuery{All: true})) },
		"webhooks":  func(ctx context.Context) error { return second(s.Endpoints(ctx, store.EndpointQuery{All: true})) },
		"opt-outs": func(ctx context.Context) error {
			if name, err := s.CoveringOptOut(ctx, "www.a.example"); err != nil || name != "" {
				return fmt.Errorf("%q, %w", name, err)
			}
			_, _, err := s.OptOutNames(ctx, "")
			return err
		},
	}
	together := func(t *testing.T, want int, do func(context.Context) error) {
		t.Helper()
		h.mu.Lock()
		h.acquired, h.most = 0, 0
		h.mu.Unlock()
		err := s.Together(ctx, func(ctx context.Context) error {
			fatal(t, s.SetTenant(ctx, store.Tenant{Name: "acme"}))
			if err := do(ctx); err != nil {
				return err
			}
			return s.LogOrder(ctx, store.Order{At: now, What: "x"})
		})
		fatal(t, err)
		h.mu.Lock() // the notifier releases its connections when it likes
		defer h.mu.Unlock()
		if h.acquired != want || h.most > 2 || len(h.conns) != 0 {
			t.Errorf("acquired %d connections, want %d; held up to %d, and %d after the end", h.acquired, want, h.most, len(h.conns))
		}
	}
	t.Run("none", func(t *testing.T) { together(t, 1, func(context.Context) error { return nil }) })
	for name, look := range lookups {
		t.Run(name, func(t *testing.T) {
			together(t, 2, func(ctx context.Context) error { return errors.Join(look(ctx), look(ctx)) })
		})
	}
	t.Run("all", func(t *testing.T) {
		together(t, 2, func(ctx context.Context) error {
			for name, look := range lookups {
				if err := look(ctx); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			_, _, err := s.AddOptOut(ctx, store.OptOut{Name: "a.example", At: now})
			fatal(t, err)
			return lookups["opt-outs"](ctx)
		})
	})
	// A webhook begins after the last event, and events are numbered in another transaction.
	t.Run("numbering", func(t *testing.T) {
		id, err := s.CreateJob(t.Context(), store.Job{State: job.Running, CreatedAt: now})
		fatal(t, err)
		fatal(t, s.SetState(t.Context(), now, id, job.Running, job.Cancelled, ""))
		together(t, 5, func(ctx context.Context) error {
			fatal(t, lookups["plans"](ctx))
			last, err := s.LastEvent(ctx, now)
			if err == nil && last == 0 {
				err = errors.New("no event")
			}
			return err
		})
	})
	t.Run("cancelled lookup", func(t *testing.T) {
		together(t, 3, func(ctx context.Context) error {
			fatal(t, lookups["plans"](ctx))
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			var row int
			if err := s.reading(short).QueryRow(short, "select 1 from pg_sleep(10)").Scan(&row); err == nil {
				t.Error("a lookup went on after the end of its context")
			}
			return lookups["plans"](ctx)
		})
	})
	t.Run("no connection", func(t *testing.T) {
		err := s.Together(ctx, func(ctx context.Context) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			for name, look := range lookups {
				if err := look(ended); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			}
			return nil
		})
		fatal(t, err)
	})
}
