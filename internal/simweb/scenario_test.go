package simweb_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"headway/internal/race"
	"headway/internal/simweb"
)

var update = flag.Bool("update", false, "rewrite the timelines of the scenarios and the guide; read the diff")

// longScenarios take three quarters of the total time, and are skipped with -short.
var longScenarios = []string{"failing", "refusing", "slow-among-many"}

// TestScenarios runs the simulations in testdata and compares their timelines. In any case
// the crawl must have been polite, complete and accounted for, and the script's
// expectations must hold: -update cannot change that.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			if race.Short() && slices.Contains(longScenarios, name) {
				t.Skip("seconds of computing")
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[0].Name != "script" || archive.Files[1].Name != "timeline" || len(archive.Comment) == 0 {
				t.Fatal("want a comment, then the files script and timeline")
			}
			got := scenario(t, string(archive.Files[0].Data))
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(archive.Files[1].Data), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the timeline changed (-update rewrites it):\n%s", diff)
			}
		})
	}
}

// scenario runs a script and returns its timeline.
func scenario(t *testing.T, text string) string {
	t.Helper()
	s, r := simulate(t, text, "")
	for _, e := range s.expects {
		if ok, got := e.holds(r); !ok {
			t.Errorf("expected %s, got %v", e.text, got)
		}
	}
	if c := s.compare; c != nil {
		_, without := simulate(t, text, c.without)
		with := r.figures("all")["fetched"] - r.figures(c.without)["fetched"]
		alone := without.figures("all")["fetched"]
		lost := 100 * (alone - with) / alone
		if lost > c.within {
			t.Errorf("the other hosts lost %.2f %% of their pages to %s, at most %v %% are allowed", lost, c.without, c.within)
		}
		r.lines = append(r.lines, fmt.Sprintf("others   %d pages, without %s %d: %.2f %% fewer", int(with), c.without, int(alone), max(0, lost)))
	}
	if n := r.columns(); n > maxColumns {
		t.Fatalf("%d columns of %v; at most %d can be read", n, r.every, maxColumns)
	}
	return r.timeline()
}

// simulate runs a script in a bubble of its own.
func simulate(t *testing.T, text, without string) (*script, *report) {
	t.Helper()
	s, err := parseScript(text, without)
	if err != nil {
		t.Fatal(err)
	}
	var r *report
	var problems []string
	synctest.Test(t, func(t *testing.T) {
		if r, problems, err = s.run(); err != nil {
			t.Fatal(err)
		}
	})
	const enough = 10
	for _, p := range problems[:min(enough, len(problems))] {
		t.Error(p)
	}
	return s, r
}

// run runs a script inside a bubble. It returns the report and any problems.
func (s *script) run() (r *report, problems []string, err error) {
	err = s.inWorld(func(w *world) {
		r = newReport(s, w)
		problems = slices.Concat(w.problems, judge(w))
	})
	return r, problems, err
}

// inWorld runs a script and passes on the resulting world.
func (s *script) inWorld(look func(*world)) error {
	<-time.After(s.clock) // virtual time
	web, err := simweb.New(s.config)
	if err != nil {
		return err
	}
	defer web.Close()
	hosts, err := s.makeHosts()
	if err != nil {
		return err
	}
	for _, n := range s.networks {
		time.AfterFunc(n.from, func() { web.SetNetwork(n.state) })
		time.AfterFunc(n.from+n.span, func() { web.SetNetwork(simweb.Up) })
	}
	w, err := newWorld(web, hosts, s.jobs)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go w.gate.keep(done)
	if err := s.play(w); err != nil {
		return err
	}
	look(w)
	return nil
}

// play carries out the steps of the script.
func (s *script) play(w *world) error {
	for i, st := range s.steps {
		if (st.kind == stepRun) != (i%2 == 0) {
			return errors.New("a script has runs, and between them restarts or crashes")
		}
	}
	if sharing(s.jobs) {
		if len(s.steps) > 1 || s.steps[0].span > 0 {
			return errors.New("jobs that share hosts run once, to their end")
		}
		return newFleet(w).play(s.steps[0])
	}
	crawls := make([]*crawl, len(s.jobs))
	for i, j := range s.jobs {
		crawls[i] = newCrawl(w, j)
	}
	for i := 0; i < len(s.steps); i += 2 {
		crash := i+1 < len(s.steps) && s.steps[i+1].kind == stepCrash
		if err := live(w, crawls, s.steps[i], crash); err != nil {
			return err
		}
		w.trace.down(time.Now())
		if i+1 < len(s.steps) {
			<-time.After(s.steps[i+1].span) // virtual time
			w.trace.up(time.Now())
		}
	}
	for _, c := range crawls {
		if err := c.settle(); err != nil {
			return err
		}
	}
	return nil
}
