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

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// limiter is a server that refuses only requests that are too fast.
type limiter struct {
	bar
	preset  string
	latency time.Duration
}

// limiters draws real rate limiters: buckets and sliding windows, most of them unlike those of
// the bars.
func limiters(seed1, seed2 uint64, n int) (list []limiter) {
	rng := rand.New(rand.NewPCG(seed1, seed2))
	between := func(low, high float64) float64 { return low * math.Exp(rng.Float64()*math.Log(high/low)) }
	for range n {
		burst, every := int(between(1, 60)), time.Duration(between(150, 30000))*time.Millisecond
		limit := bucket(every, burst)
		if rng.IntN(2) == 0 {
			burst, every = int(between(5, 500)), time.Duration(between(150, 5000))*time.Millisecond
			limit = window(burst, every*time.Duration(burst))
		}
		l := limiter{bar: bar{limit: limit, pages: 3000, base: []time.Duration{100 * time.Millisecond, time.Second}[rng.IntN(2)]}}
		l.preset = []string{"polite", "audit", "map", "owned"}[rng.IntN(4)]
		l.latency = time.Duration(between(5, 500)) * time.Millisecond
		list = append(list, l)
	}
	return list
}

// drawn is the result of one draw of limiters of one kind.
type drawn struct {
	status     int
	headerless bool

	refusals, most int
	p90            float64 // of the ideal time
	noise          []int   // limiters taken for noise
}

// draws are seeds, and the results of the rules of ADR 0010 for them. Rules that check whether a
// refusal depends on our pace must not exceed them. The first draw was used to develop the rules,
// the second was not.
var draws = []struct {
	seed1, seed2 uint64
	before       map[bool]drawn // by headerless
}{
	{1, 2, map[bool]drawn{false: {refusals: 2700, most: 28, p90: 1.222}, true: {refusals: 3659, most: 58, p90: 1.476}}},
	{3, 4, map[bool]drawn{false: {refusals: 2459, most: 23, p90: 1.157}, true: {refusals: 3505, most: 61, p90: 1.369}}},
}

const drawSize = 400

func draw(t testing.TB, seed1, seed2 uint64, status int, headerless bool) drawn {
	t.Helper()
	d := drawn{status: status, headerless: headerless}
	var times []float64
	for i, l := range limiters(seed1, seed2, drawSize) {
		p := steady(t, l.preset)
		p.Base = l.base
		server := &sim.Limited{Limit: l.limit(), RetryAfter: !headerless, Latency: l.latency, Status: status}
		r := sim.Crawl{Policy: p, State: politeness.New("host"), Server: server, Pages: l.pages, Trace: func(e sim.Event) {
			if noiseKnown(e.State) && !slices.Contains(d.noise, i) {
				d.noise = append(d.noise, i)
			}
		}}.Run()
		d.refusals += r.Refusals
		d.most = max(d.most, r.Refusals)
		times = append(times, float64(r.Took)/float64(sim.Ideal(l.limit(), l.base, l.pages)))
	}
	slices.Sort(times)
	d.p90 = times[len(times)*9/10]
	return d
}

// TestRealLimiters: where refusals depend on our pace, there are no more of them than with the
// rules before, and no limiter is taken for noise.
func TestRealLimiters(t *testing.T) {
	skipUnlessLong(t)
	var table strings.Builder
	fmt.Fprintf(&table, "| %-60v | %8v | %4v | %8v | %5v | %-32v | %-3v |\n", "server", "refusals", "most", "time p90", "noise", "the rule before", "ok")
	fmt.Fprintf(&table, "| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, in := range draws {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			for _, headerless := range []bool{false, true} {
				d, was := draw(t, in.seed1, in.seed2, status, headerless), in.before[headerless]
				verdict := "yes"
				if d.refusals > was.refusals || d.most > was.most || d.p90 > was.p90 || d.noise != nil {
					verdict = "NO"
					t.Errorf("%+v; the rule before: %+v", d, was)
				}
				name := fmt.Sprintf("%d limiters, seed %d, %d: %d", drawSize, in.seed1, in.seed2, status)
				if headerless {
					name += " without Retry-After"
				}
				fmt.Fprintf(&table, "| %-60v | %8d | %4d | %7.3fx | %5d | %-32v | %-3v |\n", name, d.refusals, d.most, d.p90, len(d.noise),
					fmt.Sprintf("%d, at most %d, %.3fx", was.refusals, was.most, was.p90), verdict)
			}
		}
	}
	t.Logf("real limiters:\n%s", table.String())
}
