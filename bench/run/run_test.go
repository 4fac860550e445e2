//go:build linux

package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/lab"
)

// seen is a result of 100 pages in this many seconds.
func seen(seconds float64) result {
	r := result{wall: time.Duration(seconds * float64(time.Second)), cpu: 50 * time.Millisecond, rss: 20 << 20, files: 12}
	r.stats = lab.Stats{Pages: 101, GapP01MS: 3, Total: lab.HostStats{UniquePages: 100, PageAnswers: 102, TooMany: 4, MaxConcurrent: 2, BeforeRobots: 5, NofollowHits: 1}}
	return r
}

func TestTable(t *testing.T) {
	s := &scenario{name: "S0", about: "a test", lab: []string{"--hosts", "1"}, crawlers: []crawler{{name: "bare"}, {name: "headway"}, {name: "absent"}}}
	failed := seen(9)
	failed.fault = "exit status 3"
	var b bytes.Buffer
	if err := printTable(&b, s, map[string][]result{"bare": {seen(1), seen(3), seen(2)}, "headway": {seen(4), failed, seen(4)}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### S0: a test\n", "Lab: `headway lab up --hosts 1`\n", "| crawler | of bare |",
		"| bare | 1 | 50 | 2.00 (1.00, 3.00, 2.00) | 0.50 (0.50, 0.50, 0.50) | 20 | 12 | 1 | 2 | 4 | 2 | 3.0 | 6 |\n",
		"| headway | 0.50 | 25 | 4.00 (4.00, 9.00, 4.00) |",
		"headway, round 2: exit status 3\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "absent") {
		t.Error("a crawler without a result has a row")
	}
	s.ideal = time.Second
	b.Reset()
	if err := printTable(&b, s, map[string][]result{"headway": {seen(2), seen(4)}}); err != nil || !strings.Contains(b.String(), "| headway | 0.33 |") {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

// TestOfBound: the bound of a wide crawl is its pace, or the cores when they allow less.
func TestOfBound(t *testing.T) {
	r := seen(9)
	r.stats.SpanSeconds = 5 // 20 pages a second
	for _, test := range []struct {
		hosts        int
		pace         time.Duration
		labCPU, want float64
	}{
		{hosts: 40, pace: time.Second, want: 0.5},
		{hosts: 40, pace: 2 * time.Second, want: 1},
		{hosts: 4000, pace: time.Second, labCPU: 4.95, want: 0.5}, // 0.05 s a page on two cores: 40 a second
	} {
		r.labCPU = test.labCPU
		if got := ofBound(&scenario{hosts: test.hosts, pace: test.pace}, r, 2); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestScenarios checks that crawlers of a scenario have distinct, known names.
func TestScenarios(t *testing.T) {
	for _, s := range slices.Concat(scenarios, wideScenarios) {
		names := map[string]bool{}
		for _, c := range s.crawlers {
			if names[c.name] {
				t.Errorf("%s runs %s twice under one name", s.name, c.name)
			}
			names[c.name] = true
			args := strings.Join(c.args(place{seeds: "s.txt", port: 7, dir: "d"}), " ")
			if !strings.Contains(args, "s.txt") {
				t.Errorf("%s: %s gets no seeds: %s", s.name, c.name, args)
			}
		}
	}
}

// TestSelected: a scenario is found by its name, whichever kind it is, and an unknown name is
// an error, not an empty run.
func TestSelected(t *testing.T) {
	for _, test := range []struct {
		b    bench
		want string
	}{
		{bench{}, "S1 S2 S3 S4"},
		{bench{wide: true}, "W1 W10 W30 W100 T1 T10 P30 S6"},
		{bench{scenarios: []string{"W10", "S3"}}, "W10 S3"},
		{bench{scenarios: []string{"W10", "W11"}}, ""},
	} {
		list, err := test.b.selected()
		var names []string
		for _, s := range list {
			names = append(names, s.name)
		}
		if got := strings.Join(names, " "); got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%q wide %v: %q, %v", test.b.scenarios, test.b.wide, got, err)
		}
	}
}

// TestWithBefore checks that each Headway crawl is also run with the other binary.
func TestWithBefore(t *testing.T) {
	s := &scenario{name: "S0", crawlers: []crawler{{name: "bare"}, {name: "headway"}, {name: "headway again"}}}
	b := bench{headway: "new", before: "old"}
	var runs []string
	for _, c := range b.withBefore(s).crawlers {
		if c.name != "bare" {
			runs = append(runs, c.name+" by "+b.binary(c.name))
		}
	}
	want := []string{"headway by new", "before: headway by old", "headway again by new", "before: headway again by old"}
	if !slices.Equal(runs, want) {
		t.Errorf("runs %q", runs)
	}
	if alone := (&bench{headway: "new"}).withBefore(s); len(alone.crawlers) != len(s.crawlers) {
		t.Errorf("%d crawlers without another binary", len(alone.crawlers))
	}
}

// TestReplaceSection replaces the results of one section, and nothing else.
func TestReplaceSection(t *testing.T) {
	text := "a\n<!-- bench -->\n\nold\n\n<!-- end bench -->\nb\n<!-- bench-wide -->\n<!-- end bench-wide -->\n"
	once, err := replaceSection([]byte(text), "bench", []byte("new\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(text, "old", "new", 1)
	if string(once) != want {
		t.Errorf("%q, want %q", once, want)
	}
	if again, err := replaceSection(once, "bench", []byte("new\n")); err != nil || string(again) != want {
		t.Errorf("written again: %q, %v", again, err)
	}
	if _, err := replaceSection([]byte("nothing"), "bench", nil); err == nil {
		t.Error("a document without the section was accepted")
	}
}
