package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"headway/internal/race"
	"headway/job"
	"headway/lab"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
	"headway/weburl"
)

// TestFlat crawls many hosts to the end and checks that memory stays where it was
// after the first third.
func TestFlat(t *testing.T) {
	hosts, pages, leave := 200, 60, 1.5
	if full {
		hosts, pages, leave = 10_000, 200, 1.2
	}
	if n, err := strconv.Atoi(os.Getenv("HEADWAY_FLAT_HOSTS")); err == nil {
		hosts = n
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.Links = 30 }))})
	cmd := w.crawl("run", "--preset", "owned", "--in-flight", "2", "--sitemaps", "off")
	type sample struct {
		pages, rss int64
	}
	var samples []sample
	w.watch(cmd, 100*time.Millisecond, func(rss int64) {
		samples = append(samples, sample{w.lab.Stats().Total.UniquePages, rss})
	})
	w.complete()
	w.clean()
	all := int64(hosts * pages)
	early, late := []int64{}, []int64{}
	var peak int64
	for _, s := range samples {
		peak = max(peak, s.rss)
		switch part := float64(s.pages) / float64(all); {
		case part >= 0.25 && part < 0.35:
			early = append(early, s.rss)
		case part >= 0.9 && part < 1:
			late = append(late, s.rss)
		}
	}
	if len(early) == 0 || len(late) == 0 {
		t.Fatalf("%d samples, none in one of the windows", len(samples))
	}
	ratio := float64(median(late)) / float64(median(early))
	t.Logf("%d hosts, %d pages: resident %d MB at 25-35 %%, %d MB at 90-100 %%, ratio %.2f, peak %d MB", hosts, all, median(early)>>20, median(late)>>20, ratio, peak>>20)
	if ratio > leave {
		t.Errorf("memory grew by a factor of %.2f, want at most %.2f", ratio, leave)
	}
}

// TestManyWaiting resumes a crawl with millions of waiting URLs, and checks that
// memory does not depend on them.
func TestManyWaiting(t *testing.T) {
	hosts, each, most := 500, 200, int64(400<<20)
	if full {
		hosts, each = 5000, 1000
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(300))})
	w.measurable()
	dir := filepath.Join(w.dir, "run")
	w.fill(dir, each)
	cmd := w.crawl("run", "--preset", "owned", "--in-flight", "2", "--sitemaps", "off", "--max-requests", strconv.Itoa(hosts*8))
	var peak int64
	began := time.Now()
	w.watch(cmd, 50*time.Millisecond, func(rss int64) { peak = max(peak, rss) }, 3)
	s := w.lab.Stats()
	t.Logf("%d URLs waited; resident %d MB at most; %d requests to %d hosts in %v", hosts*each, peak>>20, s.Total.Requests, s.HostsTouched, time.Since(began).Round(time.Millisecond))
	if peak > most {
		t.Errorf("resident %d MB, want at most %d", peak>>20, most>>20)
	}
	if s.HostsTouched != hosts {
		t.Errorf("%d of %d hosts got requests", s.HostsTouched, hosts)
	}
	w.clean()
}

// fill makes a crawl in which a number of URLs of each host of the lab wait.
func (w *world) fill(dir string, each int) {
	w.Helper()
	st, err := sqlite.Open(w.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		w.Fatal(err)
	}
	defer st.Close()
	now := time.Now()
	id, err := st.CreateJob(w.Context(), store.Job{Name: "crawl", State: job.Running, Spec: []byte(`{"scope":"host","preset":"owned"}`), CreatedAt: now, StartedAt: now})
	if err != nil {
		w.Fatal(err)
	}
	var found []store.Found
	flush := func() {
		if _, err := st.Add(w.Context(), now, found); err != nil {
			w.Fatal(err)
		}
		found = found[:0]
	}
	for _, seed := range w.lab.Seeds() {
		home, err := weburl.Parse(seed)
		if err != nil {
			w.Fatal(err)
		}
		for i := range each {
			path := "/" // pages of the lab first, then some it does not have
			if i > 0 {
				path = fmt.Sprintf("/s%d/p%d.html", i%17, i)
			}
			u, err := home.Resolve(path)
			if err != nil {
				w.Fatal(err)
			}
			found = append(found, store.Found{Item: visit.Item{Job: id, URL: u, Found: visit.FoundLink, Via: home, Depth: min(i, 1)}})
			if len(found) == store.MaxFound/2 {
				flush()
			}
		}
	}
	flush()
}

// watch runs a command and samples its resident memory.
func (w *world) watch(cmd *exec.Cmd, every time.Duration, sample func(rss int64), codes ...int) {
	w.Helper()
	w.measurable()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(every) // samples another process
	defer tick.Stop()
	for {
		select {
		case <-ended:
			if code := cmd.ProcessState.ExitCode(); code != 0 && !slices.Contains(codes, code) {
				w.Fatalf("exit code %d\n%s", code, &out)
			}
			return
		case <-tick.C:
			if rss := resident(cmd.Process.Pid); rss > 0 {
				sample(rss)
			}
		}
	}
}

// measurable skips a test where memory cannot be measured.
func (w *world) measurable() {
	w.Helper()
	if runtime.GOOS != "linux" {
		w.Skip("memory is read from /proc")
	}
	if race.Enabled {
		w.Skip("the race detector takes several times the memory; the tests without it measure")
	}
}

// shipped runs the program as it is shipped: a test is larger, which counts as memory.
func (w *world) shipped() {
	w.Helper()
	path := filepath.Join(w.dir, "headway")
	if out, err := exec.CommandContext(w.Context(), "go", "build", "-ldflags", "-s -w", "-o", path, "../../cmd/headway").CombinedOutput(); err != nil {
		w.Fatalf("build: %v\n%s", err, out)
	}
	w.program = path
}

// resident is the memory of a process, or 0 if it has ended.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

func median(list []int64) int64 {
	slices.Sort(list)
	return list[len(list)/2]
}
