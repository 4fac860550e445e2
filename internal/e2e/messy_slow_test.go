package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/internal/race"
	"headway/lab"
	"headway/lab/temper"
)

// silent is a host that accepts connections and never responds.
func silent() lab.Temper {
	return site(1, func(t *lab.Temper) { t.Rules.Latency = temper.Constant(time.Hour) })
}

// order rewrites the seeds: the first n hosts of the lab are good, and come last,
// first or evenly among the others.
func (w *world) order(good int, where string) {
	w.Helper()
	seeds := w.lab.Seeds()
	list := slices.Clone(seeds[good:])
	for i, s := range seeds[:good] {
		at := 0
		switch where {
		case "first":
			at = len(list)
		case "mixed":
			at = (2*i + 1) * len(list) / (2 * good)
		}
		list = slices.Insert(list, at, s)
	}
	if err := os.WriteFile(w.seeds, []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
		w.Fatal(err)
	}
}

// TestMessyDeadHosts crawls good hosts at the default pace together with hosts that
// accept connections and never respond: these end when patience does, with their own
// reason, and the good ones finish as if they were alone.
func TestMessyDeadHosts(t *testing.T) {
	t.Parallel()
	good, pages, dead, patience := 3, 4, 100, "4s"
	orders := []string{"first"}
	if full {
		good, pages, dead, patience = 5, 40, 300, "60s"
		orders = []string{"first", "last", "mixed"}
	}
	alone := newWorld(t, lab.Config{Hosts: lab.Uniform(good, site(pages))})
	alone.run(alone.crawl("run", "--sitemaps", "off"), 0)
	without := finish(alone, good)
	for _, where := range orders {
		t.Run("dead hosts "+where, func(t *testing.T) {
			hosts := lab.Uniform(good, site(pages))
			for i := range dead {
				hosts = append(hosts, lab.HostSpec{Name: fmt.Sprintf("dead%d", i), Temper: silent()})
			}
			w := newWorld(t, lab.Config{Hosts: hosts})
			w.order(good, where)
			cmd := w.crawl("run", "--sitemaps", "off", "--patience", patience)
			if !full {
				cmd.Env = append(cmd.Env, "HEADWAY_ROBOTS_TIMEOUT=2s")
			}
			out := w.run(cmd, 3)
			if !strings.Contains(out, "patience") {
				t.Errorf("it ended for another reason than patience:\n%s", out)
			}
			for _, h := range w.lab.Hosts()[:good] {
				if s := w.host(h); s.UniquePages != int64(pages) {
					t.Errorf("%s: %d of %d pages", h.Name, s.UniquePages, pages)
				}
			}
			ended := w.run(w.command("urls", "--dir", "run", "--outcome", "skipped", "--reason", "robots_unreachable"), 0)
			if n := strings.Count(ended, "robots_unreachable"); n != dead {
				t.Errorf("%d of %d dead hosts ended for their robots.txt:\n%s", n, dead, ended)
			}
			if slow := w.run(w.command("slow", "--dir", "run"), 0); strings.Contains(slow, "network") {
				t.Errorf("time was put down to our own network:\n%s", slow)
			}
			with := finish(w, good)
			t.Logf("the last page of a good host came after %v, alone %v", with, without)
			most := without*11/10 + time.Second
			if !full {
				most += 10 * time.Second // two loaded cores
			}
			if with > most {
				t.Errorf("the good hosts took %v, want at most %v", with, most)
			}
		})
	}
}

// TestMessySlowHosts crawls good hosts together with many that drip, stall, are mazes
// or decompression bombs, with fewer workers than those: the good hosts keep their
// rate, and memory and descriptors stay bounded.
func TestMessySlowHosts(t *testing.T) {
	t.Parallel()
	good, bad, workers, delay, length := 4, 80, 16, 250*time.Millisecond, 12*time.Second
	share := 0.6 // two loaded cores; near 0 if stalled requests kept their workers
	if race.Enabled {
		share = 0.4 // the detector slows the program down
	}
	conns := 100 // fewer than the slow hosts would use
	if full {
		good, bad, workers, delay, length = 20, 1000, 512, 500*time.Millisecond, 5*time.Minute
		share, conns = 0.95, 2000
	}
	budget := conns + 256 + 56 // lookups; the store, results and our own: see internal/machine
	pages := int(length/delay) * 2
	args := []string{
		"--preset", "owned", "--delay", delay.String(), "--jitter", "0", "--sitemaps", "off", "--workers", fmt.Sprint(workers),
		"--max-time", (length + 5*time.Second).String(), "--patience", "10m",
	}
	hosts := lab.Uniform(good, site(pages))
	for i := range bad {
		hosts = append(hosts, lab.HostSpec{Name: fmt.Sprintf("slow%d", i), Temper: dragging(i)})
	}
	for i := range good {
		hosts = append(hosts, lab.HostSpec{Name: fmt.Sprintf("maze%d", i), Temper: site(50, func(t *lab.Temper) { t.Site.Traps = lab.Calendar | lab.Facets | lab.Sessions })},
			lab.HostSpec{Name: fmt.Sprintf("bomb%d", i), Temper: site(50, func(t *lab.Temper) { t.Site.Exhibits = true })})
	}
	alone := newWorld(t, lab.Config{Hosts: lab.Uniform(good, site(pages))})
	w := newWorld(t, lab.Config{Hosts: hosts})
	w.order(good, "mixed")
	// The short form runs both crawls at the same time, so that a busy machine slows
	// both.
	crawl := func(w *world) func() usage {
		cmd := w.crawl("run", args...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("HEADWAY_FETCH_MAX_CONNS=%d", conns))
		return watched(w, cmd)
	}
	first := crawl(alone)
	if full {
		first()
	}
	use := crawl(w)()
	first()
	from := time.Duration(0)
	if !full {
		from = length / 2 // a short crawl: each slow host has had a worker for a second by then
	}
	got, want := goodRequests(w, good, from, length), goodRequests(alone, good, from, length)
	t.Logf("%d requests to good hosts until %v, alone %d: %.2f; memory %d MB, %d descriptors", got, length, want, float64(got)/float64(want), use.memory>>20, use.descriptors)
	if float64(got) < share*float64(want) {
		t.Errorf("%d requests to good hosts, alone %d: want at least %.2f of it", got, want, share)
	}
	if !race.Enabled && use.memory > 400<<20 {
		t.Errorf("%d MB of memory, want at most 400", use.memory>>20)
	}
	if use.descriptors > budget {
		t.Errorf("%d descriptors, the budget is %d", use.descriptors, budget)
	}
}

// dragging is one of several kinds of slow hosts.
func dragging(i int) lab.Temper {
	return site(20, func(t *lab.Temper) {
		switch i % 3 {
		case 0:
			t.Site.Robots = "drip"
		case 1:
			t.Rules.Latency = temper.Constant(8 * time.Second) // within the timeout of robots.txt
		case 2:
			t.Rules.Latency = temper.Constant(time.Hour)
		}
	})
}

// goodRequests is how many requests the first n hosts got in a part of a crawl.
func goodRequests(w *world, n int, from, to time.Duration) (count int) {
	good := map[string]bool{}
	for _, h := range w.lab.Hosts()[:n] {
		good[h.URL] = true
	}
	var first time.Time
	for _, r := range w.lab.Log() {
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
	}
	for _, r := range w.lab.Log() {
		if at := r.Start.Sub(first); good[r.Host+"/"] && at >= from && at < to {
			count++
		}
	}
	return count
}

// usage is the maximum resource use of a process.
type usage struct {
	memory      int64 // bytes
	descriptors int
}

// watched starts a crawl with a time limit, and returns a function that waits for its
// end and returns its resource use.
func watched(w *world, cmd *exec.Cmd) func() usage {
	w.Helper()
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	var most usage
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(500 * time.Millisecond) // samples another process
		defer tick.Stop()
		for {
			u := used(cmd.Process.Pid)
			most.memory, most.descriptors = max(most.memory, u.memory), max(most.descriptors, u.descriptors)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceValue(func() usage {
		err := cmd.Wait()
		close(stop)
		<-done
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
			w.Errorf("%v: exit code %d, %v\n%s", cmd.Args, code, err, &text)
		}
		return most
	})
}

// used reads the resource use of a process; zero if the system does not report it.
func used(pid int) (u usage) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if list, err := os.ReadDir(filepath.Join(proc, "fd")); err == nil {
		u.descriptors = len(list)
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				u.memory = kb << 10
			}
		}
	}
	return u
}
