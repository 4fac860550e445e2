package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headway/lab"
	"headway/lab/temper"
)

// TestTwoTerminals runs two crawls of the same hosts at once. The hosts see one
// pace.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	const hosts, pages, delay = 4, 12, 300 * time.Millisecond
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	args := []string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off"}
	first := w.crawl("one", args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	w.run(w.crawl("two", args...), 0)
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	w.complete()
	w.clean()
	s := w.lab.Stats()
	if want := int64(2 * hosts * pages); s.Total.PageAnswers != want {
		t.Errorf("%d pages were answered, want %d: each crawl has its own", s.Total.PageAnswers, want)
	}
	if s.Total.MaxConcurrent > 1 {
		t.Errorf("%d requests at once", s.Total.MaxConcurrent)
	}
	w.apart(delay, "one", "two")
	if full { // the lab is late on a busy machine
		w.atLeast("the smallest gap", s.Total.MinGapMS, delay, serverShare)
	}
}

// TestInterruptedBeforeItsTurn interrupts a crawl that waits for a host another one
// holds. It has nothing to release, and says that it can be resumed.
func TestInterruptedBeforeItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(5, func(t *lab.Temper) { t.Rules.Latency = temper.Constant(3 * time.Second) }))})
	first := w.crawl("one")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return w.lab.Stats().Total.InFlight > 0 })
	second := w.crawl("two")
	out, err := os.Create(filepath.Join(w.dir, "two.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	second.Stdout, second.Stderr = out, out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return strings.Contains(string(w.read("two.txt")), "waiting on lease 1") })
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = second.Wait()
	if code, said := second.ProcessState.ExitCode(), string(w.read("two.txt")); code != 130 || !strings.Contains(said, "run the same command to resume") {
		t.Errorf("exit code %d, %v; it says:\n%s", code, err, said)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
}
