package fleettest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
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

	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/cli"
	"headway/internal/pgtest"
	"headway/lab"
	"headway/lab/labtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"headway": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// full tells whether tests run at their real size.
var full = os.Getenv("HEADWAY_FULL") != ""

// Sizes of the fleet.
const (
	lease = 3 * time.Second
	pace  = time.Second
)

// Size of the web they crawl.
var hosts, pages = 24, 12

func init() {
	if full {
		hosts, pages = 500, 40
	}
}

// fleet is workers, their database and the web they crawl.
type fleet struct {
	*testing.T
	lab     *lab.Lab
	hosts   int
	pages   int
	pace    time.Duration
	db      *pgtest.Cluster
	line    *proxy // between the workers and the database
	dir     string
	port    int
	workers []*worker // that live
	started []*worker // all there ever were
	random  *rand.Rand
	stalls  *stalls
}

// worker is one process.
type worker struct {
	cmd    *exec.Cmd
	errs   *journal
	exited chan struct{}
	err    error
}

// journal is what a worker says. It is read while it is written.
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

// newFleet starts a database and a lab of the usual size.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	return newFleetOf(t, hosts, pages)
}

func newFleetOf(t *testing.T, hosts, pages int) *fleet {
	t.Helper()
	site := lab.DefaultSite()
	site.Pages = pages
	l := labtest.Serve(t, lab.Config{Hosts: lab.Uniform(hosts, lab.Temper{Site: site}), Log: 1 << 20})
	db, err := pgtest.Start(t.Context(), pgtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{T: t, lab: l, hosts: hosts, pages: pages, pace: pace, db: db, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, random: rand.New(rand.NewPCG(1, 2)), stalls: watchStalls(t)}
	f.line = newProxy(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(db.Port)))
	t.Cleanup(func() {
		f.endAll()
		if t.Failed() {
			f.tell()
		}
	})
	return f
}

// command is headway with these words.
func (f *fleet) command(port int, args ...string) *exec.Cmd {
	cmd := exec.Command("headway", args...)
	cmd.Dir = f.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEADWAY_") })
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(f.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(f.dir, "config"), "HOME="+f.dir,
		fmt.Sprintf("HEADWAY_FLEET_STORE=postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port))
	return cmd
}

// start starts a worker.
func (f *fleet) start(args ...string) *worker {
	f.Helper()
	w := &worker{
		cmd:  f.command(f.line.port(), append([]string{"worker", "--lease", lease.String(), "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", f.port), "--workers", "64"}, args...)...),
		errs: &journal{}, exited: make(chan struct{}),
	}
	w.cmd.Stderr = w.errs
	if err := w.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.exited)
	}()
	f.workers, f.started = append(f.workers, w), append(f.started, w)
	return w
}

// signal sends a signal to a worker that lives.
func (f *fleet) signal(w *worker, s syscall.Signal) {
	f.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		f.Fatal(err)
	}
}

// kill ends a worker as the machine would.
func (f *fleet) kill(w *worker) {
	f.Helper()
	f.signal(w, syscall.SIGKILL)
	<-w.exited
	f.workers = slices.DeleteFunc(f.workers, func(x *worker) bool { return x == w })
}

// endAll ends what is left, whatever the test has done.
func (f *fleet) endAll() {
	for _, w := range f.workers {
		_ = w.cmd.Process.Kill() // it may have ended
		<-w.exited
	}
}

// leave lets a worker go, which must be over in time and in order.
func (f *fleet) leave(w *worker) {
	f.Helper()
	f.signal(w, syscall.SIGTERM)
	select {
	case <-w.exited:
	case <-time.After(20 * time.Second):
		f.Fatalf("a worker has not left after 20 s:\n%s", w.errs)
	}
	if w.err != nil {
		f.Errorf("a worker that was told to leave: %v\n%s", w.err, w.errs)
	}
	f.workers = slices.DeleteFunc(f.workers, func(x *worker) bool { return x == w })
}

// tell prints what workers said, those that are gone among them.
func (f *fleet) tell() {
	f.Helper()
	for _, w := range f.started {
		f.Logf("worker %d:\n%s", w.cmd.Process.Pid, w.errs)
	}
}

// lost is how many answers workers may have had that they could not store, because
// their place was taken: one on each host each time.
func (f *fleet) lost() (n int64) {
	for _, w := range f.started {
		n += int64(f.hosts * strings.Count(w.errs.String(), "lost its place"))
	}
	return n
}

// run waits for a command and returns what it printed.
func (f *fleet) run(args ...string) []byte {
	f.Helper()
	cmd := f.command(f.db.Port, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		f.Fatalf("%v: %v\n%s%s", args, err, &out, &errs)
	}
	return out.Bytes()
}

// job is what `headway job show --json` says.
type job struct {
	Job      int64            `json:"job"`
	State    string           `json:"state"`
	Reason   string           `json:"reason"`
	Pages    int64            `json:"pages"`
	Waiting  int64            `json:"waiting"`
	Outcomes map[string]int64 `json:"outcomes"`
	Ended    time.Time        `json:"ended"`
}

// submit asks for a crawl of the whole lab.
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
	return j.Job
}

func (f *fleet) show(id int64) (j job) {
	f.Helper()
	if err := json.Unmarshal(f.run("job", "show", "--json", strconv.FormatInt(id, 10)), &j); err != nil {
		f.Fatal(err)
	}
	return j
}

// await waits for the end of a job, and lets disturb do something meanwhile.
func (f *fleet) await(id int64, within time.Duration, disturb func()) job {
	f.Helper()
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		j := f.show(id)
		if !j.Ended.IsZero() {
			return j
		}
		if time.Since(began) > within {
			f.Fatalf("the job has not ended after %v: %+v", within, j)
		}
		if disturb != nil {
			disturb()
		}
	}
}

// judge holds what the lab saw and what is stored against the promises.
func (f *fleet) judge(j job) {
	f.Helper()
	want := int64(f.hosts * f.pages)
	total := f.lab.Stats().Total
	f.Logf("%s (%s): %d pages, %d answers; at once %d", j.State, j.Reason, j.Pages, total.PageAnswers, total.MaxConcurrent)
	if j.State != "complete" || j.Outcomes["fetched"] != want || total.UniquePages != want {
		f.Errorf("%s (%s): %d pages recorded and %d seen by the lab, want %d; %v", j.State, j.Reason, j.Outcomes["fetched"], total.UniquePages, want, j.Outcomes)
	}
	f.polite()
}

// polite holds what the lab saw against the pace.
func (f *fleet) polite() {
	f.Helper()
	total := f.lab.Stats().Total
	if total.MaxConcurrent > 1 {
		f.Errorf("%d requests at once on a host", total.MaxConcurrent)
	}
	if total.RobotsViolations+total.BeforeRobots+total.NofollowHits > 0 {
		f.Errorf("robots violations %d, before robots.txt %d, nofollow %d", total.RobotsViolations, total.BeforeRobots, total.NofollowHits)
	}
	f.stamped()
	f.paced()
}

// long is what a job may take.
func long() time.Duration { return 5*time.Duration(pages)*pace + 2*time.Minute }

// TestKill kills a worker every so often and adds others: nothing is lost, nothing
// is recorded twice, and no host notices.
func TestKill(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for range 4 {
		f.start()
	}
	id := f.submit()
	every := 4 * time.Second
	if full {
		every = 20 * time.Second
	}
	next, kills := time.Now().Add(every), 0
	j := f.await(id, long(), func() {
		if time.Now().After(next) {
			next = time.Now().Add(every)
			f.kill(f.workers[f.random.IntN(len(f.workers))])
			f.start()
			kills++
		}
	})
	t.Logf("%d workers were killed", kills)
	f.judge(j)
	for len(f.workers) > 0 {
		f.leave(f.workers[0])
	}
}

// TestTerm lets workers leave in order, one after the other, while others come.
func TestTerm(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.start()
	f.start()
	id := f.submit()
	next := time.Now().Add(4 * time.Second)
	j := f.await(id, long(), func() {
		if time.Now().After(next) {
			next = time.Now().Add(4 * time.Second)
			f.start()
			f.leave(f.workers[0])
		}
	})
	f.judge(j)
}

// TestFaults does one thing to a fleet of two in the middle of its work. Whatever it
// is, nothing is lost and no host notices.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]func(f *fleet){
		// It comes back as one that was replaced, and takes part again.
		"a worker stopped for three leases": func(f *fleet) {
			f.signal(f.workers[0], syscall.SIGSTOP)
			time.Sleep(3 * lease)
			f.signal(f.workers[0], syscall.SIGCONT)
		},
		"all workers killed": func(f *fleet) {
			for len(f.workers) > 0 {
				f.kill(f.workers[0])
			}
			f.start()
			f.start()
		},
		"the database killed": func(f *fleet) {
			before := f.line.accepted.Load()
			if err := f.db.Kill(); err != nil {
				f.Fatal(err)
			}
			time.Sleep(2 * lease)
			if n := f.line.accepted.Load() - before; n > int64(5*len(f.workers)*int(2*lease/time.Second)) {
				f.Errorf("%d connections were tried in %v", n, 2*lease)
			}
			if err := f.db.StartServer(f.Context()); err != nil {
				f.Fatal(err)
			}
		},
		"a partition": func(f *fleet) {
			f.line.down.Store(true)
			time.Sleep(lease) // half of it to stop, and some for what was on its way
			before := f.lab.Stats().Total.Requests
			time.Sleep(lease)
			if n := f.lab.Stats().Total.Requests - before; n > 0 {
				f.Errorf("%d requests later than a lease after the cut", n)
			}
			f.line.down.Store(false)
			f.line.sever()
		},
		"a database that answers half a second later": func(f *fleet) {
			f.line.delay.Store(int64(250 * time.Millisecond)) // each way
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.start()
			f.start()
			id := f.submit()
			time.Sleep(4 * time.Second) // real processes at work
			fault(f)
			f.judge(f.await(id, long(), nil))
			for len(f.workers) > 0 {
				f.leave(f.workers[0])
			}
		})
	}
}
