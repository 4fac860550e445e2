package report_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"headway/internal/atomicfile"
	"headway/internal/humanize"
	"headway/internal/race"
	"headway/job"
	"headway/output/report"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// reportOf names, for a separate process whose memory is measured, the folder of the crawl to
// report on.
const reportOf = "HEADWAY_TEST_REPORT_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(reportOf); dir != "" {
		if err := makeReport(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// makeReport writes the report of a crawl next to it, and prints the peak memory of the
// process.
func makeReport(ctx context.Context, dir string) error {
	view, err := sqlite.OpenView(ctx, dir)
	if err != nil {
		return err
	}
	defer view.Close()
	r, err := report.Collect(ctx, view, 1, report.Options{Title: "a large crawl", Version: "test", Now: begin})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, "report.html"), r.Write); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, err = io.WriteString(os.Stdout, strings.TrimSuffix(strings.TrimSpace(kb), " kB"))
		}
	}
	return err
}

// fill creates the folder of a crawl with this many ended URLs, as a crawl would write it.
func fill(t *testing.T, dir string, urls int) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	check(err)
	defer func() { check(s.Close()) }()
	id, err := s.CreateJob(ctx, store.Job{Name: "a large crawl", State: job.Running, CreatedAt: begin})
	check(err)
	worker, err := s.Join(ctx, begin, "test")
	check(err)
	leases, err := s.Acquire(ctx, begin, worker, store.SlotCount)
	check(err)
	made := &large{everything(), urls}
	number := int64(0)
	for q := (store.Query{Max: store.MaxVisits}); ; {
		page, err := made.List(ctx, q)
		check(err)
		number++
		c := store.Commit{Worker: worker, Number: number, At: begin, Leases: leases}
		found := make([]store.Found, len(page.Entries))
		for i := range page.Entries {
			v := page.Entries[i].Visit
			v.Item.Job, v.Item.Found, v.Item.Depth = id, visit.FoundLink, 1
			found[i] = store.Found{Item: v.Item}
			c.Visits = append(c.Visits, *v)
		}
		_, err = s.Add(ctx, begin, found)
		check(err)
		_, err = s.Commit(ctx, c)
		check(err)
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	for i := range made.points {
		made.points[i].Job = id
	}
	check(s.Record(ctx, made.points))
	check(s.SetState(ctx, begin.Add(time.Hour), id, job.Running, job.Complete, "all URLs processed"))
}

// TestReportSizeAndMemory checks that the page is small and takes little memory to make, however large the
// crawl: a million URLs, and in the ordinary run fewer, but also too many for a table.
func TestReportSizeAndMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	if race.Enabled {
		t.Skip("the race detector takes several times the memory; the run without it measures")
	}
	if testing.Short() {
		t.Skip("fills a store with 25,000 URLs")
	}
	urls, weight, memory := 25_000, int64(5<<20), int64(96<<20)
	if os.Getenv("HEADWAY_FULL") != "" {
		urls, weight, memory = 1_000_000, 20<<20, 192<<20
	}
	dir := t.TempDir()
	fill(t, dir, urls)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env, cmd.Stderr = append(os.Environ(), reportOf+"="+dir), os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	var kb int64
	if _, err := fmt.Sscan(string(out), &kb); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d URLs: %.1f MB in %v, with %d MB of memory", urls, float64(len(page))/(1<<20), took.Round(time.Millisecond), kb>>10)
	if size := int64(len(page)); size > weight {
		t.Errorf("%d bytes, want at most %d", size, weight)
	}
	if kb<<10 > memory {
		t.Errorf("%d bytes of memory, want at most %d", kb<<10, memory)
	}
	if says := fmt.Sprintf("Showing 2,000 of %s rows, a random sample", humanize.Count(int64(urls/10))); !strings.Contains(string(page), says) {
		t.Errorf("the page does not say %q", says)
	}
}
