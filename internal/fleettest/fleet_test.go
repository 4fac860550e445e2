package fleettest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/cli"
	"headway/internal/pgtest"
	"headway/internal/stall"
	"headway/lab"
	"headway/lab/temper"
)

// atOnce is how many tests run in parallel in CI. They mostly wait for the pace of a
// crawl.
const atOnce = 4

func TestMain(m *testing.M) {
	if !full {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){
		"headway": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// full reports whether tests run at full size.
var full = os.Getenv("HEADWAY_FULL") != ""

// Times of the fleet.
const (
	lease = 5 * time.Second // a busy machine stalls for seconds
	pace  = time.Second
	// takeOver is how long after the end of a worker another one sends requests to its
	// hosts.
	takeOver = lease + 5*time.Second
)

// fleet is workers, their database and the hosts they crawl.
type fleet struct {
	*testing.T
	lab     *origin
	hosts   int
	pages   int
	pace    time.Duration
	db      *pgtest.Cluster
	standby *pgtest.Cluster // nil without one
	dir     string
	program string    // path of the program; empty means this version's
	workers []*worker // running
	started []*worker // all, including those that have ended
	stalls  *stall.Watch
	random  *rand.Rand
}

// worker is one process: a worker or a server.
type worker struct {
	cmd    *exec.Cmd
	lines  []*proxy // to the database, and its standby
	errs   *journal
	exited chan struct{}
	err    error
}

// journal is the output of a worker. It is read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// setup is what a fleet crawls, and on which database.
type setup struct {
	hosts, pages int
	pace         time.Duration               // zero means the usual one
	rules        temper.Rules                // how the hosts answer
	site         func(host int, s *lab.Site) // changes the content of a host; nil for none
	db           pgtest.Config
	safety       []string            // flags of headway admin safety set; nil means no safety limits
	older        bool                // the tables are created by an older version
	texts        bool                // pages are large enough for a main text
	kill         func(*http.Request) // of the lab
}

// newFleet starts a database and a lab. Random choices follow from a seed, which
// HEADWAY_SEED repeats.
func newFleet(t *testing.T, s setup) *fleet {
	t.Helper()
	site := lab.DefaultSite()
	site.Pages = s.pages
	if !full && !s.texts { // their content is not used
		site.MinKB, site.MaxKB = 2, 6
	}
	specs := lab.Uniform(s.hosts, lab.Temper{Site: site, Rules: s.rules})
	if s.site != nil {
		for i := range specs {
			s.site(i, &specs[i].Temper.Site)
		}
	}
	o := serveOrigin(t, lab.Config{Hosts: specs, Kill: s.kill})
	seed := rand.Uint64()
	if given := os.Getenv("HEADWAY_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HEADWAY_SEED=%d", seed)
	f := &fleet{
		T: t, lab: o, hosts: s.hosts, pages: s.pages, pace: cmp.Or(s.pace, pace), db: pgtest.StartFor(t, s.db), dir: t.TempDir(),
		stalls: stall.Start(t), random: rand.New(rand.NewPCG(seed, 0)),
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.printLogs()
		}
	})
	if !s.older {
		f.setSafety(s.safety...)
	}
	return f
}

// setSafety sets the lease of the tests, and safety limits: without flags, none.
func (f *fleet) setSafety(flags ...string) {
	f.Helper()
	if flags == nil {
		flags = []string{"--max-pages", "0", "--max-concurrent", "0", "--max-time", "0s"}
	}
	f.run(append([]string{"admin", "safety", "set", "--lease", lease.String()}, flags...)...)
}

// servers are the database and its standby.
func (f *fleet) servers() []*pgtest.Cluster {
	if f.standby == nil {
		return []*pgtest.Cluster{f.db}
	}
	return []*pgtest.Cluster{f.db, f.standby}
}

// command is headway with these arguments, for a database at these ports.
func (f *fleet) command(ports []int, args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(f.program, "headway"), args...)
	cmd.Dir = f.dir
	cmd.Env = cleanEnv()
	dsn := "dbname=postgres user=postgres sslmode=disable target_session_attrs=read-write"
	var hosts, numbers []string
	for _, p := range ports {
		hosts, numbers = append(hosts, "127.0.0.1"), append(numbers, strconv.Itoa(p))
	}
	dsn += " host=" + strings.Join(hosts, ",") + " port=" + strings.Join(numbers, ",")
	// The race detector would delay the exit of each process by a second.
	cmd.Env = append(cmd.Env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(f.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(f.dir, "config"), "HOME="+f.dir, "HEADWAY_FLEET_STORE="+dsn)
	return cmd
}

// cleanEnv is the environment without the variables of the tests, which a process
// would reject as unknown settings.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEADWAY_") })
}

// start starts a worker with its own proxies.
func (f *fleet) start(args ...string) *worker {
	f.Helper()
	w := f.spawn(append([]string{"worker", "--lease", lease.String(), "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", f.lab.port), "--workers", "64"}, args...)...)
	f.workers = append(f.workers, w)
	return w
}

// spawn starts a process of the fleet with its own proxies.
func (f *fleet) spawn(args ...string) *worker {
	f.Helper()
	w := new(worker)
	var ports []int
	for _, s := range f.servers() {
		line := newProxy(f.T, s.Port)
		w.lines, ports = append(w.lines, line), append(ports, line.port())
	}
	w.cmd = f.command(ports, args...)
	f.launch(w)
	return w
}

// launch starts a process, which ends with the test.
func (f *fleet) launch(w *worker) {
	f.Helper()
	w.errs, w.exited = &journal{}, make(chan struct{})
	w.cmd.Stderr = w.errs
	if err := w.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.exited)
	}()
	f.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it may have ended
		<-w.exited
	})
	f.started = append(f.started, w)
}

// victim is a random worker that owns hosts, and these hosts.
func (f *fleet) victim() (w *worker, hosts []string) {
	f.Helper()
	return f.victimOf(f.workers)
}

// victimOf is victim among some workers.
func (f *fleet) victimOf(list []*worker) (w *worker, hosts []string) {
	f.Helper()
	for _, i := range f.random.Perm(len(list)) {
		w = list[i]
		if hosts = f.owned(w); len(hosts) > 0 {
			return w, hosts
		}
	}
	f.Fatal("no worker owns a host")
	return nil, nil
}

// chance is a random duration of at most d.
func (f *fleet) chance(d time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(d)))
}

// signal sends a signal to a running worker.
func (f *fleet) signal(w *worker, s syscall.Signal) {
	f.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		f.Fatal(err)
	}
}

// ended removes a worker that has ended from the list of running ones.
func (f *fleet) ended(w *worker) {
	f.workers = slices.DeleteFunc(f.workers, func(x *worker) bool { return x == w })
}

// kill kills a worker.
func (f *fleet) kill(w *worker) {
	f.Helper()
	f.signal(w, syscall.SIGKILL)
	<-w.exited
	f.ended(w)
}

// leave stops a worker gracefully, which must succeed in time.
func (f *fleet) leave(w *worker) {
	f.Helper()
	f.signal(w, syscall.SIGTERM)
	f.awaitExit(w, 20*time.Second)
	if w.err != nil {
		f.Errorf("a worker that was stopped: %v\n%s", w.err, w.errs)
	}
}

// awaitExit waits for the end of a worker.
func (f *fleet) awaitExit(w *worker, within time.Duration) {
	f.Helper()
	select {
	case <-w.exited:
	case <-time.After(within):
		f.Fatalf("a worker has not left after %v:\n%s", within, w.errs)
	}
	f.ended(w)
}

// leaveAll stops all workers.
func (f *fleet) leaveAll() {
	f.Helper()
	for len(f.workers) > 0 {
		f.leave(f.workers[0])
	}
}

// printLogs prints the output of all workers, including those that have ended.
func (f *fleet) printLogs() {
	f.Helper()
	for _, w := range f.started {
		f.Logf("%s %d:\n%s", w.cmd.Args[1], w.cmd.Process.Pid, w.errs)
	}
}

// lost is how many responses workers may have been unable to store because they lost
// their slots: one on each host each time.
func (f *fleet) lost() (n int64) {
	for _, w := range f.started {
		n += int64(f.hosts * strings.Count(w.errs.String(), "lost its place"))
	}
	return n
}

// run runs a command and returns its output.
func (f *fleet) run(args ...string) []byte {
	f.Helper()
	cmd := f.command(f.ports(), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		f.Fatalf("%v: %v\n%s%s", args, err, &out, &errs)
	}
	return out.Bytes()
}

// ports are those of the database servers.
func (f *fleet) ports() (list []int) {
	for _, s := range f.servers() {
		list = append(list, s.Port)
	}
	return list
}

// refused runs a command that must fail, and returns what it printed about that.
func (f *fleet) refused(args ...string) string {
	f.Helper()
	cmd := f.command(f.ports(), args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err == nil {
		f.Fatalf("%v was not refused", args)
	}
	return errs.String()
}

// job is the output of `headway job show --json`.
type job struct {
	ID       int64            `json:"id"`
	OldID    int64            `json:"job"` // in the older version that TestUpgrade starts with
	State    string           `json:"state"`
	Reason   string           `json:"reason"`
	Pages    int64            `json:"pages"`
	Waiting  int64            `json:"waiting"`
	Outcomes map[string]int64 `json:"outcomes"`
	Ended    time.Time        `json:"ended_at"`
	Success  bool             `json:"success"`
	Limits   []limitRow       `json:"ceilings"`
	Errors   []stopRow        `json:"errors"`
}

// submit requests a crawl of the whole lab.
func (f *fleet) submit(args ...string) int64 {
	f.Helper()
	return f.submitFor(f.lab.Seeds(), args...)
}

func (f *fleet) submitFor(seeds []string, args ...string) int64 {
	f.Helper()
	var j job
	out := f.run(append(append([]string{"job", "submit", "--json", "--delay", f.pace.String(), "--in-flight", "1", "--jitter", "0"}, args...), seeds...)...)
	if err := json.Unmarshal(out, &j); err != nil {
		f.Fatal(err)
	}
	return cmp.Or(j.ID, j.OldID)
}

func (f *fleet) show(id int64) (j job) {
	f.Helper()
	if err := json.Unmarshal(f.run("job", "show", "--json", strconv.FormatInt(id, 10)), &j); err != nil {
		f.Fatal(err)
	}
	return j
}

// list is the output of `headway job list --json`.
func (f *fleet) list() []job {
	f.Helper()
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal(f.run("job", "list", "--json"), &answer); err != nil {
		f.Fatal(err)
	}
	return answer.Jobs
}

// hasEnded reports whether a job has ended. It queries the database, because a command
// each time would cost more than the fleet.
func (f *fleet) hasEnded(id int64) (ended bool) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select state in ('complete', 'partial', 'blocked', 'cancelled', 'failed') from job where id = $1", id).Scan(&ended)
	})
	return ended
}

// await waits for the end of a job, and calls disturb meanwhile.
func (f *fleet) await(id int64, within time.Duration, disturb func()) job {
	f.Helper()
	// Other processes report nothing here, so it is polled.
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		if f.hasEnded(id) {
			return f.show(id)
		}
		if time.Since(began) > within {
			f.Fatalf("the job has not ended after %v: %+v", within, f.show(id))
		}
		if disturb != nil {
			disturb()
		}
	}
}

// long is how long a job may take.
func (f *fleet) long() time.Duration { return 5*time.Duration(f.pages)*f.pace + 2*time.Minute }
