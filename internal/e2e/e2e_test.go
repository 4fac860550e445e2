package e2e

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/cli"
	"headway/internal/stall"
	"headway/lab"
	"headway/lab/labtest"
	"headway/store"
)

// atOnce is how many tests run in parallel, whatever the number of cores. Most wait
// for the pace of a crawl and need little CPU. Tests that measure memory or the first
// second, or keep both cores busy, are not parallel: they run before all others, one
// at a time.
const atOnce = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil { // -parallel is read later, and wins
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"headway":              func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"headway-crash":        crash,
		"headway-short-leases": shortLeases,
	})
}

// shortLease is how much shorter leases are in the short forms.
const shortLease = 10

// shortLeases runs the command with leases that are ten times shorter.
func shortLeases() {
	t := &store.DefaultTerms
	t.Renew, t.Start, t.Cancel, t.TakeOver = t.Renew/shortLease, t.Start/shortLease, t.Cancel/shortLease, t.TakeOver/shortLease
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// full reports whether tests run at full size.
var full = os.Getenv("HEADWAY_FULL") != ""

// serverShare is how much of a gap must be left by the lab's clock. The lab stamps a
// request when it handles it; on a busy machine that is late by tens of milliseconds,
// so short forms judge the gap itself by the timestamps of the sender.
var serverShare = map[bool]float64{false: 0.5, true: 0.93}[full]

// world is a lab, and a folder to run the command in.
type world struct {
	*testing.T
	lab   *lab.Lab
	dir   string
	seeds string
	port  int

	program string // path of the program; empty means this test

	stalls *stall.Watch
}

// newWorld starts a lab until the test ends.
func newWorld(t *testing.T, cfg lab.Config) *world {
	t.Helper()
	cfg.Log = 1 << 20
	l := labtest.Serve(t, cfg)
	w := &world{T: t, lab: l, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, stalls: stall.Start(t)}
	w.seeds = filepath.Join(w.dir, "seeds.txt")
	if err := os.WriteFile(w.seeds, []byte(strings.Join(l.Seeds(), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.T = t
	return &sub
}

// command is headway with these arguments, in the test's folder.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.Context(), cmp.Or(w.program, "headway"), args...)
	cmd.Dir = w.dir
	// Our environment variables would be settings of the crawl, and unknown ones an
	// error.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEADWAY_") })
	// The race detector would delay the exit of each process by a second.
	cmd.Env = append(cmd.Env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(w.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(w.dir, "config"), "HOME="+w.dir)
	return cmd
}

// crawl is headway crawl of all hosts of the lab.
func (w *world) crawl(dir string, args ...string) *exec.Cmd {
	return w.command(append([]string{"crawl", "--seeds", w.seeds, "--dir", dir, "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port)}, args...)...)
}

// run waits for a command and returns its output; an unexpected exit code fails the
// test.
func (w *world) run(cmd *exec.Cmd, codes ...int) string {
	w.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	for _, c := range codes {
		if c == code {
			return out.String()
		}
	}
	w.Fatalf("%v: exit code %d, %v\n%s%s", cmd.Args, code, err, &out, &errs)
	return ""
}

// clean checks what holds for every crawl whose requests do not cross refusals in
// flight; see honouredRefusals.
func (w *world) clean() {
	w.Helper()
	w.obedient()
	if n := w.lab.Stats().Total.InsideRetryAfter; n != 0 {
		w.Errorf("%d requests inside a Retry-After, want none", n)
	}
}

// obedient checks that robots.txt was obeyed.
func (w *world) obedient() {
	w.Helper()
	t := w.lab.Stats().Total
	if t.RobotsViolations != 0 || t.BeforeRobots != 0 || t.NofollowHits != 0 || t.Robots5xxIgnored != 0 {
		w.Errorf("robots violations %d, before robots.txt %d, nofollow %d, robots.txt out of reach %d; want none",
			t.RobotsViolations, t.BeforeRobots, t.NofollowHits, t.Robots5xxIgnored)
	}
}

// complete checks that every linked page was fetched.
func (w *world) complete() {
	w.Helper()
	if s := w.lab.Stats(); s.Complete != 1 {
		w.Errorf("%d of %d pages were fetched", s.Total.UniquePages, s.Pages)
	}
}

// site is a host of small pages.
func site(pages int, change ...func(*lab.Temper)) lab.Temper {
	s := lab.DefaultSite()
	s.Pages, s.MinKB, s.MaxKB = pages, 2, 6
	t := lab.Temper{Site: s}
	for _, c := range change {
		c(&t)
	}
	return t
}

// atLeast fails unless a gap is long enough, with some tolerance for the clock of the
// lab, which stamps a request when it handles it.
func (w *world) atLeast(what string, ms float64, want time.Duration, share float64) {
	w.Helper()
	if least := want.Seconds() * 1000 * share; ms < least {
		w.Errorf("%s is %.1f ms, want at least %.1f", what, ms, least)
	}
}
