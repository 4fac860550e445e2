package simweb_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"headway/internal/simweb"
)

var update = flag.Bool("update", false, "rewrite the timelines of the scenarios and the guide; read the diff")

// TestScenarios runs the simulations in testdata and compares what is drawn.
// Whatever is drawn, the crawl must have been polite, complete and accounted
// for, and what the script expects must hold: -update cannot change that.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
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

// scenario runs a script and returns what is drawn.
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
		if r, problems, err = s.run(nil); err != nil {
			t.Fatal(err)
		}
	})
	const enough = 10
	for _, p := range problems[:min(enough, len(problems))] {
		t.Error(p)
	}
	return s, r
}

// run plays a script inside a bubble. It returns what is to be said of it and
// what was wrong; prepare may change the driver before it starts.
func (s *script) run(prepare func(*driver)) (*report, []string, error) {
	<-time.After(s.clock)
	web, err := simweb.New(s.config)
	if err != nil {
		return nil, nil, err
	}
	defer web.Close()
	hosts, err := s.makeHosts()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range s.networks {
		time.AfterFunc(n.from, func() { web.SetNetwork(n.state) })
		time.AfterFunc(n.from+n.span, func() { web.SetNetwork(simweb.Up) })
	}
	if len(s.steps) == 0 || s.steps[0].kind != stepRun {
		return nil, nil, fmt.Errorf("a script has a run before anything else")
	}
	d := newDriver(web, hosts, s.jobs, s.steps[0].workers, s.steps[0].timeout)
	if prepare != nil {
		prepare(d)
	}
	for _, st := range s.steps {
		switch st.kind {
		case stepRun:
			d.run(st.span)
		case stepRestart, stepCrash:
			crash := st.kind == stepCrash
			d.stop(crash)
			<-time.After(st.span)
			d.restart(crash)
		}
	}
	d.stop(false)
	r := newReport(s, d)
	return r, append(d.problems, judge(d)...), nil
}
