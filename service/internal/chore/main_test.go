package chore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/fetch/guard"
	"headway/internal/pgtest"
	"headway/job"
	"headway/service/internal/webhook"
	"headway/store"
	"headway/store/postgres"
)

// cluster is the server of this test binary.
var cluster *pgtest.Cluster

// Environment variables of the processes that tests start and kill.
const (
	childDSN  = "HEADWAY_TEST_DSN"
	childPort = "HEADWAY_TEST_PORT"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDSN) != "" {
		os.Exit(m.Run()) // a helper of a test: the server is there
	}
	// Tests mostly wait for the database.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m, pgtest.Config{}, func(c *pgtest.Cluster) error {
		cluster = c
		ctx := context.Background()
		return c.MakeTemplate(ctx, func(dsn string) (io.Closer, error) { return postgres.Open(ctx, postgres.Config{DSN: dsn}) })
	}))
}

func execOn(ctx context.Context, dsn, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql, args...)
	return errors.Join(err, conn.Close(ctx))
}

// bench is a store of a test with its runners.
type bench struct {
	testing.TB
	dsn   string
	store *postgres.Store
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return openBench(t, cluster.Database(t))
}

// openBench opens an existing store.
func openBench(t testing.TB, dsn string) *bench {
	t.Helper()
	b := &bench{TB: t, dsn: dsn}
	var err error
	b.store, err = postgres.Open(t.Context(), postgres.Config{DSN: b.dsn})
	fatal(t, err)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// work runs all background jobs until the test ends.
func (b *bench) work(cfg webhook.Config) {
	b.Helper()
	b.run(b.runner(Config{Webhook: cfg}))
}

// runner opens a runner, which is closed when the test ends.
func (b *bench) runner(cfg Config) *Runner {
	b.Helper()
	cfg.Store, cfg.Log = b.store, quiet
	c, err := Open(b.Context(), cfg)
	fatal(b.TB, err)
	b.Cleanup(c.Close)
	return c
}

// run runs a runner until the test ends or stop is called.
func (b *bench) run(c *Runner) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("the runner failed: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	b.Cleanup(stop)
	return stop
}

// quiet logs errors only.
var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

// happen adds events of a tenant by creating as many jobs.
func (b *bench) happen(tenant string, n int) {
	b.Helper()
	for range n {
		_, err := b.store.CreateJob(b.Context(), store.Job{Tenant: tenant, State: job.Queued, MaxPages: 1, CreatedAt: time.Now()})
		fatal(b.TB, err)
	}
}

// events returns all events of a tenant.
func (b *bench) events(tenant string) []store.Event {
	b.Helper()
	list, err := b.store.Events(b.Context(), time.Now(), store.EventQuery{Tenant: tenant, Max: store.MaxEvents})
	fatal(b.TB, err)
	return list
}

// one queries one value.
func (b *bench) one(sql string, args ...any) (n int64) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), b.dsn)
	fatal(b.TB, err)
	defer func() { fatal(b.TB, conn.Close(context.WithoutCancel(b.Context()))) }()
	fatal(b.TB, conn.QueryRow(b.Context(), sql, args...).Scan(&n))
	return n
}

// until polls a condition, and fails the test after a minute.
func (b *bench) until(what string, is func() bool) {
	b.Helper()
	// River and PostgreSQL work in real time and report nothing here, so it is polled.
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("after a minute not: %s", what)
		}
	}
}

// pass makes time pass for River: running jobs become an hour older, waits end, and
// the leader's lease expires.
func (b *bench) pass() {
	b.Helper()
	for _, sql := range []string{
		"update headway.river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'",
		"update headway.river_leader set expires_at = now() - interval '1 second'",
	} {
		fatal(b.TB, execOn(b.Context(), b.dsn, sql))
	}
}

// loopback allows ports of this machine.
func loopback(ports ...uint16) guard.Config {
	r, err := guard.ParseRange("127.0.0.0/8")
	if err != nil {
		panic(fmt.Sprintf("a constant range: %v", err))
	}
	r.Ports = ports
	return guard.Config{AllowPrivate: []guard.Range{r}}
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
