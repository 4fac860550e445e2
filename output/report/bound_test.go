package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/store"
	"headway/visit"
)

func newCollector() *collector {
	return &collector{random: rand.New(rand.NewPCG(1, 1)), buckets: buckets{of: map[bucket]*sum{}}} //nolint:gosec // the same each time
}

// TestTableSize checks that a table stays small, however long its texts are.
func TestTableSize(t *testing.T) {
	for _, first := range []bool{false, true} {
		c := newCollector()
		table := &Table{ID: "t", Columns: []Column{{Name: "URL", Link: true}, {Name: "text"}}, first: first}
		for i := range 5000 {
			c.keep(table, fmt.Sprintf("https://a.example/%05d/%s", i, strings.Repeat("x", 1500)), strings.Repeat("<", 5000))
		}
		if err := c.settle(table); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(table.Rows)
		if err != nil || len(b) > maxBytes+len(table.Rows)+2 || len(b) < maxBytes*9/10 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		if len([]rune(table.Rows[0][1].(string))) != maxText {
			t.Errorf("a text of %d characters", len(table.Rows[0][1].(string)))
		}
		if table.Missing() == "" {
			t.Error("it does not say that rows are missing")
		}
		last := table.Rows[len(table.Rows)-1][0].(string)
		if late := last > "https://a.example/03000"; late == first {
			t.Errorf("the last row is %.25s", last)
		}
	}
}

// TestRepeats checks that exactly the repeated texts are found.
func TestRepeats(t *testing.T) {
	var r repeats
	for i := range 3000 {
		r.add(fmt.Sprint(i % 2000))
	}
	r.settle()
	for text, want := range map[string]int64{"0": 2, "999": 2, "1000": 0, "1999": 0, "never": 0} {
		if _, n := r.of(text); n != want {
			t.Errorf("%s occurs %d times, want %d", text, n, want)
		}
	}
	if len(r.found) != 1000 || r.hashes != nil || r.more {
		t.Errorf("%d found, %d kept", len(r.found), len(r.hashes))
	}
}

// TestBuckets checks that a fair sample of too many buckets is kept.
func TestBuckets(t *testing.T) {
	c := newCollector()
	const all = 4 * maxBuckets
	for i := range int64(all) {
		c.buckets.add(bucket{"https://a.example", i}, time.Millisecond)
	}
	late := 0
	for k := range c.buckets.of {
		if k.at >= all/2 {
			late++
		}
	}
	if n := len(c.buckets.of); n > maxBuckets || n < maxBuckets/3 || late < n*45/100 || late > n*55/100 {
		t.Errorf("%d are kept, %d of the second half", n, late)
	}
}

// TestAxis leaves out the time in which a crawl did not run.
func TestAxis(t *testing.T) {
	begin := time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	point := func(after, span time.Duration, n int64) store.Point {
		return store.Point{At: begin.Add(after), Span: span, Ended: map[visit.Outcome]int64{visit.Fetched: n}}
	}
	a := newAxis([]store.Point{point(0, 20*time.Second, 1), point(20*time.Second, 10*time.Second, 2), point(time.Hour, 10*time.Second, 4)})
	if a.end != 40 || len(a.pause) != 1 || a.pause[0] != (pause{30, time.Hour - 30*time.Second}) {
		t.Errorf("end %g, pauses %v", a.end, a.pause)
	}
	for after, want := range map[time.Duration]float64{-time.Minute: 0, 0: 0, 25 * time.Second: 25, 30 * time.Minute: 30, time.Hour: 30, time.Hour + 5*time.Second: 35, 2 * time.Hour: 40} {
		if got := a.seconds(begin.Add(after)); got != want {
			t.Errorf("%v is at %g, want %g", after, got, want)
		}
	}
	bins := a.merged(2)
	if len(bins) != 2 || bins[0].to != 30 || bins[1].from != 30 || bins[0].Ended[visit.Fetched] != 3 || bins[1].Ended[visit.Fetched] != 4 {
		t.Errorf("%+v", bins)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		end  float64
		n    int
		want string
	}{
		{1, 7, "00:00 00:01"},
		{90, 4, "00:00 00:20 00:40 01:00 01:20"},
		{2400, 4, "0 min 10 min 20 min 30 min 40 min"},
		{86_400, 7, "0 h 6 h 12 h 18 h 24 h"},
		{20 * 86_400, 4, "0 d 5 d 10 d 15 d 20 d"},
	} {
		marks, text := times(c.end, c.n)
		var words []string
		for _, m := range marks {
			words = append(words, text(m))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%g seconds: %s, want %s", c.end, got, c.want)
		}
	}
}

// TestRowsPerKind checks that each kind of change gets room.
func TestRowsPerKind(t *testing.T) {
	kinds := func(sizes ...int) []answer.Change {
		list := make([]answer.Change, len(sizes))
		for i, n := range sizes {
			list[i].URLs = make([]answer.ChangedURL, n)
		}
		return list
	}
	for _, c := range []struct {
		name  string
		sizes []int
		want  int
	}{
		{"all fit", []int{10, 0, 500}, maxRows},
		{"one is large", []int{5000, 100, 0}, maxRows - 100},
		{"two are large", []int{5000, 200, 5000}, (maxRows - 200) / 2},
		{"none", nil, maxRows},
	} {
		if got := rowsPerKind(kinds(c.sizes...)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
