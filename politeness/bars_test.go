package politeness_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/internal/race"
	"headway/politeness"
	"headway/politeness/internal/sim"
)

// bar is a row of the table in section 7 of the specification: a server, and what the rules
// must achieve with it.
type bar struct {
	limit func() sim.Limit
	base  time.Duration
	pages int

	refusals int     // at most
	time     float64 // at most, of the ideal time; 0 is no bar
	pace     float64 // maximum distance from the limit; 0 is no bar
	noLate   bool    // no refusal in the second half

	headerless bool // the server sends no Retry-After

	reference string // result of the specification's own small simulation
}

func bucket(every time.Duration, burst int) func() sim.Limit {
	return func() sim.Limit { return &sim.Bucket{Interval: every, Burst: burst} }
}

func window(n int, per time.Duration) func() sim.Limit {
	return func() sim.Limit { return &sim.Window{Max: n, Per: per} }
}

func bars() []bar {
	const ms = time.Millisecond
	rows := []bar{{limit: bucket(500*ms, 2), base: 100 * ms, pages: 500, refusals: 5, time: 1.15, reference: "4; 1.04x"}}
	for _, every := range []time.Duration{500 * ms, 2000 * ms, 7000 * ms, 30000 * ms} {
		for _, base := range []time.Duration{100 * ms, 1000 * ms} {
			rows = append(rows, bar{limit: bucket(every, 2), base: base, pages: 300, refusals: 10, time: 1.15, pace: 0.15, reference: "0–8; 1.0–1.08x"})
		}
	}
	rows = append(rows, bar{limit: bucket(200*ms, 2), base: 100 * ms, pages: 300, refusals: 6, pace: 0.20, reference: "4; 0.23 s"})
	long := []func() sim.Limit{window(60, time.Minute), window(600, 10*time.Minute), bucket(500*ms, 50)}
	for _, limit := range long {
		rows = append(rows, bar{limit: limit, base: 100 * ms, pages: 20_000, refusals: 20, time: 1.25, pace: 0.15, noLate: true, reference: "11–17; 1.08–1.17x"})
	}
	for _, limit := range long {
		rows = append(rows, bar{limit: limit, base: 100 * ms, pages: 20_000, refusals: 40, time: 1.5, noLate: true, headerless: true, reference: "16–35; 1.22–1.39x"})
	}
	return rows
}

func (b bar) String() string {
	s := b.limit().String()
	if b.headerless {
		s += ", no Retry-After"
	}
	return s
}

// wanted is the bar in words.
func (b bar) wanted() string {
	w := []string{fmt.Sprintf("≤ %d refusals", b.refusals)}
	if b.noLate {
		w = append(w, "none late")
	}
	if b.pace > 0 {
		w = append(w, fmt.Sprintf("pace ± %.0f %%", 100*b.pace))
	}
	if b.time > 0 {
		w = append(w, fmt.Sprintf("≤ %.2fx", b.time))
	}
	return strings.Join(w, ", ")
}

// outcome is what was measured for a bar.
type outcome struct {
	sim.Result
	ratio   float64 // of the ideal time
	settled time.Duration
	off     float64 // of the pace the limit allows
	again   int     // refusals in a second crawl with what was learned; the worse of two
}

func preset(t testing.TB, name string) politeness.Policy {
	t.Helper()
	p, ok := politeness.Preset(name)
	if !ok {
		t.Fatalf("no preset %q", name)
	}
	return p
}

// steady is a preset without its random parts.
func steady(t testing.TB, name string) politeness.Policy {
	t.Helper()
	p := preset(t, name)
	p.Jitter, p.Spread = 0, 0
	return p
}

func (b bar) run(p politeness.Policy, latency time.Duration) outcome {
	p.Base = b.base
	server := &sim.Limited{Limit: b.limit(), RetryAfter: !b.headerless, Latency: latency}
	crawl := sim.Crawl{Policy: p, State: politeness.New("host"), Server: server, Pages: b.pages}
	o := outcome{Result: crawl.Run()}
	o.ratio = float64(o.Took) / float64(sim.Ideal(b.limit(), b.base, b.pages))
	o.settled = p.Pace(o.State)
	o.off = float64(o.settled)/float64(max(b.base, b.limit().Every())) - 1

	// Again with what was learned: at once, on the server as it is now, and after an hour
	// in which the server forgot everything.
	crawl.State, crawl.Start = o.State, o.End
	atOnce := crawl.Run()
	crawl.Start = o.End.Add(time.Hour)
	crawl.Server = &sim.Limited{Limit: b.limit(), RetryAfter: !b.headerless, Latency: latency}
	o.again = max(atOnce.Refusals, crawl.Run().Refusals)
	return o
}

// failures lists what misses the bar.
func (b bar) failures(o outcome) (missed []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			missed = append(missed, fmt.Sprintf(format, args...))
		}
	}
	check(o.Pages == b.pages, "%d pages of %d", o.Pages, b.pages)
	check(o.GivenUp == 0, "%d URLs used up their retries", o.GivenUp)
	check(o.Refusals <= b.refusals, "%d refusals", o.Refusals)
	check(b.time == 0 || o.ratio <= b.time, "%.3f of the ideal time", o.ratio)
	check(b.pace == 0 || o.off <= b.pace && o.off >= -b.pace, "settled at %v", o.settled)
	check(!b.noLate || o.LateRefusals == 0, "%d refusals in the second half", o.LateRefusals)
	check(o.again <= 1, "%d refusals with kept state", o.again)
	return missed
}

// TestBars runs the rules against every server of the bar table and prints the table. Latency
// is 50 ms, the preset is polite with the base of the row.
func TestBars(t *testing.T) {
	var table strings.Builder
	row := func(cells ...any) {
		fmt.Fprintf(&table, "| %-40v | %-5v | %6v | %8v | %4v | %10v | %7v | %5v | %-46v | %-17v | %-3v |\n", cells...)
	}
	row("server", "base", "pages", "refusals", "late", "time/ideal", "settled", "again", "bar", "reached before", "ok")
	row("---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, b := range bars() {
		o := b.run(steady(t, "polite"), 50*time.Millisecond)
		verdict := "yes"
		if missed := b.failures(o); missed != nil {
			verdict = "NO"
			t.Errorf("%v, base %v: %s; the bar is %s", b, b.base, strings.Join(missed, ", "), b.wanted())
		}
		row(b, b.base, b.pages, o.Refusals, o.LateRefusals, fmt.Sprintf("%.2fx", o.ratio), o.settled, o.again, b.wanted(), b.reference, verdict)
	}
	took, verdict := recovery(t), "yes"
	if took > 2*time.Minute {
		verdict = "NO"
		t.Errorf("recovery from 21 s to 10 s took %v, want 2 min at most", took)
	}
	row("recovers from 21 s, no floor known", time.Second, "", 0, "", took, "", 0, "two requests 10 s apart or less within 2 min", "81 s", verdict)
	t.Logf("the bars of section 7:\n%s", table.String())
}

// skipUnlessLong skips the surveys under the race detector: the rules have no goroutines, so it
// only makes them slow.
func skipUnlessLong(t *testing.T) {
	t.Helper()
	if race.Short() {
		t.Skip("a survey; TestBars has the bars themselves")
	}
}

// TestBarsWithOtherPresets checks the same bars with the backoffs and in-flight caps of other presets,
// without latency and with more of it, with and without jitter.
func TestBarsWithOtherPresets(t *testing.T) {
	skipUnlessLong(t)
	for _, name := range []string{"polite", "audit", "map", "owned"} {
		for _, latency := range []time.Duration{0, 150 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", name, latency), func(t *testing.T) {
				p := steady(t, name)
				if latency > 0 {
					p.Jitter = 5
				}
				for _, b := range bars() {
					if missed := b.failures(b.run(p, latency)); missed != nil {
						t.Errorf("%v, base %v: %s; the bar is %s", b, b.base, strings.Join(missed, ", "), b.wanted())
					}
				}
			})
		}
	}
}

// TestSlowServersAreLearnedToo is for servers slower than their own limit, where the in-flight
// cap sets the rate as much as the pace does and several requests are refused at once. The bars
// do not apply, but what was learned must last.
func TestSlowServersAreLearnedToo(t *testing.T) {
	skipUnlessLong(t)
	for _, name := range []string{"polite", "owned"} {
		for _, latency := range []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second} {
			for _, b := range bars() {
				o := b.run(steady(t, name), latency)
				if o.again > 1 || o.GivenUp > 0 || o.LateRefusals > 1 {
					t.Errorf("%s, %v, base %v, latency %v: %d late refusals, %d with kept state, %d URLs given up",
						name, b, b.base, latency, o.LateRefusals, o.again, o.GivenUp)
				}
			}
		}
	}
}

// TestEverlane is the original failure: 500 URLs of a shop that allows two requests per second.
// All are fetched, and none of the last 80 % is refused.
func TestEverlane(t *testing.T) {
	p := steady(t, "polite")
	p.Base = 100 * time.Millisecond
	last := 0
	r := sim.Crawl{
		Policy: p, State: politeness.New("everlane"), Pages: 500,
		Server: &sim.Limited{Limit: bucket(500*time.Millisecond, 2)(), RetryAfter: true, Latency: 50 * time.Millisecond},
		Trace: func(e sim.Event) {
			if e.Answer.Status == http.StatusTooManyRequests {
				last = e.Pages
			}
		},
	}.Run()
	if r.Pages != 500 || last > 100 {
		t.Errorf("%d pages, the last refusal after %d, want all 500 and none after 100", r.Pages, last)
	}
}

// TestRandomLimits tests the rules with random limits, most of them unlike those of the bars.
func TestRandomLimits(t *testing.T) {
	skipUnlessLong(t)
	for _, retryAfter := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(1, 2))
		between := func(low, high float64) float64 { return low * math.Exp(rng.Float64()*math.Log(high/low)) }
		var times, refusals []float64
		again, slow := 0, 0
		const servers = 100
		for range servers {
			burst, every := int(between(1, 60)), time.Duration(between(150, 30000))*time.Millisecond
			limit := bucket(every, burst)
			if rng.IntN(2) == 0 {
				burst, every = int(between(5, 500)), time.Duration(between(150, 5000))*time.Millisecond
				limit = window(burst, every*time.Duration(burst))
			}
			b := bar{
				limit: limit, pages: 3000, headerless: !retryAfter,
				base: []time.Duration{100 * time.Millisecond, time.Second}[rng.IntN(2)],
			}
			p := steady(t, []string{"polite", "audit", "map", "owned"}[rng.IntN(4)])
			o := b.run(p, time.Duration(between(5, 500))*time.Millisecond)
			times = append(times, o.ratio)
			refusals = append(refusals, float64(o.Refusals))
			again += o.again
			if o.off > 0.5 {
				slow++
			}
		}
		slices.Sort(times)
		slices.Sort(refusals)
		t.Logf("%d random limits, Retry-After %v: time/ideal median %.2f, nine in ten below %.2f, worst %.2f; refusals median %.0f, nine in ten below %.0f; %d with kept state in all; %d settled over 1.5x the limit",
			servers, retryAfter, times[servers/2], times[servers*9/10], times[servers-1], refusals[servers/2], refusals[servers*9/10], again, slow)
		if times[servers/2] > 1.1 || times[servers*9/10] > 1.6 || refusals[servers/2] > 12 || again > servers/2 || slow > servers/20 {
			t.Error("the rule has become worse where no bar looks")
		}
	}
}

// TestOwnedFindsTheLimit tests the preset that starts without a pace against the same limits:
// the search starts at 0, with many requests in flight.
func TestOwnedFindsTheLimit(t *testing.T) {
	const ms = time.Millisecond
	for _, limit := range []func() sim.Limit{bucket(500*ms, 2), bucket(200*ms, 50), bucket(2000*ms, 2), window(60, time.Minute)} {
		for _, latency := range []time.Duration{0, 5 * ms, 50 * ms} {
			t.Run(fmt.Sprintf("%v/%v", limit(), latency), func(t *testing.T) {
				p := steady(t, "owned")
				c := sim.Crawl{
					Policy: p, State: politeness.New("host"), Pages: 5000,
					Server: &sim.Limited{Limit: limit(), RetryAfter: true, Latency: latency},
				}
				var incidents int
				c.Trace = func(e sim.Event) {
					if e.Effect.Has(politeness.Incident) {
						incidents++
					}
				}
				r := c.Run()
				ratio := float64(r.Took) / float64(sim.Ideal(limit(), 0, c.Pages))
				t.Logf("%d refusals in %d incidents, %d late, %.2f of the ideal time, settled at %v",
					r.Refusals, incidents, r.LateRefusals, ratio, p.Pace(r.State))
				if incidents > 20 || r.GivenUp > 0 || ratio > 1.25 {
					t.Error("too many incidents, URLs given up, or too slow")
				}
			})
		}
	}
}

// recovery returns how long a host that learned 21 s needs until two requests are sent 10 s
// apart or less.
func recovery(t *testing.T) time.Duration {
	t.Helper()
	var last time.Time
	var took time.Duration
	sim.Crawl{
		Policy: steady(t, "polite"),
		State:  politeness.New("host").WithLearned(21 * time.Second),
		Server: sim.ServerFunc(func(r sim.Request) politeness.Answer {
			if took == 0 && !last.IsZero() && r.At.Sub(last) <= 10*time.Second {
				took = r.At.Sub(sim.Epoch)
			}
			last = r.At
			return sim.OK(50 * time.Millisecond)
		}),
		Pages: 100,
		For:   10 * time.Minute,
	}.Run()
	if took == 0 {
		t.Error("never recovered")
	}
	return took
}
