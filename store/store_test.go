package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestStored(t *testing.T) {
	at := time.Date(2026, 11, 15, 10, 0, 0, 1_000_000, time.UTC)
	for name, tc := range map[string]struct{ in, want time.Time }{
		"zero":       {time.Time{}, time.Time{}},
		"whole":      {at, at},
		"rounded up": {at.Add(1), at.Add(time.Millisecond)},
		"in UTC":     {at.In(time.FixedZone("x", 3600)), at},
	} {
		if got := Stored(tc.in); !got.Equal(tc.want) || got.Location() != time.UTC {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestRank(t *testing.T) {
	// Each before the next.
	order := []visit.Item{
		{URL: mustURL(t, "http://a.example/"), Depth: 9, Priority: -5},
		{URL: mustURL(t, "http://a.example/seed"), Depth: 0},
		{URL: mustURL(t, "http://a.example/x"), Depth: 1, Priority: 200},
		{URL: mustURL(t, "http://a.example/x"), Depth: 1, Priority: 10},
		{URL: mustURL(t, "http://a.example/?q"), Depth: 1},
		{URL: mustURL(t, "http://a.example/x"), Depth: 1, Priority: -1},
		{URL: mustURL(t, "http://a.example/x"), Depth: 2, Priority: 10},
		{URL: mustURL(t, "http://a.example/x"), Depth: 70_000},
	}
	for i := 1; i < len(order); i++ {
		if a, b := Rank(&order[i-1]), Rank(&order[i]); a >= b {
			t.Errorf("%v has rank %d, %v %d", order[i-1].URL, a, order[i].URL, b)
		}
	}
}

func TestGrant(t *testing.T) {
	for _, tc := range []struct {
		left int64
		n    int
		want int
	}{
		{0, 5, 0},
		{-1, 5, 0},
		{5, 0, 0},
		{1, 5, 1},
		{SingleTokens - 1, 5, 1},
		{SingleTokens, 5, 5},
		{SingleTokens, 5000, SingleTokens},
	} {
		if got := Grant(tc.left, tc.n); got != tc.want {
			t.Errorf("%d of %d left: %d, want %d", tc.n, tc.left, got, tc.want)
		}
	}
}

func TestCommitNamesItsLeases(t *testing.T) {
	var k weburl.Key
	item := func(raw string) visit.Item { return visit.Item{Job: 1, URL: mustURL(t, raw)} }
	c := Commit{
		Number:  1,
		Visits:  []visit.Visit{{Item: item("http://a.example/"), Outcome: visit.Fetched}},
		Retries: []Retry{{Visit: visit.Visit{Item: item("http://www.b.example/"), Outcome: visit.Pending, Wait: visit.WaitHold}}},
		Found:   []Found{{Item: item("http://foreign.example/")}},
		Hosts:   []Host{{Host: "http://www.a.example"}, {Host: "http://c.example:81"}},
		Parks:   []Park{{Job: 1, Host: "http://d.example", Outcome: visit.Deferred}},
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	slots := c.Slots(k)
	if len(slots) != 4 {
		t.Fatalf("slots %v", slots)
	}
	for i := range slots {
		c.Leases = nil
		for n, s := range slots {
			if n != i {
				c.Leases = append(c.Leases, Lease{Slot: s})
			}
		}
		if err := c.CheckLeases(k); !errors.Is(err, ErrFenced) {
			t.Errorf("without slot %d: %v", slots[i], err)
		}
	}
	c.Leases = append(c.Leases, Lease{Slot: slots[3]})
	if err := c.CheckLeases(k); err != nil {
		t.Error(err)
	}
}

// TestCommitParts gives each part of a commit its own job and host.
func TestCommitParts(t *testing.T) {
	item := func(id job.ID, raw string) visit.Item { return visit.Item{Job: id, URL: mustURL(t, raw)} }
	c := Commit{
		Visits:  []visit.Visit{{Item: item(1, "http://visit.example/")}},
		Retries: []Retry{{Visit: visit.Visit{Item: item(2, "http://retry.example/")}}},
		Found:   []Found{{Item: item(3, "http://found.example/")}, {Item: item(4, "http://aside.example/"), Outcome: visit.Skipped, Reason: visit.OutOfScope}},
		Parks:   []Park{{Job: 5, Host: "http://park.example"}},
		Errands: []Errand{{Job: 6, URL: mustURL(t, "http://errand.example/")}, {Job: 6, URL: mustURL(t, "http://errand.example/2")}},
		Ran:     []Errand{{Job: 7, URL: mustURL(t, "http://ran.example/")}},
		Hosts:   []Host{{Host: "http://host.example"}},
		Paces:   []PaceChange{{Host: "http://pace.example"}},
		Returns: []Return{{Job: 8}},
	}
	if got, want := c.RequiredJobs(), []job.ID{3, 4, 5, 6, 8}; !slices.Equal(got, want) {
		t.Errorf("jobs %v, want %v", got, want)
	}
	got := strings.Join(slices.Sorted(maps.Keys(c.HostNames())), " ")
	if want := "http://errand.example http://found.example http://host.example http://pace.example http://park.example http://ran.example http://retry.example http://visit.example"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCommitCheck(t *testing.T) {
	item := visit.Item{Job: 1, URL: mustURL(t, "http://a.example/")}
	good := func() Commit {
		return Commit{Number: 1, Visits: []visit.Visit{{Item: item, Outcome: visit.Fetched}}}
	}
	for name, tc := range map[string]struct {
		change func(c *Commit)
		want   string
	}{
		"nothing wrong":   {func(*Commit) {}, ""},
		"no number":       {func(c *Commit) { c.Number = 0 }, "number"},
		"pending":         {func(c *Commit) { c.Visits[0].Outcome, c.Visits[0].Wait = visit.Pending, visit.WaitPace }, "retry"},
		"unknown outcome": {func(c *Commit) { c.Visits[0].Outcome = "vanished" }, "vanished"},
		"ended and retried": {func(c *Commit) {
			c.Retries = []Retry{{Visit: visit.Visit{Item: item, Outcome: visit.Pending, Wait: visit.WaitHold}}}
		}, "two visits"},
		"retry that ended":     {func(c *Commit) { c.Visits, c.Retries = nil, []Retry{{Visit: c.Visits[0]}} }, "retry"},
		"two states of a host": {func(c *Commit) { c.Hosts = []Host{{Host: "http://a.example"}, {Host: "http://a.example"}} }, "two states"},
		"parked provisionally": {func(c *Commit) {
			c.Parks = []Park{{Host: "http://a.example", Outcome: visit.Skipped, Reason: visit.Depth}}
		}, "park"},
		"parked and pending":    {func(c *Commit) { c.Parks = []Park{{Host: "http://a.example", Outcome: visit.Pending}} }, "park"},
		"pace of no host":       {func(c *Commit) { c.Paces = []PaceChange{{Host: "a"}} }, "host"},
		"robots without a sum":  {func(c *Commit) { c.Robots = []RobotsVersion{{}} }, "SHA-256"},
		"no tokens returned":    {func(c *Commit) { c.Returns = []Return{{Job: 1}} }, "return"},
		"too many visits":       {func(c *Commit) { c.Visits = make([]visit.Visit, MaxVisits+1) }, "at most"},
		"too many found":        {func(c *Commit) { c.Found = make([]Found, MaxFound+1) }, "at most"},
		"too many hosts":        {func(c *Commit) { c.Hosts = make([]Host, MaxHosts+1) }, "at most"},
		"too many robots files": {func(c *Commit) { c.Robots = make([]RobotsVersion, MaxVisits+1) }, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good()
			tc.change(&c)
			err := c.Check()
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that names %q", err, tc.want)
			}
		})
	}
}

// scripted returns Idle values from a script.
type scripted struct {
	Jobs
	answers []Idle
}

func (c *scripted) Idle(context.Context, job.ID) (Idle, error) {
	a := c.answers[0]
	c.answers = c.answers[1:]
	return a, nil
}

func TestComplete(t *testing.T) {
	idle := func(n int64) Idle { return Idle{None: true, Admitted: n} }
	busy := Idle{Admitted: 1}
	for name, tc := range map[string]struct {
		a, b []Idle
		want bool
	}{
		"nothing waits":                     {[]Idle{idle(3), idle(3)}, []Idle{idle(5), idle(5)}, true},
		"one waits":                         {[]Idle{idle(3)}, []Idle{busy}, false},
		"a link went from b to a":           {[]Idle{idle(3), {Admitted: 4}}, []Idle{idle(5)}, false},
		"and was fetched meanwhile":         {[]Idle{idle(3), idle(4)}, []Idle{idle(5)}, false},
		"and back to b, fetched, and so on": {[]Idle{idle(3), idle(3)}, []Idle{idle(5), idle(6)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Complete(t.Context(), 1, &scripted{answers: tc.a}, &scripted{answers: tc.b})
			if err != nil || got != tc.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	if _, err := Complete(t.Context(), 1); err == nil {
		t.Error("complete without a store to ask")
	}
}

func TestThin(t *testing.T) {
	var points []Point
	const n = 5 * MaxPoints
	begin := time.UnixMilli(0).UTC()
	for i := range n {
		points = append(points, Point{At: begin.Add(time.Duration(i) * MinSpan), Span: MinSpan, Requests: 1, Memory: int64(i % 100), Waiting: int64(i)})
		points = Thin(points)
		if len(points) > MaxPoints {
			t.Fatalf("%d points", len(points))
		}
	}
	var requests int64
	for i, p := range points {
		requests += p.Requests
		if p.Requests != int64(p.Span/MinSpan) {
			t.Errorf("point %d covers %s with %d requests", i, p.Span, p.Requests)
		}
		if i > 0 && !points[i-1].At.Add(points[i-1].Span).Equal(p.At) {
			t.Fatalf("there is a gap or an overlap before point %d", i)
		}
		if !SpanStart(p.At, p.Span).Equal(p.At) {
			t.Errorf("point %d is off its mark", i)
		}
	}
	if requests != n {
		t.Errorf("%d requests of %d are left", requests, n)
	}
	if first := points[0]; first.Span == MinSpan || first.Memory != int64(first.Span/MinSpan)-1 || first.Waiting != int64(first.Span/MinSpan)-1 {
		t.Errorf("levels of merged points: %+v", first)
	}
}

func TestOpenErrorSaysWhatAndWhy(t *testing.T) {
	err := error(&OpenError{Path: "x/crawl.db", Err: ErrNewer, Hint: "upgrade"})
	if !errors.Is(err, ErrNewer) || err.Error() != "open store x/crawl.db: written by a newer version" {
		t.Error(err)
	}
}
