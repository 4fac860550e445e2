//go:build linux

package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/internal/pgtest"
	"headway/job"
	"headway/store"
	"headway/store/storetest"
	"headway/visit"
)

// full reports whether the long tests were requested.
var full = os.Getenv("HEADWAY_FULL") != ""

// durable starts a server with durable writes, and passes it to processes that the test
// starts.
func durable(t *testing.T, settings ...string) *pgtest.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers that sync to the disk, and kills them")
	}
	c := pgtest.StartFor(t, pgtest.Config{Durable: true, Settings: settings})
	t.Setenv(killServerEnv, c.DSN("postgres"))
	return c
}

// openKilled opens a store of the server that the environment names.
func openKilled(t testing.TB, place string, fault store.Fault) store.Store {
	return openAt(t, os.Getenv(killServerEnv), place, fault)
}

// setKills sets the number of kills, unless the environment does.
func setKills(t *testing.T, short, long int) {
	if os.Getenv("HEADWAY_KILLS") == "" {
		t.Setenv("HEADWAY_KILLS", strconv.Itoa(map[bool]int{false: short, true: long}[full]))
	}
}

func TestKillClient(t *testing.T) {
	if os.Getenv(killServerEnv) != "" { // the process that is killed
		storetest.Kill(t, openKilled)
		return
	}
	c := durable(t)
	setKills(t, 10, 200)
	storetest.KillBy(t, openKilled, t.TempDir(), storetest.Crash{
		Cut:     func(p *os.Process) error { return p.Kill() },
		Restore: func() error { return awaitIdle(t.Context(), c) },
	})
}

// awaitIdle waits until the server has noticed that a process is gone: until then a commit
// of it may still be in progress.
func awaitIdle(ctx context.Context, c *pgtest.Cluster) error {
	conn, err := pgx.Connect(ctx, c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	// PostgreSQL does not report the end of a session, so it is polled.
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		var n int
		if err := conn.QueryRow(ctx, "select count(*) from pg_stat_activity where application_name = 'headway'").Scan(&n); err != nil || n == 0 {
			return err
		}
	}
}

func TestKillServer(t *testing.T) {
	if os.Getenv(killServerEnv) != "" {
		storetest.Kill(t, openKilled)
		return
	}
	c := durable(t)
	setKills(t, 3, 50)
	dead := make(chan struct{}, 1) // the client may end before the last of the server's processes does
	storetest.KillBy(t, openKilled, t.TempDir(), storetest.Crash{
		Cut: func(*os.Process) error {
			defer func() { dead <- struct{}{} }()
			return c.Kill()
		},
		Restore: func() error {
			<-dead
			return c.StartServer(t.Context())
		},
	})
}

// TestZombie stops an owner with a page in flight, for longer than its lease, while another
// takes over and records the page. Resumed, it may start nothing and its commit is rejected.
func TestZombie(t *testing.T) {
	if os.Getenv(killServerEnv) != "" {
		zombie(t)
		return
	}
	t.Setenv(killServerEnv, cluster.DSN("postgres"))
	schema := nameOf(t.TempDir())
	t.Setenv("HEADWAY_ZOMBIE_SCHEMA", schema)
	s := openZombie(t)
	defer s.Close()
	ctx := t.Context()
	id, err := s.CreateJob(ctx, store.Job{State: job.Running})
	fatal(t, err)
	_, err = s.Add(ctx, time.Now(), []store.Found{{Item: pageItem(t, id, 1)}, {Item: pageItem(t, id, 2)}})
	fatal(t, err)

	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestZombie$", "-test.v")
	stdin, err := cmd.StdinPipe()
	fatal(t, err)
	stdout, err := cmd.StdoutPipe()
	fatal(t, err)
	cmd.Stderr = os.Stderr
	fatal(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	expect := func(want string) {
		t.Helper()
		for lines.Scan() {
			if said, ok := strings.CutPrefix(lines.Text(), "zombie: "); ok {
				if said != want {
					t.Errorf("it says %q, want %q", said, want)
				}
				return
			}
		}
		t.Fatalf("it ended before it said %q", want)
	}
	expect("in hand; may start: true")
	fatal(t, cmd.Process.Signal(syscall.SIGSTOP))

	// Another worker watches, by its own clock.
	w, err := s.Join(ctx, time.Now(), "next")
	fatal(t, err)
	begin := time.Now()
	var leases []store.Lease
	// A lease expires in real time, and is polled as workers do.
	for tick := time.NewTicker(50 * time.Millisecond); len(leases) == 0; <-tick.C {
		leases, err = s.Acquire(ctx, time.Now(), w, store.SlotCount)
		fatal(t, err)
	}
	if took := time.Since(begin); took < zombieTerms.TakeOver {
		t.Errorf("taken over after %s", took)
	}
	for _, l := range leases {
		if l.Clean {
			t.Fatal("a lease of a dead worker ended cleanly")
		}
	}
	_, err = s.Commit(ctx, pageCommit(t, w, id, leases, visit.Dead))
	fatal(t, err)

	fatal(t, cmd.Process.Signal(syscall.SIGCONT))
	_, err = io.WriteString(stdin, "go on\n")
	fatal(t, err)
	expect("may start: false; must cancel: true")
	expect("late commit refused: true")
	expect("renewal refused: true")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	e, err := s.Lookup(ctx, id, pageItem(t, id, 1).URL)
	fatal(t, err)
	if e.Outcome != visit.Dead {
		t.Errorf("the page is recorded as %s", e.Outcome)
	}
	if c, err := s.Audit(ctx, id); err != nil || c.Seen() != 2 || c.Waiting != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func openZombie(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: os.Getenv(killServerEnv), Schema: os.Getenv("HEADWAY_ZOMBIE_SCHEMA"), Terms: zombieTerms, partitions: 2})
	fatal(t, err)
	return s
}

// zombie owns all slots, has a page in flight and is then stopped.
func zombie(t *testing.T) {
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, "zombie: "+format+"\n", args...) }
	s := openZombie(t)
	defer s.Close()
	ctx := t.Context()
	w, err := s.Join(ctx, time.Now(), "zombie")
	fatal(t, err)
	leases, err := s.Acquire(ctx, time.Now(), w, store.SlotCount)
	fatal(t, err)
	sent := time.Now()
	fatal(t, s.Renew(ctx, w))
	tenure := store.NewTenure(zombieTerms, sent)
	jobs, err := s.JobList(ctx, 0, 1)
	fatal(t, err)
	late := pageCommit(t, w, jobs[0].ID, leases, visit.Fetched)
	say("in hand; may start: %v", tenure.MayStart(time.Now()))
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	fatal(t, err)
	say("may start: %v; must cancel: %v", tenure.MayStart(time.Now()), tenure.MustCancel(time.Now()))
	_, err = s.Commit(ctx, late)
	say("late commit refused: %v", errors.Is(err, store.ErrFenced))
	say("renewal refused: %v", errors.Is(s.Renew(ctx, w), store.ErrFenced))
}

// TestFailover kills a primary with a synchronous standby under load and promotes the
// standby. Nothing acknowledged is lost, and the workers resume by themselves.
func TestFailover(t *testing.T) {
	primary := durable(t)
	standby := pgtest.StartFor(t, pgtest.Config{Durable: true, From: primary})
	fatal(t, primary.MakeSynchronous(t.Context()))
	dsn := fmt.Sprintf("postgres://postgres@/postgres?host=%s,%s&port=%d,%d&target_session_attrs=read-write&connect_timeout=5", primary.Dir, standby.Dir, primary.Port, standby.Port)
	s := openAt(t, dsn, t.TempDir(), nil)
	defer s.Close()

	const workers = 2
	id, err := s.CreateJob(t.Context(), store.Job{State: job.Running})
	fatal(t, err)
	f := &failover{t: t, s: s, job: id}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() { f.work(ctx, i) })
	}
	before := map[bool]int64{false: 50, true: 1000}[full]
	f.awaitCommits(before)
	fatal(t, primary.Kill())
	killed := time.Now()
	fatal(t, standby.Promote(t.Context()))
	f.awaitCommits(f.commits.Load() + before)
	t.Logf("workers commit again %s after the primary was killed", time.Since(killed).Round(time.Millisecond))
	stop()
	group.Wait()

	c, err := s.Audit(t.Context(), f.job)
	fatal(t, err)
	if acknowledged := f.pages.Load(); c.Pages() < acknowledged || c.Pages() > acknowledged+workers {
		t.Errorf("%d pages are there, %d were acknowledged", c.Pages(), acknowledged)
	}
	t.Logf("%d pages acknowledged, %d there", f.pages.Load(), c.Pages())
}

// failover is a load of commits, one page each, that are resent until they are
// acknowledged.
type failover struct {
	t       *testing.T
	s       *Store
	job     job.ID
	pages   atomic.Int64 // acknowledged
	commits atomic.Int64
}

func (f *failover) awaitCommits(n int64) {
	f.t.Helper()
	deadline := time.Now().Add(time.Minute)
	// Sessions of real servers commit; the poll also sees a failure.
	for tick := time.NewTicker(5 * time.Millisecond); f.commits.Load() < n; <-tick.C {
		if f.t.Failed() || time.Now().After(deadline) {
			f.t.Fatalf("%d commits of %d", f.commits.Load(), n)
		}
	}
}

// work adds and finishes pages in a loop.
func (f *failover) work(ctx context.Context, i int) {
	again := func(what string, do func() error) bool {
		// A server that is down is retried until it is back.
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			err := do()
			if err == nil {
				return true
			}
			if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrNotWaiting) {
				f.t.Errorf("%s: %v", what, err)
				return false
			}
		}
		return false
	}
	var w store.WorkerID
	var leases []store.Lease
	ready := again("join", func() (err error) {
		w, err = f.s.Join(ctx, time.Now(), "failover")
		return err
	}) && again("acquire", func() (err error) {
		leases, err = f.s.Acquire(ctx, time.Now(), w, store.SlotCount/2)
		return err
	})
	mine := map[store.Slot]bool{}
	for _, l := range leases {
		mine[l.Slot] = true
	}
	number := int64(0)
	for n := i; ready && ctx.Err() == nil; n += 2 {
		it := pageItem(f.t, f.job, n)
		if !mine[store.SlotOf(f.s.Key(), it.URL.Domain())] {
			continue
		}
		number++
		c := store.Commit{Worker: w, Number: number, At: time.Now(), Leases: leases, Visits: []visit.Visit{{Item: it, Outcome: visit.Fetched}}}
		ready = again("add", func() error {
			_, err := f.s.Add(ctx, time.Now(), []store.Found{{Item: it}})
			return err
		}) && again("commit", func() error {
			_, err := f.s.Commit(ctx, c)
			return err
		})
		if ready {
			f.pages.Add(1)
			f.commits.Add(1)
		}
	}
}
