package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/lab"
	"headway/lab/temper"
	"headway/visit"
)

// timing is how a crawl ended, and after how long.
type timing struct {
	took time.Duration
	err  error // of a crawl that did not end by itself
}

// timed starts a crawl, and returns a function that waits for its end.
func (w *world) timed(cmd *exec.Cmd) func() timing {
	w.Helper()
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	began := time.Now()
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan timing, 1)
	go func() {
		err := cmd.Wait()
		took := time.Since(began)
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, &text)
		}
		ended <- timing{took, err}
	}()
	return func() timing { return <-ended }
}

// undisturbed tries up to three times, until the duration of a crawl can be judged. It
// cannot if the machine is so busy that crawls slow down because of the response times
// of the lab; everything else is judged each time. At full size a test that never
// could has failed: it needs an idle machine.
func undisturbed(t *testing.T, try func() (timed bool)) {
	t.Helper()
	for range 3 {
		if try() {
			return
		}
	}
	const busy = "this machine is so busy that the lab takes long to answer: how long a crawl took was not judged"
	if full {
		t.Error(busy)
	}
	t.Log(busy)
}

// sluggish reports whether the machine was so busy that a crawl had to consider the
// lab, which responds at once, overloaded. That is so when the median of five response
// times of a host is 150 ms; the bound here is lower, because their order is not quite
// known.
func (w *world) sluggish(dir string) bool {
	w.Helper()
	const of, most = 5, 100 * time.Millisecond
	recorded, hosts := map[string][]*visit.Visit{}, map[string][]*visit.Visit{}
	w.attempts(dir, recorded)
	for _, list := range recorded {
		for _, v := range list {
			hosts[v.Item.URL.Host()] = append(hosts[v.Item.URL.Host()], v)
		}
	}
	for host, list := range hosts {
		slices.SortFunc(list, func(a, b *visit.Visit) int { return a.Timing.End().Compare(b.Timing.End()) })
		for i := of; i <= len(list); i++ {
			var times []time.Duration
			for _, v := range list[i-of : i] {
				times = append(times, v.Timing.FirstByte)
			}
			slices.Sort(times)
			if times[of/2] >= most {
				w.Logf("%s took %v to answer", host, times)
				return true
			}
		}
	}
	return false
}

// noiseSeed is a seed with which every host of the short form refuses something.
const noiseSeed = 10

// TestMessyNoise crawls hosts that refuse one request in a hundred at any pace, and at
// the same time hosts that do not: each refusal may cost a hold, but not the pace.
func TestMessyNoise(t *testing.T) {
	t.Parallel()
	const pace, each = 50 * time.Millisecond, 6 * time.Second
	// Two refusals are too few to detect noise: in the short form a slower pace is
	// still on trial at the end.
	hosts, pages, trial := 3, 100, 3*time.Second
	if full {
		hosts, pages, trial = 5, 400, 0
	}
	noisy := func(t *lab.Temper) { t.Rules.ErrorRate, t.Rules.ErrorForm = 0.01, temper.None }
	args := []string{"--delay", pace.String(), "--sitemaps", "off", "--max-time", "5m"}
	undisturbed(t, func() bool {
		alone := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages))})
		w := newWorld(t, lab.Config{Seed: noiseSeed, Hosts: lab.Uniform(hosts, site(pages, noisy))})
		beside := alone.timed(alone.crawl("run", args...))
		with := w.timed(w.crawl("run", args...))()
		without := beside()
		if err := errors.Join(without.err, with.err); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*world{alone, w} {
			w.complete()
			w.clean()
			w.apart(pace, "run")
		}
		var refusals, worst int64
		for _, h := range w.lab.Stats().PerHost {
			refusals, worst = refusals+h.Refusals, max(worst, h.Refusals)
		}
		t.Logf("seed %d: %v with %d refusals, %d of one host; %v without", noiseSeed, with.took, refusals, worst, without.took)
		if worst < 2 {
			t.Errorf("%d refusals of one host show nothing", worst)
		}
		if alone.sluggish("run") || w.sluggish("run") {
			return false
		}
		if most := without.took + time.Duration(worst)*each + trial; with.took > most {
			t.Errorf("it took %v, want at most %v", with.took, most)
		}
		return true
	})
}

// TestMessyBadURL crawls a host one of whose pages is always refused: that page is
// requested a few times and recognised, and neither this crawl nor the next one of the
// host is slower for it.
func TestMessyBadURL(t *testing.T) {
	t.Parallel()
	const pages, bad = 200, 150
	const tries, canaries = 4, 2 // a canary may be refused without effect: once, or again
	args := []string{"--preset", "owned", "--sitemaps", "off", "--max-time", "5m"}
	undisturbed(t, func() bool {
		clean := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(pages))})
		w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(pages, func(t *lab.Temper) {
			t.Rules.Outages = []temper.Outage{{Pages: temper.Pages{From: bad}, Form: temper.None}}
		}))})
		without := clean.timed(clean.crawl("first", args...))()
		with := w.timed(w.crawl("first", args...))()
		if err := errors.Join(without.err, with.err); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v with the page, %v without", with.took, without.took)
		timed := !clean.sluggish("first") && !w.sluggish("first")
		if most := without.took + 10*time.Second; timed && with.took > most {
			t.Errorf("it took %v, want at most %v", with.took, most)
		}
		clean.complete()
		clean.clean()
		path, asked := w.badPage(pages - 1)
		if asked < tries || asked > tries+canaries {
			t.Errorf("%s was requested %d times, want %d and at most %d canaries", path, asked, tries, canaries)
		}
		url := strings.TrimSuffix(w.lab.Seeds()[0], "/") + path
		if list := w.run(w.command("urls", "--dir", "first", "--outcome", "throttled"), 0); strings.Count(list, "\n") != 1 || !strings.Contains(list, url) {
			t.Errorf("throttled are %q, want %s alone", list, url)
		}
		if why, want := w.run(w.command("why", url, "--dir", "first"), 0), fmt.Sprintf("status 503 on each of %d attempts", asked); !strings.Contains(why, want) {
			t.Errorf("it does not say %q:\n%s", want, why)
		}
		// A first crawl that had to slow down has left its pace to the next.
		timed = timed && w.nextCrawls(clean, append(args, "--exclude", path))
		if n := w.lab.Stats().Total; n.UniquePages != pages-1 || n.Refusals != int64(asked) {
			t.Errorf("%d pages and %d refusals in all, want %d and %d", n.UniquePages, n.Refusals, pages-1, asked)
		}
		w.clean()
		return timed
	})
}

// nextCrawls compares the next crawl of a host with that of one which never refused. A
// busy machine may delay any crawl, but not each of several. It reports whether there was
// something to compare.
func (w *world) nextCrawls(clean *world, args []string) bool {
	w.Helper()
	without, with := time.Hour, time.Hour
	for i := range 3 {
		for v, least := range map[*world]*time.Duration{clean: &without, w: &with} {
			e := v.timed(v.next(i, args))()
			if e.err != nil {
				w.Fatal(e.err)
			}
			if !v.sluggish(fmt.Sprint("next", i)) {
				*least = min(*least, e.took)
			}
		}
	}
	if max(with, without) == time.Hour {
		return false
	}
	w.Logf("the next crawl: %v, %v where nothing was refused", with, without)
	if most := without*12/10 + 300*time.Millisecond; with > most {
		w.Errorf("the next crawl took %v, want at most %v", with, most)
	}
	return true
}

// badPage is the path of the one page that the lab refused, and how often it was
// requested. All others must have been served.
func (w *world) badPage(others int) (path string, asked int) {
	w.Helper()
	for _, r := range w.lab.Log() {
		if r.Status == 503 {
			if asked++; path != "" && path != r.Target {
				w.Errorf("%s was refused, and %s", path, r.Target)
			}
			path = r.Target
		}
	}
	if n := w.lab.Stats().Total.UniquePages; asked == 0 || n != int64(others) {
		w.Fatalf("%d requests were refused, %d of %d pages fetched", asked, n, others)
	}
	return path, asked
}

// next is another crawl into its own folder, with the host state of the first.
func (w *world) next(i int, args []string) *exec.Cmd {
	w.Helper()
	state := filepath.Join(w.dir, fmt.Sprint("state", i))
	if err := os.CopyFS(state, os.DirFS(filepath.Join(w.dir, "state"))); err != nil {
		w.Fatal(err)
	}
	cmd := w.crawl(fmt.Sprint("next", i), args...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
	return cmd
}
