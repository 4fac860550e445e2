//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"headway/lab"
	"headway/store"
	"headway/visit"
)

// long reports whether tests run at their longest: a stop of ten minutes, 50 runs.
var long = os.Getenv("HEADWAY_LONG") != ""

// lease is the lease of the crawls here; durations scale with it.
var lease = scaled(store.DefaultTerms.TakeOver)

func scaled(d time.Duration) time.Duration {
	if full {
		return d
	}
	return d / shortLease
}

// leased is a crawl of all hosts of the lab with that lease; its output goes to a file
// next to its folder.
func (w *world) leased(dir string, args ...string) *exec.Cmd {
	w.Helper()
	cmd := w.crawl(dir, append([]string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off"}, args...)...)
	if !full {
		path, err := exec.LookPath("headway-short-leases")
		if err != nil {
			w.Fatal(err)
		}
		cmd.Path, cmd.Args[0] = path, "headway-short-leases"
	}
	out, err := os.Create(filepath.Join(w.dir, dir+".txt"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { out.Close() })
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd
}

// signal sends a signal to a crawl.
func (w *world) signal(cmd *exec.Cmd, s syscall.Signal) {
	w.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
}

// ends waits for a crawl, which must be complete.
func (w *world) ends(cmd *exec.Cmd, dir string) string {
	w.Helper()
	err := cmd.Wait()
	said := string(w.read(dir + ".txt"))
	if err != nil {
		w.Errorf("%s: %v; it says:\n%s", dir, err, said)
	}
	return said
}

// requests is how many requests the lab has seen.
func (w *world) requests() int64 { return w.lab.Stats().Total.Requests }

// paced checks that the requests of all crawls were sent a pace apart and, at full
// size, that the lab saw them so: the lab is late on a busy machine. For a crawl that
// was stopped, the time at which it continued is given: a request that it had written
// but not stamped yet gets that timestamp, and only the lab knows when it was sent.
func (w *world) paced(pace time.Duration, stopped map[string]time.Time, dirs ...string) {
	w.Helper()
	left := map[string][]time.Time{}
	for _, dir := range dirs {
		recorded, since := map[string][]*visit.Visit{}, map[string][]time.Time{}
		w.attempts(dir, recorded)
		for _, list := range recorded {
			for _, v := range list {
				host, sent := v.Item.URL.Host(), v.Timing.Sent
				if on := stopped[dir]; !on.IsZero() && !sent.Before(on) {
					since[host] = append(since[host], sent)
				} else {
					left[host] = append(left[host], sent)
				}
			}
		}
		for host, list := range since {
			slices.SortFunc(list, time.Time.Compare)
			left[host] = append(left[host], list[1:]...)
		}
	}
	for host, list := range left {
		slices.SortFunc(list, time.Time.Compare)
		for i := range list[1:] {
			if gap := list[i+1].Sub(list[i]); gap < pace {
				w.Errorf("%s: two requests left %v apart, want %v", host, gap, pace)
			}
		}
	}
	t := w.lab.Stats().Total
	w.Logf("%d requests, the shortest gap by the lab is %.1f of %.0f ms", t.Requests, t.MinGapMS, pace.Seconds()*1000)
	if t.MaxConcurrent > 1 {
		w.Errorf("%d requests at once", t.MaxConcurrent)
	}
	if full {
		w.atLeast("the shortest gap", float64(w.gapsByLab(pace)[0])/float64(time.Millisecond), pace, serverShare)
	}
}

// TestMessyStop stops a crawl for longer than its lease and continues it, as Ctrl-Z
// and fg do. No other crawl wanted its hosts: it continues as before.
func TestMessyStop(t *testing.T) {
	t.Parallel()
	stop := scaled(45 * time.Second)
	if long {
		stop = 10 * time.Minute
	}
	hosts, pages, pace := int64(3), 10, 300*time.Millisecond
	if full {
		pages, pace = 40, 500*time.Millisecond
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(int(hosts), site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = pace }))})
	cmd := w.leased("run")
	w.eventually(func() bool { return w.requests() > 3*hosts })
	w.signal(cmd, syscall.SIGSTOP)
	time.Sleep(stop / 10) // requests in flight arrive
	before := w.requests()
	time.Sleep(stop - stop/10) // the length of the stop, in which no request may arrive
	if n := w.requests() - before; n > 0 {
		t.Errorf("%d requests of a process that is stopped", n)
	}
	on := time.Now()
	w.signal(cmd, syscall.SIGCONT)
	said := w.ends(cmd, "run")
	if !strings.Contains(said, "was suspended") {
		t.Errorf("it says nothing of its stop:\n%s", said)
	}
	w.complete()
	w.clean()
	w.paced(pace, map[string]time.Time{"run": on}, "run")
	if again := w.lab.Stats().Total.PageAnswers - hosts*int64(pages); again > hosts {
		t.Errorf("%d pages were fetched again, at most %d were in flight", again, hosts)
	}
}

// TestMessyStopRival stops a crawl whose host another one wants. The other one says
// for whom it waits, takes the host over when the lease expires, and shares it with
// the first when that continues.
func TestMessyStopRival(t *testing.T) {
	t.Parallel()
	pages, pace := 8, 250*time.Millisecond
	if full {
		pages, pace = 40, 500*time.Millisecond
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = pace }))})
	first := w.leased("one")
	w.eventually(func() bool { return w.requests() > 3 })
	w.signal(first, syscall.SIGSTOP)
	stopped := time.Now()
	time.Sleep(pace / 5) // requests in flight arrive
	before := w.requests()
	second := w.leased("two")
	w.eventually(func() bool { return w.requests() > before })
	took := time.Since(stopped)
	t.Logf("taken over %.1f s after the stop, the lease is %v", took.Seconds(), lease)
	if took < lease-store.DefaultTerms.Renew { // the last heartbeat may be as old as that
		t.Errorf("taken over %v after the stop, the lease is %v", took, lease)
	}
	if full && took > lease+pace+5*time.Second {
		t.Errorf("taken over only %v after the stop", took)
	}
	w.eventually(func() bool { return w.requests() > before+3 })
	on := time.Now()
	w.signal(first, syscall.SIGCONT)
	said := w.ends(second, "two")
	w.ends(first, "one")
	for _, want := range []string{fmt.Sprint("pid ", first.Process.Pid), "folder " + filepath.Join(w.dir, "one"), "is suspended"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in what the second says:\n%s", want, said)
		}
	}
	w.complete()
	w.clean()
	w.paced(pace, map[string]time.Time{"one": on}, "one", "two")
}

// TestMessyTerminals runs two crawls of one host at once. They take turns, and lose
// little of its pace.
func TestMessyTerminals(t *testing.T) {
	runs, paces := 1, []time.Duration{100 * time.Millisecond}
	switch {
	case long:
		runs, paces = 50, paces[:1]
	case full:
		paces = append(paces, time.Second)
	default:
		t.Parallel()
	}
	for _, pace := range paces {
		for run := range runs {
			t.Run(fmt.Sprint(pace, " ", run), func(t *testing.T) { terminals(t, pace) })
		}
	}
}

func terminals(t *testing.T, pace time.Duration) {
	pages := 30
	if full && !long {
		pages = 60
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = pace }))})
	first, second := w.leased("one"), w.leased("two")
	w.ends(first, "one")
	said := w.ends(second, "two")
	if !bytes.Contains(append(w.read("one.txt"), said...), []byte("uses the same hosts, taking turns")) {
		t.Errorf("nobody had to wait:\n%s", said)
	}
	w.complete()
	w.clean()
	w.paced(pace, nil, "one", "two")
	s := w.lab.Stats()
	if n := int64(2 * pages); s.Total.PageAnswers != n {
		t.Errorf("%d pages were answered, want %d", s.Total.PageAnswers, n)
	}
	used := float64(s.Total.Requests-1) * pace.Seconds() / s.SpanSeconds
	log := w.lab.Log()
	still := w.stalls.Between(log[0].Start, log[len(log)-1].Start)
	t.Logf("%.3f of the pace of %v used; the machine stalled for %v of %.1f s", used, pace, still, s.SpanSeconds)
	used *= s.SpanSeconds / max(s.SpanSeconds-still.Seconds(), 1)
	if full && used < 0.9 {
		t.Errorf("%.3f of the pace was used by both together, want 0.9", used)
	}
}
