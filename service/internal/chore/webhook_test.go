package chore

import (
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headway/internal/pgtest"
	"headway/job"
	"headway/service/internal/webhook"
	"headway/store"
)

// soon are the retry delays of the standard, shortened.
var soon = []time.Duration{
	20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
	800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 4 * time.Second,
}

// TestDelivered sends events to subscribed endpoints only.
func TestDelivered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	acme, other, deaf := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
	b.happen("acme", 3) // before there was an endpoint
	before := len(b.events("acme"))
	acme.endpoint(b, "acme", store.JobCreated)
	other.endpoint(b, "other")
	deaf.endpoint(b, "acme", store.LimitNear)
	b.work(webhook.Config{Guard: loopback(acme.port(), other.port(), deaf.port()), Retries: soon})
	b.happen("acme", 20)
	b.happen("other", 5)
	b.happen("nobody", 5)
	b.until("all have arrived", func() bool { return acme.has() == 20 && other.has() == 5 })
	if again := acme.judge(b.events("acme")[before:]) + other.judge(b.events("other")); again != 0 {
		t.Errorf("%d came twice", again)
	}
	if all, _ := deaf.attempts(); all != 0 {
		t.Errorf("%d were sent to an endpoint that wants other kinds", all)
	}
}

// TestReceiverDown answers 503 and cuts connections at most attempts at each delivery.
func TestReceiverDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const down = 6 // attempts; there are more
	var v *receiver
	v = newReceiver(t, func(w http.ResponseWriter, _ *http.Request, id string) {
		v.mu.Lock()
		n := v.asked[id]
		v.mu.Unlock()
		if n > down {
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		if n%2 == 0 {
			panic(http.ErrAbortHandler)
		}
	})
	v.endpoint(b, "acme")
	b.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	const events = 60
	b.happen("acme", events)
	b.until("all have arrived", func() bool { return v.has() == events })
	v.judge(b.events("acme"))
	all, ids := v.attempts()
	if all < events*(down+1) || ids != events {
		t.Errorf("%d attempts at %d deliveries of %d events", all, ids, events)
	}
	if kept := b.one("select count(*) from headway.river_job where kind = 'webhook'"); kept != events {
		t.Errorf("%d deliveries were made of %d events", kept, events)
	}
}

// TestGivenUp stops after the last attempt.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := newReceiver(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound) // not followed, so a failure
	})
	e := v.endpoint(b, "acme")
	c := b.runner(Config{Webhook: webhook.Config{Guard: loopback(v.port()), Retries: soon[:3]}})
	b.run(c)
	b.happen("acme", 2)
	var list []webhook.Delivery
	b.until("both are given up", func() bool {
		var err error
		list, err = c.Deliveries(t.Context(), e.ID, 10)
		fatal(t, err)
		return len(list) == 2 && list[0].State == webhook.GivenUp && list[1].State == webhook.GivenUp
	})
	if all, ids := v.attempts(); all != 8 || ids != 2 {
		t.Errorf("%d attempts at %d deliveries, want 4 at each of 2", all, ids)
	}
	for _, d := range list {
		if d.Attempts != 4 || d.Error != "status 302: redirects are not followed" || d.Kind != store.JobCreated || v.asked[d.ID] != 4 || d.EndedAt.IsZero() || !d.NextAt.IsZero() {
			t.Errorf("given up: %+v", d)
		}
	}
	if others, err := c.Deliveries(t.Context(), "another", 10); err != nil || len(others) != 0 {
		t.Errorf("to another endpoint: %+v, %v", others, err)
	}
}

// TestGone disables an endpoint that answers 410, and enables it again.
func TestGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var back atomic.Bool
	v := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		if !back.Load() {
			w.WriteHeader(http.StatusGone)
		}
	})
	e := v.endpoint(b, "acme")
	b.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	b.happen("acme", 1)
	is := func() store.Endpoint {
		got, err := b.store.Endpoint(t.Context(), e.ID)
		fatal(t, err)
		return got
	}
	b.until("it is off", func() bool { off := is(); return !off.Enabled() && off.Disabled == "received 410 Gone" })
	before, _ := v.attempts()
	b.happen("acme", 3)
	missed := len(b.events("acme"))
	back.Store(true)
	fatal(t, b.store.EnableEndpoint(t.Context(), time.Now(), e.ID))
	b.happen("acme", 2)
	b.until("what came later arrived", func() bool { return v.has() == 2 })
	v.judge(b.events("acme")[missed:])
	if all, _ := v.attempts(); before != 1 || all != 3 {
		t.Errorf("%d attempts before and %d in all, want 1 and 3", before, all)
	}
}

// TestStop stops a runner while a receiver hangs. It stops in time, and the aborted
// attempt does not count.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gate := make(chan struct{})
	v := newReceiver(t, func(http.ResponseWriter, *http.Request, string) { <-gate })
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	e := v.endpoint(b, "acme")
	c := b.runner(Config{Webhook: webhook.Config{Guard: loopback(v.port())}}) // with the standard's delays
	stop := b.run(c)
	b.happen("acme", 1)
	b.until("it is under way", func() bool { all, _ := v.attempts(); return all == 1 })
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > stopWithin+5*time.Second {
		t.Errorf("it took %s to stop", took)
	}
	list, err := c.Deliveries(t.Context(), e.ID, 10)
	fatal(t, err)
	if len(list) != 1 || list[0].State != webhook.Waiting || list[0].Attempts != 0 || list[0].Error != "" || list[0].NextAt.After(time.Now()) {
		t.Errorf("after the stop: %+v", list)
	}
	open()
	b.work(webhook.Config{Guard: loopback(v.port())})
	b.until("it has arrived", func() bool { return v.has() == 1 })
	v.judge(b.events("acme"))
}

// TestWrongKey is rejected by the receiver until both have the same secret again.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := newReceiver(t, nil)
	e := v.endpoint(b, "acme")
	v.mu.Lock()
	v.secret = webhook.NewSecret()
	next := v.secret
	v.mu.Unlock()
	b.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	b.happen("acme", 3)
	b.until("it was refused", func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.wrong >= 3 })
	if v.has() != 0 {
		t.Error("the library accepted a wrong signature")
	}
	fatal(t, b.store.RotateEndpoint(t.Context(), e.ID, next, time.Now().Add(time.Hour)))
	b.until("all have arrived", func() bool { return v.has() == 3 })
	v.judge(b.events("acme"))
}

// TestSlowReceiver: a receiver that hangs does not delay others, and gets a bounded
// number of concurrent requests.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gate := make(chan struct{})
	slow := newReceiver(t, func(http.ResponseWriter, *http.Request, string) { <-gate })
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	fast := newReceiver(t, nil)
	slow.endpoint(b, "acme")
	b.work(webhook.Config{Guard: loopback(slow.port(), fast.port()), Retries: soon})
	const backlog, events = 24, 30
	b.happen("acme", backlog)
	b.until("the slow one is busy", func() bool { all, _ := slow.attempts(); return all >= 4 })
	fast.endpoint(b, "other")
	b.happen("other", events)
	b.until("all have arrived at the fast one", func() bool { return fast.has() == events })
	fast.judge(b.events("other"))
	if slow.has() != 0 {
		t.Errorf("the slow one took %d before it was let", slow.has())
	}
	open()
	b.until("all have arrived at the slow one", func() bool { return slow.has() == backlog })
	if again := slow.judge(b.events("acme")); again != 0 || slow.most > 4 {
		t.Errorf("%d came twice, %d at once", again, slow.most)
	}
}

// TestTwoRunners runs two processes. Each event is delivered once.
func TestTwoRunners(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := newReceiver(t, nil)
	v.endpoint(b, "acme")
	cfg := webhook.Config{Guard: loopback(v.port()), Retries: soon}
	b.work(cfg)
	b.work(cfg)
	const events = 300
	b.happen("acme", events)
	b.until("all have arrived", func() bool { return v.has() == events })
	b.until("all are noted", func() bool {
		return b.one("select count(*) from headway.river_job where kind = 'webhook' and state = 'completed'") == events
	})
	if again := v.judge(b.events("acme")); again != 0 {
		t.Errorf("%d came twice", again)
	}
}

// TestKilledRunner kills processes while they create and send deliveries. Each event
// arrives, and twice only if it was being sent at a kill.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const kills, each = 4, 15
	var hang atomic.Bool
	hang.Store(true)
	var hung, sent atomic.Int64
	v := newReceiver(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		if hang.Load() && sent.Add(1)%7 == 0 {
			hung.Add(1)
			<-r.Context().Done() // the sender is killed
		}
	})
	v.endpoint(b, "acme")
	for range kills {
		b.happen("acme", each)
		before := hung.Load()
		kill := b.child(v.port())
		b.happen("acme", each)
		b.until("something is under way", func() bool { return hung.Load() > before })
		kill()
	}
	hang.Store(false)
	b.until("the dead are unheard", func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.busy == 0 })
	b.pass()
	b.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	const events = 2 * kills * each
	b.until("all have arrived", func() bool { return v.has() == events })
	// Deliveries that were answered but not recorded at a kill are repeated.
	if again := v.judge(b.events("acme")); again > kills*webhook.MaxWorking {
		t.Errorf("%d came twice", again)
	}
	if made := b.one("select count(*) from headway.river_job where kind = 'webhook'"); made != events {
		t.Errorf("%d deliveries were made of %d events", made, events)
	}
}

// child starts a process with a runner, and returns how to kill it.
func (b *bench) child(port uint16) (kill func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDSN+"="+b.dsn, childPort+"="+strconv.Itoa(int(port)))
	cmd.Stderr = os.Stderr
	fatal(b.TB, cmd.Start())
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			b.Error(err)
		}
		_ = cmd.Wait() // it was killed
	})
	b.Cleanup(kill)
	return kill
}

// TestChild is the process of [bench.child].
func TestChild(t *testing.T) {
	dsn := os.Getenv(childDSN)
	if dsn == "" {
		return // only runs as a child process
	}
	port, err := strconv.ParseUint(os.Getenv(childPort), 10, 16)
	fatal(t, err)
	b := openBench(t, dsn)
	b.work(webhook.Config{Guard: loopback(uint16(port)), Retries: soon})
	time.Sleep(time.Minute) // to be killed meanwhile
}

// newOwnServer starts a PostgreSQL server for this test alone, with a receiver.
func newOwnServer(t *testing.T) (*pgtest.Cluster, *bench, *receiver) {
	t.Helper()
	server := pgtest.StartFor(t, pgtest.Config{Durable: true})
	b := openBench(t, server.DSN("postgres"))
	v := newReceiver(t, nil)
	v.endpoint(b, "acme")
	return server, b, v
}

// noted is a log that signals each write.
type noted chan struct{}

func (n noted) Write(p []byte) (int, error) {
	select {
	case n <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestServerAway starts a runner while PostgreSQL is down. It works once PostgreSQL is
// back.
func TestServerAway(t *testing.T) {
	t.Parallel()
	server, b, v := newOwnServer(t)
	c := b.runner(Config{Webhook: webhook.Config{Guard: loopback(v.port()), Retries: soon}})
	tried := make(noted, 1)
	c.log = slog.New(slog.NewTextHandler(tried, nil))
	fatal(t, server.Kill())
	b.run(c)
	<-tried
	fatal(t, server.StartServer(t.Context()))
	b.until("it answers again", func() bool {
		_, err := b.store.CreateJob(t.Context(), store.Job{Tenant: "acme", State: job.Queued, MaxPages: 1, CreatedAt: time.Now()})
		return err == nil
	})
	b.until("it has arrived", func() bool { return v.has() == 1 })
}

// TestServerKilled kills PostgreSQL while deliveries are created and sent. The runner
// continues once it is back, and no committed event is lost.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, b, v := newOwnServer(t)
	b.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	const each = 40
	b.happen("acme", each)
	b.until("some have arrived", func() bool { return v.has() > 0 })
	fatal(t, server.Kill())
	fatal(t, server.StartServer(ctx))
	// Old connections are found broken one by one.
	for range each {
		b.until("it answers again", func() bool {
			_, err := b.store.CreateJob(ctx, store.Job{Tenant: "acme", State: job.Queued, MaxPages: 1, CreatedAt: time.Now()})
			return err == nil
		})
	}
	events := b.events("acme")
	var passed time.Time
	b.until("all have arrived", func() bool {
		if time.Since(passed) > 5*time.Second { // for what was under way at the kill
			b.pass()
			passed = time.Now()
		}
		return v.has() == len(events)
	})
	v.judge(events)
}
