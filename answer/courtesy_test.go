package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"headway/ask"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// asked is a visit of example.com, sent this long after noon.
func asked(t testing.TB, path string, after, took time.Duration, status int) *visit.Visit {
	t.Helper()
	u, err := weburl.Parse("https://example.com" + path)
	if err != nil {
		t.Fatal(err)
	}
	outcome, _ := visit.OfStatus(status)
	return &visit.Visit{
		Item: visit.Item{Job: 1, URL: u}, Outcome: outcome, Answer: visit.Answer{Status: status, WireBytes: 100},
		Timing: visit.Timing{Sent: noon.Add(after), Total: took},
	}
}

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestCourtesyMeasures(t *testing.T) {
	type request struct{ after, took time.Duration }
	for name, tc := range map[string]struct {
		requests []request
		peak     int
		gap      time.Duration // -1 for none
		minute   int
	}{
		"nothing":                {nil, 0, -1, 0},
		"one":                    {[]request{{0, sec}}, 1, -1, 1},
		"one after the other":    {[]request{{0, sec}, {2 * sec, sec}, {5 * sec, sec}}, 1, 2 * sec, 3},
		"ends as the next one":   {[]request{{0, sec}, {sec, sec}}, 1, sec, 2},
		"two overlap":            {[]request{{0, 3 * sec}, {sec, 3 * sec}, {3 * sec, sec}}, 2, sec, 3},
		"a long one under three": {[]request{{0, 10 * sec}, {sec, sec}, {3 * sec, sec}, {5 * sec, sec}}, 2, sec, 4},
		"all at once":            {[]request{{0, sec}, {0, sec}, {0, sec}}, 3, 0, 3},
		"no time at all":         {[]request{{0, 0}, {sec, 0}}, 1, sec, 2},
		"a gap is cut":           {[]request{{0, ms}, {1999*ms + 999*time.Microsecond, ms}}, 1, 1999 * ms, 2},
		"a minute is a minute":   {[]request{{0, ms}, {30 * sec, ms}, {60 * sec, ms}, {61 * sec, ms}}, 1, sec, 3},
		"in any order":           {[]request{{5 * sec, sec}, {0, 6 * sec}, {2 * sec, sec}}, 2, 2 * sec, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCourtesy(false)
			for i, r := range tc.requests {
				c.Add(asked(t, fmt.Sprint("/", i), r.after, r.took, 200))
			}
			r := c.Receipt(CourtesyFacts{Host: "https://example.com", MadeAt: noon})
			if r.Requests != int64(len(tc.requests)) || r.Pages != r.Requests || r.PeakConcurrency != tc.peak || r.BusiestMinute != tc.minute {
				t.Errorf("requests %d, pages %d, peak %d, minute %d; want %d, %d and %d", r.Requests, r.Pages, r.PeakConcurrency, r.BusiestMinute, len(tc.requests), tc.peak, tc.minute)
			}
			gap := time.Duration(-1)
			if r.SmallestGap != nil {
				gap = r.SmallestGap.Duration()
			}
			if gap != tc.gap {
				t.Errorf("smallest gap %v, want %v", gap, tc.gap)
			}
		})
	}
}

// TestCourtesyPeakIsExact compares with counting at every point in time.
func TestCourtesyPeakIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		spans := make([]span, n)
		for i := range spans {
			from := rapid.Int64Range(0, 100).Draw(t, "from")
			spans[i] = span{from, from + rapid.Int64Range(1, 30).Draw(t, "length")}
		}
		want := 0
		for at := range int64(131) {
			under := 0
			for _, s := range spans {
				if s.from <= at && at < s.to {
					under++
				}
			}
			want = max(want, under)
		}
		sorted := NewCourtesy(false)
		sorted.spans = spans
		if got := sorted.Receipt(CourtesyFacts{}).PeakConcurrency; got != want {
			t.Fatalf("peak %d, want %d: %v", got, want, spans)
		}
	})
}

func TestCourtesyReactions(t *testing.T) {
	c := NewCourtesy(false)
	refuse := func(path string, after time.Duration, retry string) *visit.Visit {
		v := asked(t, path, after, 100*ms, 429)
		v.Answer.RetryAfter, v.Outcome, v.Wait = retry, visit.Pending, visit.WaitHold
		return v
	}
	c.Add(asked(t, "/", 0, 100*ms, 200))
	c.AddAttempt(refuse("/a?access_token=hunter2", sec, "5"))        // responded at 1.1 s
	c.Add(asked(t, "/a", 7*sec, 100*ms, 200))                        // 5.9 s later
	c.AddAttempt(refuse("/b", 10*sec, "30"))                         // responded at 10.1 s
	c.Add(asked(t, "/b", 20*sec, 100*ms, 200))                       // 9.9 s later: too early
	c.AddAttempt(refuse("/c", 30*sec, "Sun, 15 Nov 2026 12:00 GMT")) // not a number
	c.AddAttempt(refuse("/d", 40*sec, ""))                           // no request followed
	c.AddAttempt(refuse("/d2", 40*sec+50*ms, "2"))                   // in flight when the one before was read

	unsent := asked(t, "/e", 0, 0, 0)
	unsent.Timing, unsent.Outcome, unsent.Reason = visit.Timing{}, visit.Failed, visit.Connect
	c.Add(unsent)
	skipped := asked(t, "/f", 0, 0, 0)
	skipped.Timing, skipped.Outcome, skipped.Reason = visit.Timing{}, visit.Skipped, visit.RobotsDisallow
	c.Add(skipped)

	r := c.Receipt(CourtesyFacts{
		Host: "https://example.com", MadeAt: noon.Add(time.Minute),
		Paces: []store.PaceChange{
			{At: noon.Add(1102 * ms), From: sec, To: 2 * sec, Cause: "incident"},
			{At: noon.Add(8 * sec), From: 2 * sec, To: 1500 * ms, Cause: "probe"},
			{At: noon.Add(29 * sec), From: 1500 * ms, To: 3 * sec, Cause: "incident"}, // no refusal near it
			{At: noon.Add(40*sec + 101*ms), From: 3 * sec, To: 4 * sec, Cause: "probe_failed"},
		},
	})
	if r.Requests != 8 || r.Repeated != 5 || r.Pages != 3 || r.Unsent != 1 || r.Refusals != 5 || r.SentInside != 4 {
		t.Errorf("requests %d, repeated %d, pages %d, unsent %d, refusals %d, sent inside %d", r.Requests, r.Repeated, r.Pages, r.Unsent, r.Refusals, r.SentInside)
	}
	var got []string
	for _, x := range r.Incidents {
		line := fmt.Sprintf("%d x %s", x.Answers, x.URL)
		if x.PaceTo != nil {
			line += fmt.Sprintf(" pace %v→%v", x.PaceFrom.Duration(), x.PaceTo.Duration())
		}
		if x.Next != nil {
			line += fmt.Sprintf(" next %v", x.Next.Duration())
		}
		if x.RetryAfter != "" {
			line += fmt.Sprintf(" asked %q", x.RetryAfter)
		}
		if x.SentInside > 0 {
			line += fmt.Sprintf(" inside %d", x.SentInside)
		}
		got = append(got, line)
	}
	want := []string{
		`1 x https://example.com/a?access_token=REDACTED pace 1s→2s next 5.9s asked "5"`,
		`1 x https://example.com/b next 9.9s asked "30" inside 2`,                         // at 20 s and 30 s
		`1 x https://example.com/c next 9.9s asked "Sun, 15 Nov 2026 12:00 GMT" inside 2`, // until 40.1 s, because of /b
		`2 x https://example.com/d pace 3s→4s asked "2"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret got out, or %v:\n%s", err, text)
	}
}

// TestCourtesyCountsFromTheEnd: Retry-After counts from when the refusal was read, even
// if its request was slow to be sent.
func TestCourtesyCountsFromTheEnd(t *testing.T) {
	for early, want := range map[time.Duration]int{0: 0, time.Nanosecond: 1} {
		c := NewCourtesy(false)
		v := asked(t, "/a", 40*ms, 100*ms, 429) // its writing took 40 ms, its response was read at 100 ms
		v.Timing.Send, v.Answer.RetryAfter = 40*ms, "5"
		c.AddAttempt(v)
		c.Add(asked(t, "/b", 5*sec+100*ms-early, 10*ms, 200))
		r := c.Receipt(CourtesyFacts{})
		if at := r.RefusalList[0].At; !at.Equal(noon.Add(100*ms)) || r.SentInside != want {
			t.Errorf("%v early: refused at %v, %d requests inside, want %d", early, at, r.SentInside, want)
		}
	}
}

func TestCourtesyForbidden(t *testing.T) {
	for refuses, want := range map[bool]int64{false: 0, true: 1} {
		c := NewCourtesy(refuses)
		c.Add(asked(t, "/", 0, ms, 403))
		if got := c.Receipt(CourtesyFacts{}).Refusals; got != want {
			t.Errorf("403 as a refusal %v: %d refusals", refuses, got)
		}
	}
}

func TestCourtesyRobots(t *testing.T) {
	c := NewCourtesy(false)
	decided := func(kind visit.EvidenceKind, sum string, at time.Duration) {
		v := asked(t, "/x", 0, 0, 200)
		v.Timing = visit.Timing{}
		v.Evidence = []visit.Evidence{{Kind: kind, Source: sum, SourceAt: noon.Add(at)}}
		c.Add(v)
	}
	decided(visit.RobotsAllowed, "bb", 24*time.Hour)
	decided(visit.RobotsAllowed, "aa", time.Hour)
	decided(visit.BlockedByRobots, "aa", 0)
	decided(visit.RobotsAllowed, "", 0)
	decided(visit.Override, "", 0)
	if sums := c.Sums(); strings.Join(sums, " ") != "aa bb" {
		t.Errorf("sums %v", sums)
	}
	r := c.Receipt(CourtesyFacts{Robots: map[string]int{"aa": 120}})
	want := []RobotsVersion{
		{SHA256: "aa", Bytes: 120, First: noon, Last: noon.Add(time.Hour), Decisions: 2, Disallowed: 1},
		{SHA256: "bb", Bytes: -1, First: noon.Add(24 * time.Hour), Last: noon.Add(24 * time.Hour), Decisions: 1},
	}
	if fmt.Sprint(r.Robots) != fmt.Sprint(want) || r.RobotsNone != 1 || r.RobotsIgnored != 1 || r.Disallowed != 1 {
		t.Errorf("got %v, none %d, ignored %d, disallowed %d; want %v", r.Robots, r.RobotsNone, r.RobotsIgnored, r.Disallowed, want)
	}
	if !strings.Contains(strings.Join(r.Notes, " "), "ignored with the host owner's permission") {
		t.Errorf("nothing is said of rules that were set aside: %q", r.Notes)
	}
}

// TestCourtesyBound checks that the latest of very many refusals are listed.
func TestCourtesyBound(t *testing.T) {
	c := NewCourtesy(false)
	const n = 5 * MaxRefusals
	for i := range n {
		at := time.Duration((i*7919)%n) * sec // unordered
		c.Add(asked(t, "/", at, ms, 503))
	}
	r := c.Receipt(CourtesyFacts{})
	if r.Refusals != n || len(r.RefusalList) != MaxRefusals {
		t.Fatalf("%d refusals, %d listed", r.Refusals, len(r.RefusalList))
	}
	for i, x := range r.RefusalList {
		if want := noon.Add(time.Duration(n-MaxRefusals+i)*sec + ms); !x.At.Equal(want) {
			t.Fatalf("refusal %d at %v, want %v", i, x.At, want)
		}
	}
	if !strings.Contains(strings.Join(r.Notes, " "), fmt.Sprintf("latest %d of %d refusals", MaxRefusals, n)) {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestReceiptKeys pins the JSON keys.
func TestReceiptKeys(t *testing.T) {
	gap := ask.Seconds(sec)
	text, err := json.Marshal(Receipt{SmallestGap: &gap, From: noon})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"host", "created_at", "who", "from", "requests", "pages", "statuses", "peak_concurrency", "smallest_gap_seconds", "busiest_minute", "robots", "refusals",
		"sent_inside_retry_after", "instructions", "notes",
	} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("no key %s: %s", key, text)
		}
	}
	if !strings.Contains(string(text), `"smallest_gap_seconds":1`) {
		t.Errorf("durations are milliseconds: %s", text)
	}
}

// TestReceiptOrders lists the operator's orders for this host, without who gave them.
func TestReceiptOrders(t *testing.T) {
	orders := []ask.Change{
		{At: noon, By: "ann", Order: ask.KindSlow, Host: "https://example.com", Before: "1s", After: "5s"},
		{At: noon.Add(sec), By: "ann", Order: ask.KindPause, Host: "https://other.example", Before: "1s", After: "paused"},
		{At: noon.Add(2 * sec), By: "ann", Order: ask.KindStopDiscovery, Before: "on", After: "stopped"},
	}
	r := NewCourtesy(false).Receipt(CourtesyFacts{Host: "https://example.com", Orders: orders})
	if diff := cmp.Diff([]Order{{At: noon, Order: ask.KindSlow, Before: "1s", After: "5s"}}, r.Orders); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "ann") {
		t.Errorf("%s, %v", text, err)
	}
	many := make([]ask.Change, MaxOrders+7)
	for i := range many {
		many[i] = orders[0]
		many[i].At = noon.Add(time.Duration(i) * sec)
	}
	if r := NewCourtesy(false).Receipt(CourtesyFacts{Host: "https://example.com", Orders: many}); len(r.Orders) != MaxOrders || !r.Orders[0].At.Equal(noon.Add(7*sec)) {
		t.Errorf("%d orders, from %v", len(r.Orders), r.Orders[0].At)
	}
}
