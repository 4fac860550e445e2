package politeness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// bar is a row of the table in section 7 of the specification: a server, and
// what the rule must achieve with it.
type bar struct {
	limit func() sim.Limit
	base  time.Duration
	pages int

	refusals int     // at most
	time     float64 // at most, of the ideal time; 0 is no bar
	pace     float64 // at most this far from the limit; 0 is no bar
	noLate   bool    // no refusal in the second half

	headerless bool // the server sends no Retry-After
}

func bucket(every time.Duration, burst int) func() sim.Limit {
	return func() sim.Limit { return &sim.Bucket{Interval: every, Burst: burst} }
}

func window(n int, per time.Duration) func() sim.Limit {
	return func() sim.Limit { return &sim.Window{Max: n, Per: per} }
}

func bars() []bar {
	const ms = time.Millisecond
	rows := []bar{{limit: bucket(500*ms, 2), base: 100 * ms, pages: 500, refusals: 5, time: 1.15}}
	for _, every := range []time.Duration{500 * ms, 2000 * ms, 7000 * ms, 30000 * ms} {
		for _, base := range []time.Duration{100 * ms, 1000 * ms} {
			rows = append(rows, bar{limit: bucket(every, 2), base: base, pages: 300, refusals: 10, time: 1.15, pace: 0.15})
		}
	}
	rows = append(rows, bar{limit: bucket(200*ms, 2), base: 100 * ms, pages: 300, refusals: 6, pace: 0.20})
	long := []func() sim.Limit{window(60, time.Minute), window(600, 10*time.Minute), bucket(500*ms, 50)}
	for _, limit := range long {
		rows = append(rows, bar{limit: limit, base: 100 * ms, pages: 20_000, refusals: 20, time: 1.25, pace: 0.15, noLate: true})
	}
	for _, limit := range long {
		rows = append(rows, bar{limit: limit, base: 100 * ms, pages: 20_000, refusals: 40, time: 1.5, noLate: true, headerless: true})
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

// outcome is what a bar was held against.
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

	// Again with what was learned: at once, on the server as it is now, and
	// after an hour in which it forgot everything.
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

// TestBars holds the rule against every server of the bar table and prints the
// table. Latency is 50 ms, the preset is polite with the base of the row.
func TestBars(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "| %-40s | %-5s | %6s | %8s | %4s | %10s | %7s | %5s | %-51s | ok  |\n",
		"server", "base", "pages", "refusals", "late", "time/ideal", "settled", "again", "bar")
	fmt.Fprintf(&table, "|%s|\n", "---|---|---|---|---|---|---|---|---|---")
	for _, b := range bars() {
		o := b.run(steady(t, "polite"), 50*time.Millisecond)
		verdict := "yes"
		if missed := b.failures(o); missed != nil {
			verdict = "NO"
			t.Errorf("%v, base %v: %s; the bar is %s", b, b.base, strings.Join(missed, ", "), b.wanted())
		}
		fmt.Fprintf(&table, "| %-40s | %-5v | %6d | %8d | %4d | %9.2fx | %7v | %5d | %-51s | %-3s |\n",
			b, b.base, b.pages, o.Refusals, o.LateRefusals, o.ratio, o.settled, o.again, b.wanted(), verdict)
	}
	took := recovery(t)
	verdict := "yes"
	if took > 2*time.Minute {
		verdict = "NO"
		t.Errorf("recovery from 21 s to 10 s took %v, want 2 min at most", took)
	}
	fmt.Fprintf(&table, "| %-40s | %-5v | %6s | %8s | %4s | %10s | %7s | %5s | %-51s | %-3s |\n",
		"recovers: learned 21 s, no floor known", time.Second, "", "0", "", "", took, "0", "sent 10 s apart or less within 2 min", verdict)
	t.Logf("the bars of section 7:\n%s", table.String())
}

// TestBarsElsewhere holds the rule against the same bars with the backoffs and
// in-flight caps of other presets and with no latency.
func TestBarsElsewhere(t *testing.T) {
	for _, name := range []string{"polite", "audit", "map", "owned"} {
		for _, latency := range []time.Duration{0, 50 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", name, latency), func(t *testing.T) {
				for _, b := range bars() {
					if missed := b.failures(b.run(steady(t, name), latency)); missed != nil {
						t.Errorf("%v, base %v: %s; the bar is %s", b, b.base, strings.Join(missed, ", "), b.wanted())
					}
				}
			})
		}
	}
}

// recovery returns how long a host that learned 21 s needs until two requests
// leave 10 s apart or less.
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
