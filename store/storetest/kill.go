package storetest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"headway/internal/race"
	"headway/internal/stall"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// Environment variables of [Kill]: the number of kills, and the place where the killed
// process works.
const (
	killsEnv = "HEADWAY_KILLS"
	placeEnv = "HEADWAY_KILL_PLACE"
)

// defaultKills is the default; long runs set HEADWAY_KILLS=200.
const defaultKills = 10

// shortKills is for -short: each kill starts a process.
const shortKills = 2

// Kill starts a process that commits, kills it with SIGKILL at random times and reopens
// the store: every acknowledged commit is there, the one in progress completely or not at
// all, every URL waits or has ended once, a page with its text and links, and there is something to fetch within a second.
//
// It runs the test binary again with the name of the calling test, which then only calls
// Kill, too: open must not depend on the process.
func Kill(t *testing.T, open Open) {
	t.Helper()
	KillBy(t, open, t.TempDir(), Crash{Cut: func(p *os.Process) error { return p.Kill() }})
}

// Crash is a way for a process to end without warning.
type Crash struct {
	// Cut ends the process, or its machine.
	Cut func(p *os.Process) error
	// Restore, which may be nil, is called after the process has ended, and leaves at the
	// place what a crash would have left there.
	Restore func() error
}

// KillBy is [Kill] with another way to crash.
func KillBy(t *testing.T, open Open, place string, crash Crash) {
	t.Helper()
	if place := os.Getenv(placeEnv); place != "" {
		commitUntilKilled(t, open(t, place, nil))
		return
	}
	kills := defaultKills
	if race.Short() {
		kills = shortKills
	}
	if text := os.Getenv(killsEnv); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", killsEnv, err)
		}
	}
	w := &world{t: t, ctx: t.Context(), store: open(t, place, nil), now: start}
	w.job = w.newJob(1 << 40)
	w.add(chainURL(0))
	w.check(w.store.Close())
	pages := 0
	stalls := stall.Start(t)
	var starts []time.Duration // without the time the machine stood still
	for i := range kills {
		acknowledged, tried := runAndKill(t, place, pages, crash)
		begin := time.Now()
		w.store = open(t, place, nil)
		w.mustHaveWork()
		took := time.Since(begin)
		starts = append(starts, took-stalls.Between(begin, begin.Add(took)))
		pages = w.inspect(acknowledged, tried)
		w.check(w.store.Close())
		if t.Failed() {
			t.Fatalf("after kill %d of %d", i+1, kills)
		}
	}
	slices.Sort(starts)
	median, slowest := starts[len(starts)/2], starts[len(starts)-1]
	t.Logf("%d kills, %d pages; from the start until there was something to fetch: median %v, slowest %v", kills, pages, median.Round(time.Millisecond), slowest.Round(time.Millisecond))
	if median > time.Second { // the maximum depends too much on the machine
		t.Errorf("it takes %v until there is something to fetch", median)
	}
}

// chainURL is page n of a web in which every page links to the next ones.
func chainURL(n int) string { return fmt.Sprintf("http://host%d.example/page/%d", n%50, n) }

// runAndKill starts the process, kills it after a random time and returns how many pages
// it acknowledged and how many it had tried.
func runAndKill(t *testing.T, place string, before int, crash Crash) (acknowledged, tried int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), placeEnv+"="+place)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged, tried = before, before
	output := ""
	var timer *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "about to %d", &tried); err == nil {
			if timer == nil {
				timer = time.AfterFunc(rand.N(150*time.Millisecond), func() {
					if err := crash.Cut(cmd.Process); err != nil {
						t.Errorf("crash: %v", err)
					}
				})
			}
		} else if _, err := fmt.Sscanf(lines.Text(), "done %d", &acknowledged); err != nil {
			output += lines.Text() + "\n"
		}
	}
	if err := cmd.Wait(); err == nil || timer == nil || timer.Stop() {
		t.Fatalf("the process ended by itself: %v\n%s", err, output)
	}
	if crash.Restore != nil {
		if err := crash.Restore(); err != nil {
			t.Fatalf("restore: %v", err)
		}
	}
	return acknowledged, tried
}

// commitUntilKilled finishes pages in order, some in each commit, and prints before and
// after each how many are finished. It never returns.
func commitUntilKilled(t *testing.T, s store.Store) {
	w := &world{t: t, ctx: t.Context(), store: s, now: start}
	jobs, err := s.JobList(w.ctx, 0, 1)
	w.check(err)
	w.job = jobs[0].ID
	o := w.newOwner(store.SlotCount)
	w.now = w.now.Add(overdue)
	o.acquire(store.SlotCount) // also what the killed process still holds
	c, err := s.Counts(w.ctx, w.job)
	w.check(err)
	next, seen := int(c.Pages()), int(c.Seen())
	for {
		_, err := s.Reserve(w.ctx, o.id, w.job, 100)
		w.check(err)
		var c store.Commit
		hosts := map[string]bool{}
		for range min(1+rand.IntN(20), seen-next) {
			v := w.visited(chainURL(next))
			v.Page.Content = said(chainURL(next), next)
			v.Links = linksOf(t, chainURL(next), next)
			v.Page.Links = visit.Keep(v.Links, false)
			c.Visits = append(c.Visits, v)
			c.Found = append(c.Found, w.found(chainURL(next), chainURL(max(0, next-7)))...) // known links
			for range 1 + rand.IntN(2) {
				c.Found = append(c.Found, w.found(chainURL(seen))...)
				seen++
			}
			if !hosts[v.Item.URL.Host()] {
				hosts[v.Item.URL.Host()] = true
				c.Hosts = append(c.Hosts, store.Host{Host: v.Item.URL.Host(), Politeness: []byte(strconv.Itoa(next)), LastSent: w.now})
			}
			next++
		}
		fmt.Fprintf(os.Stdout, "about to %d\n", next)
		o.must(c)
		fmt.Fprintf(os.Stdout, "done %d\n", next)
	}
}

// mustHaveWork does what a process does first: it looks for something to fetch.
func (w *world) mustHaveWork() {
	w.t.Helper()
	page, err := w.store.Hosts(w.ctx, store.HostQuery{Slots: allSlots(), Max: 10})
	w.check(err)
	var wants []store.Want
	for _, h := range page.Hosts {
		wants = append(wants, store.Want{Host: h.Host.Host, Job: w.job, Max: 10})
	}
	items, err := w.store.Heads(w.ctx, w.now, wants)
	w.check(err)
	if len(items) == 0 {
		w.t.Error("nothing to fetch")
	}
}

// inspect checks what a killed process left behind and returns the number of pages.
func (w *world) inspect(acknowledged, tried int) int {
	w.t.Helper()
	c := w.counts()
	pages := int(c.Pages())
	if pages != acknowledged && pages != tried {
		w.t.Errorf("%d pages are there; %d were acknowledged and a commit up to %d was under way", pages, acknowledged, tried)
	}
	expectOutcome := func(n int, want visit.Outcome) {
		e, err := w.store.Lookup(w.ctx, w.job, mustURL(w.t, chainURL(n)))
		if err != nil || e.Outcome != want {
			w.t.Errorf("page %d: %s %v, want %s", n, e.Outcome, err, want)
		}
	}
	for n := range int(c.Seen()) {
		if (n < pages-50 || n > pages+50) && n%197 != 0 {
			continue // only those near the end, and a sample of the others
		}
		if n < pages {
			expectOutcome(n, visit.Fetched)
			if is := w.content(chainURL(n)); is == nil || *is != *said(chainURL(n), n) {
				w.t.Errorf("page %d says %+v", n, is)
			}
			w.checkLinks("after a kill", chainURL(n), linksOf(w.t, chainURL(n), n))
			if got := w.inlinks(fmt.Sprintf(versionPage, n), 10); len(got) != 1 || got[0] != chainURL(n)+" 2 link" {
				w.t.Errorf("page %d is linked as %q", n, got)
			}
		} else {
			expectOutcome(n, visit.Pending)
		}
	}
	if j, err := w.store.Job(w.ctx, w.job); err != nil || j.State != job.Running {
		w.t.Errorf("job: %+v, %v", j, err)
	}
	return pages
}
