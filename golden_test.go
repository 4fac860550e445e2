package headway_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/job"
	"headway/lab"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// goldenKey is the key of stores in goldens: slots and jitter derive from it.
var goldenKey = weburl.Key{'g', 'o', 'l', 'd', 'e', 'n'}

// TestGolden runs crawls and compares every request sent, and how each job ended, with
// testdata/golden, byte by byte. A refactoring must not change a line; a change of
// behaviour shows in the diff (go test -run TestGolden . -update).
func TestGolden(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var got string
			synctest.Test(t, func(t *testing.T) { got = s.play(t).record() })
			path := filepath.Join("testdata", "golden", s.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, string(want))
		})
	}
}

// compare returns the first line that differs.
func compare(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("line %d:\ngot  %s\nwant %s", i+1, a, b)
			return
		}
	}
}

// golden is a simulated web with deterministic crawls.
func golden(t *testing.T, specs ...lab.HostSpec) *simulated {
	s := simulate(t, specs)
	s.st = memory.Open(memory.Config{Key: goldenKey})
	s.cfg.Store = s.st
	return s
}

// goldenFleet is the same for workers that share a store.
func goldenFleet(t *testing.T, specs ...lab.HostSpec) *fleet {
	f := newLimited(t, specs, limit.Limits{})
	f.st = memory.Open(memory.Config{Key: goldenKey})
	f.cfg.Store = f.st
	storetest.SetSafety(t, f.st.(store.Queue), limit.Limits{})
	return f
}

// record lists the requests to hosts with their times, and how jobs ended.
func (s *simulated) record() string {
	s.Helper()
	var b strings.Builder
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // start time of a bubble
	for _, r := range s.web.Log() {
		status := fmt.Sprint(r.Status)
		if r.Status == 0 {
			status = "no answer"
		}
		fmt.Fprintf(&b, "%9.3f %s %s %s\n", r.Start.Sub(began).Seconds(), strings.TrimPrefix(r.Host, "http://"), kindOf(r.Target), status)
	}
	for id := job.ID(1); ; id++ {
		j, err := s.st.Job(s.Context(), id)
		if err != nil {
			return b.String() // there are no more
		}
		counts, err := s.st.Counts(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		fmt.Fprintf(&b, "job %d %s", id, j.State)
		if j.State != job.Complete { // the reason is a sentence
			fmt.Fprintf(&b, " %s", j.Reason)
		}
		fmt.Fprintln(&b)
		endings := slices.SortedFunc(maps.Keys(counts.Ended), func(x, y store.Ending) int {
			return strings.Compare(string(x.Outcome)+" "+string(x.Reason), string(y.Outcome)+" "+string(y.Reason))
		})
		for _, e := range endings {
			if j.State != job.Complete && (e.Outcome == visit.Skipped || e.Outcome == visit.Deferred) {
				continue // depends on the order of pages
			}
			fmt.Fprintf(&b, "%6d %s %s\n", counts.Ended[e], e.Outcome, e.Reason)
		}
	}
}

// kindOf is the kind of a request. The page is left out: of links found by two hosts at one
// instant either may come first.
func kindOf(target string) string {
	switch {
	case target == "/robots.txt":
		return "robots"
	case strings.HasPrefix(target, "/sitemap"):
		return "sitemap"
	}
	return "page"
}
