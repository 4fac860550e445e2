package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// joined adds a worker with up to most slots.
func joined(t *testing.T, s *Store, most int) (store.WorkerID, []store.Lease) {
	t.Helper()
	w, err := s.Join(t.Context(), time.Now(), "w")
	fatal(t, err)
	leases, err := s.Acquire(t.Context(), time.Now(), w, most)
	fatal(t, err)
	return w, leases
}

// TestAwait expects a notification, on one connection, of everything that another process
// does and that concerns a worker, and of nothing else.
func TestAwait(t *testing.T) {
	place := t.TempDir()
	s, other := openTest(t, place, nil), openTest(t, place, nil)
	defer s.Close()
	defer other.Close()
	now := time.Now()
	w, _ := joined(t, s, store.SlotCount)
	slot := store.SlotOf(s.Key(), pageItem(t, 1, 1).URL.Domain())
	var id job.ID
	steps := []struct {
		name string
		do   func(ctx context.Context) error
		want store.News
	}{
		{"a job is created", func(ctx context.Context) (err error) {
			id, err = other.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 3})
			return err
		}, store.NewJobs},
		{"admitted", func(ctx context.Context) error {
			list, err := other.Admit(ctx, now)
			if len(list) != 1 {
				err = errors.Join(err, fmt.Errorf("admitted %v", list))
			}
			return err
		}, store.NewJobs},
		{"extended", func(ctx context.Context) error { return other.Extend(ctx, now, id, 5) }, store.NewJobs},
		{"paused", func(ctx context.Context) error { return other.SetState(ctx, now, id, job.Running, job.Paused, "") }, store.NewJobs},
		{"URLs arrive", func(ctx context.Context) error {
			_, err := other.Add(ctx, now, []store.Found{{Item: pageItem(t, id, 1)}})
			return err
		}, store.NewArrivals},
		{"a message to the owner", func(ctx context.Context) error {
			_, err := other.Post(ctx, now, store.Message{Slot: slot})
			return err
		}, store.NewMessages},
		{"a message to all", func(ctx context.Context) error {
			_, err := other.Post(ctx, now, store.Message{All: true})
			return err
		}, store.NewMessages},
		{"an opt-out", func(ctx context.Context) error {
			_, _, err := other.AddOptOut(ctx, store.OptOut{Name: "a.example", At: now})
			return err
		}, store.NewOptOuts},
		{"opt-out removed", func(ctx context.Context) error { return other.DropOptOut(ctx, "a.example") }, store.NewOptOuts},
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	at := -1
	err := s.Await(ctx, w, func(news store.News) {
		want, name := store.AllNews, "it listens"
		if at >= 0 {
			want, name = steps[at].want, steps[at].name
		}
		if news != want {
			t.Errorf("%s: news %b, want %b", name, news, want)
		}
		if at++; at == len(steps) {
			stop()
			return
		}
		fatal(t, steps[at].do(ctx))
	})
	if at != len(steps) || !errors.Is(err, context.Canceled) {
		t.Errorf("heard of %d of %d: %v", at, len(steps), err)
	}
	if list, err := s.Arrivals(t.Context(), w, 10); err != nil || len(list) != 1 {
		t.Errorf("arrivals %v, %v", list, err)
	}
}

// TestNotifiedOnClose creates a job and closes the store at once, as a command does: the
// workers are still notified.
func TestNotifiedOnClose(t *testing.T) {
	place := t.TempDir()
	s := openTest(t, place, nil)
	defer s.Close()
	w, _ := joined(t, s, 1)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	looks := 0
	err := s.Await(ctx, w, func(news store.News) {
		if looks++; looks == 2 {
			if news != store.NewJobs {
				t.Errorf("news %b", news)
			}
			stop()
			return
		}
		other := openTest(t, place, nil)
		_, err := other.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 1})
		fatal(t, err)
		fatal(t, other.Close())
	})
	if looks != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("looked %d times: %v", looks, err)
	}
}

// counter counts statements, including those of transactions.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *counter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { c.n.Add(1) }
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestIdleFleet counts the statements of an idle worker: every call is one statement, so that
// twenty workers send fewer than twenty per second.
func TestIdleFleet(t *testing.T) {
	const workers, most = 20, 20
	place := t.TempDir()
	made := openTest(t, place, nil)
	defer made.Close()
	c := &counter{}
	ctx, now := t.Context(), time.Now()
	s, err := Open(ctx, Config{DSN: cluster.DSN(nameOf(place)), partitions: 2, tracer: c})
	fatal(t, err)
	defer s.Close()
	w, _ := joined(t, s, store.SlotCount)
	busy, err := s.CreateJob(ctx, store.Job{State: job.Running, MaxPages: 1})
	fatal(t, err)
	_, err = s.CreateJob(ctx, store.Job{State: job.Queued, MaxPages: 1}) // there is no place for it
	fatal(t, err)
	calls := []struct {
		name  string
		every time.Duration
		do    func() error
	}{
		{"renew", store.DefaultTerms.Renew, func() error { return s.Renew(ctx, w) }},
		{"acquire", store.DefaultTerms.Renew, func() error { return second(s.Acquire(ctx, now, w, 10)) }},
		{"arrivals", store.PollEvery, func() error { return second(s.Arrivals(ctx, w, 10)) }},
		{"admit", store.PollEvery, func() error { return second(s.Admit(ctx, now)) }},
		{"settings", store.PollEvery, func() error { return second(s.FleetSettings(ctx)) }},
		{"active jobs", store.PollEvery, func() error { return second(s.ActiveJobs(ctx)) }},
		{"messages", store.PollEvery, func() error { return second(s.Messages(ctx, now, w)) }},
		{"is a job idle", store.PollEvery, func() error { return second(s.Idle(ctx, busy)) }},
	}
	// The first try prepares the statements. If the machine is busy, the pool may open another
	// connection, which sends a statement of its own: so the minimum counts.
	const tries = 5
	fewest := make([]int64, len(calls))
	for try := range tries {
		for i, call := range calls {
			before := c.n.Load()
			fatal(t, call.do())
			if n := c.n.Load() - before; try > 0 && (fewest[i] == 0 || n < fewest[i]) {
				fewest[i] = n
			}
		}
	}
	rate := 0.0
	for i, call := range calls {
		rate += float64(fewest[i]) * workers / call.every.Seconds()
		if fewest[i] != 1 {
			t.Errorf("%s: %d statements", call.name, fewest[i])
		}
	}
	if rate > most {
		t.Errorf("%d workers ask %.1f times a second, at most %d", workers, rate, most)
	}
	t.Logf("%d idle workers: %.1f statements a second", workers, rate)
}

func second[T any](_ T, err error) error { return err }

// slowly delays responses.
type slowly struct {
	counter
	by atomic.Int64
}

func (s *slowly) TraceQueryStart(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	time.Sleep(time.Duration(s.by.Load()))
	return s.counter.TraceQueryStart(ctx, c, d)
}

// TestSlowWatch watches a worker without heartbeat over a connection with slow responses: it
// is still declared dead, and no sooner than a take-over after the response in which it was
// first seen.
func TestSlowWatch(t *testing.T) {
	place := t.TempDir()
	made := openTest(t, place, nil)
	defer made.Close()
	line := &slowly{}
	terms := store.Terms{Renew: 500 * time.Millisecond, Start: 1500 * time.Millisecond, Cancel: 2900 * time.Millisecond, TakeOver: 3 * time.Second}
	ctx, now := t.Context(), time.Now()
	s, err := Open(ctx, Config{DSN: cluster.DSN(nameOf(place)), partitions: 2, tracer: line, Terms: terms})
	fatal(t, err)
	defer s.Close()
	other, err := Open(ctx, Config{DSN: cluster.DSN(nameOf(place)), partitions: 2, Terms: terms})
	fatal(t, err)
	defer other.Close()
	joined(t, other, store.SlotCount) // sends no heartbeat; s has not seen it yet
	w, err := s.Join(ctx, now, "watches")
	fatal(t, err)
	acquire := func(after, delay time.Duration, want int) {
		t.Helper()
		line.by.Store(int64(delay))
		leases, err := s.Acquire(ctx, now.Add(after), w, 10)
		fatal(t, err)
		if len(leases) != want {
			t.Errorf("%d slots after %v, want %d", len(leases), after, want)
		}
	}
	const late = time.Second // delay of responses
	acquire(0, late, 0)
	acquire(terms.TakeOver, 0, 0)
	acquire(terms.TakeOver+2*late, late, 10)
}

// TestNewsOf parses notifications, also of a newer version.
func TestNewsOf(t *testing.T) {
	for payload, want := range map[string]store.News{"1": store.NewArrivals, "6": store.NewJobs | store.NewMessages, "": store.AllNews, "what": store.AllNews, "999": store.AllNews} {
		if got := newsOf(payload); got != want {
			t.Errorf("%q: %b, want %b", payload, got, want)
		}
	}
}

// TestCancelUnderLoad cancels a job while workers reserve and commit its pages: no commit is
// rejected, and no token, account or notice of it remains.
func TestCancelUnderLoad(t *testing.T) {
	const workers, pages = 3, 300
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	id, err := s.CreateJob(ctx, store.Job{State: job.Running, MaxPages: pages})
	fatal(t, err)
	var found []store.Found
	for n := range pages {
		found = append(found, store.Found{Item: pageItem(t, id, n)})
	}
	_, err = s.Add(ctx, now, found)
	fatal(t, err)
	var done atomic.Int64
	busy := make(chan struct{}) // closed at the twentieth page
	errs := make(chan error, workers)
	for range workers {
		w, leases := joined(t, s, store.SlotCount/workers)
		mine := map[store.Slot]bool{}
		for _, l := range leases {
			mine[l.Slot] = true
		}
		work := func() error {
			number := int64(0)
			for i := range found {
				it := found[i].Item
				if !mine[store.SlotOf(s.Key(), it.URL.Domain())] {
					continue
				}
				got, err := s.Reserve(ctx, w, id, 1)
				if err != nil || got == 0 {
					return err
				}
				number++
				link := found[(i*7+1)%pages].Item
				link.URL, err = link.URL.Resolve("/next")
				if err != nil {
					return err
				}
				c := store.Commit{Worker: w, Number: number, At: now, Leases: leases, Visits: []visit.Visit{{Item: it, Outcome: visit.Fetched}}, Found: []store.Found{{Item: link}}}
				if _, err := s.Commit(ctx, c); err != nil {
					return err
				}
				if done.Add(1) == 20 {
					close(busy)
				}
			}
			return nil
		}
		go func() { errs <- work() }()
	}
	select {
	case <-busy:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	fatal(t, s.SetState(ctx, now, id, job.Running, job.Cancelled, ""))
	for range workers {
		fatal(t, <-errs)
	}
	c, err := s.Audit(ctx, id)
	if err != nil || c.Pages() != done.Load() || c.Tokens != 0 {
		t.Errorf("%d pages were acknowledged: %+v, %v", done.Load(), c, err)
	}
	var left int
	fatal(t, s.pool.QueryRow(ctx, "select (select count(*) from token) + (select count(*) from account)").Scan(&left))
	if left != 0 {
		t.Errorf("%d rows of tokens are left", left)
	}
	t.Logf("%d pages of %d", c.Pages(), pages)
}
