package e2e

import (
	"bytes"
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

// atOnce is how many tests run at once, whatever the number of cores. Most wait
// for the pace of a crawl and need hardly any of a core. What measures memory or
// the first second, or keeps both cores busy, is not parallel: such tests come
// before all others, one at a time.
const atOnce = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil { // -parallel is read later, and wins
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"headway":         func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"headway-crash":   crash,
		"headway-shortly": shortly,
	})
}

// shortLease is how much shorter leases are in the short forms.
const shortLease = 10

// shortly is the command with leases that are ten times shorter.
func shortly() {
	t := &store.DefaultTerms
	t.Renew, t.Start, t.Cancel, t.TakeOver = t.Renew/shortLease, t.Start/shortLease, t.Cancel/shortLease, t.TakeOver/shortLease
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// full tells whether tests run at their real size.
var full = os.Getenv("HEADWAY_FULL") != ""

// serverShare is how much of a gap must be left by the lab's clock. The lab
// stamps a request when it comes to it; on a machine that is busy with other
// tests it stalls for tens of milliseconds, and so short forms judge the gap
// itself by the stamps of the sender.
var serverShare = map[bool]float64{false: 0.5, true: 0.93}[full]

// world is a lab, and a place to run the command in.
type world struct {
	*testing.T
	lab   *lab.Lab
	dir   string
	seeds string
	port  int

	stalls *stall.Watch
}

// newWorld serves a lab until the test ends.
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

// in is the same world as a test within the test sees it.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.T = t
	return &sub
}

// command is headway with these words, in the test's own folder.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.Context(), "headway", args...)
	cmd.Dir = w.dir
	// A setting in the environment would be one of the crawl, and a name that is
	// no setting an error.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEADWAY_") })
	// The race detector would hold each process for a second at its end.
	cmd.Env = append(cmd.Env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(w.dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(w.dir, "config"), "HOME="+w.dir)
	return cmd
}

// crawl is headway crawl of all hosts of the lab.
func (w *world) crawl(dir string, args ...string) *exec.Cmd {
	return w.command(append([]string{"crawl", "--seeds", w.seeds, "--dir", dir, "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port)}, args...)...)
}

// run waits for a command and returns what it printed; any exit code but those
// wanted fails the test.
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

// clean wants what holds for every crawl whose requests do not cross refusals on
// their way; see heeded.
func (w *world) clean() {
	w.Helper()
	w.obedient()
	if n := w.lab.Stats().Total.InsideRetryAfter; n != 0 {
		w.Errorf("%d requests inside a Retry-After, want none", n)
	}
}

// obedient wants robots.txt obeyed.
func (w *world) obedient() {
	w.Helper()
	t := w.lab.Stats().Total
	if t.RobotsViolations != 0 || t.BeforeRobots != 0 || t.NofollowHits != 0 || t.Robots5xxIgnored != 0 {
		w.Errorf("robots violations %d, before robots.txt %d, nofollow %d, robots.txt out of reach %d; want none",
			t.RobotsViolations, t.BeforeRobots, t.NofollowHits, t.Robots5xxIgnored)
	}
}

// complete wants every linked page to have been fetched.
func (w *world) complete() {
	w.Helper()
	if s := w.lab.Stats(); s.Complete != 1 {
		w.Errorf("%d of %d pages were fetched", s.Total.UniquePages, s.Pages)
	}
}

// site is a host of so many small pages.
func site(pages int, change ...func(*lab.Temper)) lab.Temper {
	s := lab.DefaultSite()
	s.Pages, s.MinKB, s.MaxKB = pages, 2, 6
	t := lab.Temper{Site: s}
	for _, c := range change {
		c(&t)
	}
	return t
}

// atLeast fails unless a gap is what it should be, with a little leave for the
// clock of the lab, which stamps a request when it comes to it.
func (w *world) atLeast(what string, ms float64, want time.Duration, share float64) {
	w.Helper()
	if least := want.Seconds() * 1000 * share; ms < least {
		w.Errorf("%s is %.1f ms, want at least %.1f", what, ms, least)
	}
}
