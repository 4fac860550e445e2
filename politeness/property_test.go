package politeness_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/internal/race"
	"headway/politeness"
	"headway/politeness/internal/sim"
)

// watched checks every request of a host against what the server could see and had requested, kept
// separately from the rules' own state.
type watched struct {
	fail   func(format string, args ...any)
	p      politeness.Policy
	s      politeness.State
	now    time.Time
	delay  time.Duration // the Crawl-delay in force
	flight []time.Time   // when the requests in flight were sent
	last   time.Time     // when the last request was sent
	asked  time.Time     // end of the host's Retry-After
	sends  int
}

func watch(p politeness.Policy, fail func(format string, args ...any)) *watched {
	return &watched{fail: fail, p: p, s: politeness.New("http://watched.example"), now: sim.Epoch}
}

// admit checks that a wait can end, and that an admitted request breaks no guarantee.
func (w *watched) admit() politeness.Wait {
	wait := w.p.Admit(w.s, w.now)
	switch {
	case wait.Go():
		if !w.last.IsZero() && w.now.Sub(w.last) < max(w.p.Base, w.delay, w.s.Learned()) {
			w.fail("a request may leave %v after the last, inside the pace of %v", w.now.Sub(w.last), w.p.Pace(w.s))
		}
		if w.now.Before(w.asked) {
			w.fail("a request may leave %v before the host wants one", w.asked.Sub(w.now))
		}
		if n := w.p.Cap(w.s); len(w.flight) >= n || n > w.p.InFlight {
			w.fail("a request may join %d under way; the cap is %d of %d", len(w.flight), n, w.p.InFlight)
		}
		if len(w.flight) > 0 && (w.s.Refusing() || w.s.CircuitOpen() || w.delay > 0) {
			w.fail("a request may join %d under way though it should go alone", len(w.flight))
		}
	case w.s.Paused():
		if wait.Reason != politeness.Hold || !wait.Until.IsZero() {
			w.fail("paused, and waits for %q until %v", wait.Reason, wait.Until)
		}
	case wait.Reason == politeness.InFlight:
		if len(w.flight) == 0 {
			w.fail("waits for answers, but nothing is under way: it would starve")
		}
	default:
		if !wait.Until.After(w.now) {
			w.fail("waits for %q until %v, which is not ahead", wait.Reason, wait.Until)
		}
		longest := time.Duration(float64(max(w.p.Refusing.Max, w.p.Failing.Max, 2*time.Minute, 2*w.delay, 2*w.p.Base, 2*w.s.Asked())+w.p.Spread) * 1.06)
		if bound := w.now.Add(longest); wait.Until.After(bound) && wait.Until.After(w.asked.Add(time.Millisecond)) {
			w.fail("waits for %q for %v, longer than anything asks for", wait.Reason, wait.Until.Sub(w.now))
		}
	}
	return wait
}

func (w *watched) send() {
	w.s = w.p.Sent(w.s, w.now)
	w.last = w.now
	w.flight = append(w.flight, w.now)
	w.sends++
}

// observe answers the i-th request in flight.
func (w *watched) observe(i int, a politeness.Answer) politeness.Effect {
	a.SentAt = w.flight[i]
	w.flight = append(w.flight[:i], w.flight[i+1:]...)
	before := w.s
	var e politeness.Effect
	w.s, e = w.p.Observe(w.s, w.now, a)
	if a.HasRetryAfter && a.RetryAfter > 0 && a.Fault != politeness.Ours &&
		(a.Status == http.StatusTooManyRequests || a.Status == http.StatusForbidden || a.Status >= http.StatusInternalServerError) {
		if until := w.now.Add(a.RetryAfter); until.After(w.asked) {
			w.asked = until
		}
	}
	w.check(before, e)
	return e
}

// check checks the invariants after every answer.
func (w *watched) check(before politeness.State, e politeness.Effect) {
	limit := max(time.Minute, 2*w.delay, 2*w.p.Base, 2*w.s.Asked())
	if w.s.Learned() < 0 || w.s.Learned() > limit {
		w.fail("learned %v, beyond %v", w.s.Learned(), limit)
	}
	was := min(before.Learned(), limit) // the limit follows the Crawl-delay
	if w.s.HeldUntil().Before(before.HeldUntil()) {
		w.fail("the hold was shortened from %v to %v", before.HeldUntil(), w.s.HeldUntil())
	}
	if e.Has(politeness.Joined) && (w.s.Learned() != was || e.Charge() != politeness.ChargeNothing) {
		w.fail("a refusal that joined an incident changed the pace or cost a retry")
	}
	if w.s.InFlight() != len(w.flight) {
		w.fail("%d in flight, want %d", w.s.InFlight(), len(w.flight))
	}
	if slower := w.s.Learned() > was; slower && !e.Has(politeness.Slowed) && !e.Has(politeness.ProbeFailed) {
		w.fail("slower without an incident: %q", e)
	}
	if faster := w.s.Learned() < was; faster && !e.Has(politeness.Probed) && !e.Has(politeness.ProbeFailed) && !e.Has(politeness.Noise) && !e.Has(politeness.Relieved) {
		w.fail("faster without a probe: %q", e)
	}
}

// reload stores and loads the state, as a hand-over does.
func (w *watched) reload() {
	b, err := w.s.MarshalBinary()
	if err != nil {
		w.fail("%v", err)
	}
	var loaded politeness.State
	if err := loaded.UnmarshalBinary(b); err != nil {
		w.fail("%v", err)
	}
	if loaded != w.s {
		w.fail("the state differs after a round trip")
	}
	w.s = loaded
}

// crash loses what is in flight and loads the state again.
func (w *watched) crash() {
	w.reload()
	w.flight = nil
	w.s = w.p.Resume(w.s, w.now)
	w.last = w.now // the full pace from load time
}

// temper is a random server.
type temper struct {
	Seed       uint64
	Preset     string
	Merged     string
	Base       int // milliseconds; -1 keeps the preset's
	Kind       int
	Interval   int // milliseconds
	Burst      int
	RetryAfter int
	Latency    int // milliseconds
	PerLoad    int // milliseconds more for each request in flight
	FailEvery  int // one in FailEvery fails; 0 is never
	RefuseRun  int // sometimes refuses everything for this many requests
	Delay      int // Crawl-delay in milliseconds
	CrashEvery int
	Requests   int
}

func tempers() *rapid.Generator[temper] {
	return rapid.Custom(func(t *rapid.T) temper {
		names := politeness.PresetNames()
		return temper{
			Seed:       rapid.Uint64().Draw(t, "seed"),
			Preset:     rapid.SampledFrom(names).Draw(t, "preset"),
			Merged:     rapid.SampledFrom(append([]string{""}, names...)).Draw(t, "merged"),
			Base:       rapid.SampledFrom([]int{-1, -1, 0, 1, 100, 1000, 45000}).Draw(t, "base"),
			Kind:       rapid.IntRange(0, 3).Draw(t, "kind"),
			Interval:   rapid.IntRange(1, 20000).Draw(t, "interval"),
			Burst:      rapid.IntRange(1, 50).Draw(t, "burst"),
			RetryAfter: rapid.IntRange(0, 4).Draw(t, "retry-after"),
			Latency:    rapid.IntRange(0, 3000).Draw(t, "latency"),
			PerLoad:    rapid.IntRange(0, 500).Draw(t, "per load"),
			FailEvery:  rapid.SampledFrom([]int{0, 0, 1, 3, 20}).Draw(t, "fail every"),
			RefuseRun:  rapid.SampledFrom([]int{0, 0, 5, 1000}).Draw(t, "refuse run"),
			Delay:      rapid.SampledFrom([]int{0, 0, 0, 500, 30000, 300000}).Draw(t, "crawl delay"),
			CrashEvery: rapid.SampledFrom([]int{0, 0, 7, 50}).Draw(t, "crash every"),
			Requests:   rapid.IntRange(20, 150).Draw(t, "requests"),
		}
	})
}

func (tm temper) policy() politeness.Policy {
	p, _ := politeness.Preset(tm.Preset)
	if tm.Merged != "" {
		q, _ := politeness.Preset(tm.Merged)
		p = politeness.Merge(p, q)
	}
	if tm.Base >= 0 {
		p.Base = time.Duration(tm.Base) * time.Millisecond
	}
	return p
}

// serve answers one request.
func (tm temper) serve(rng *rand.Rand, limit sim.Limit, r sim.Request) politeness.Answer {
	latency := time.Duration(tm.Latency+tm.PerLoad*(r.InFlight-1)+rng.IntN(1+tm.Latency/4)) * time.Millisecond
	a := politeness.Answer{Status: http.StatusOK, Latency: latency}
	var wait time.Duration
	if limit != nil {
		wait = limit.Take(r.At)
	}
	if tm.RefuseRun > 0 && r.Number/tm.RefuseRun%3 == 1 {
		wait = max(wait, time.Second)
	}
	switch {
	case wait > 0:
		a.Status = []int{429, 503, 403}[rng.IntN(3)]
		switch tm.RetryAfter {
		case 1:
			a.HasRetryAfter, a.RetryAfter = true, (wait + time.Second - 1).Truncate(time.Second)
		case 2:
			a.HasRetryAfter = true // 0 seconds
		case 3:
			a.HasRetryAfter, a.RetryAfter = true, time.Duration(rng.Int64N(int64(2*time.Hour)))-time.Hour
		case 4:
			a.HasRetryAfter, a.RetryAfter = rng.IntN(50) == 0, time.Duration(rng.Int64())
		}
	case tm.FailEvery > 0 && rng.IntN(tm.FailEvery) == 0:
		a.Status = []int{0, 0, 500, 502, 504}[rng.IntN(5)]
		if a.Status == 0 {
			a.Fault = politeness.Fault(1 + rng.IntN(int(politeness.Ours)))
		}
	default:
		switch rng.IntN(20) {
		case 0:
			a.Status, a.HasRetryAfter, a.RetryAfter = 301, true, time.Hour // meant for one URL
		case 1:
			a.Challenge = true
		}
	}
	return a
}

// run crawls the server and returns a fingerprint of everything that happened.
func (tm temper) run(fail func(format string, args ...any)) string {
	rng := rand.New(rand.NewPCG(tm.Seed, 1))
	var limit sim.Limit
	interval := time.Duration(tm.Interval) * time.Millisecond
	switch tm.Kind {
	case 1:
		limit = &sim.Bucket{Interval: interval, Burst: tm.Burst}
	case 2:
		limit = &sim.Window{Max: tm.Burst, Per: interval * time.Duration(tm.Burst)}
	}
	w := watch(tm.policy(), fail)
	w.delay = time.Duration(tm.Delay) * time.Millisecond
	w.s = w.s.WithCrawlDelay(w.delay)
	type reply struct {
		due time.Time
		a   politeness.Answer
	}
	var replies []reply // parallel to w.flight
	var gaps int64
	for steps := 0; w.sends < tm.Requests; steps++ {
		if steps > 20*tm.Requests+1000 {
			fail("%d requests in %d steps: it starves", w.sends, steps)
			break
		}
		if tm.CrashEvery > 0 && steps%tm.CrashEvery == tm.CrashEvery-1 {
			w.crash()
			replies = nil
		}
		wait := w.admit()
		if wait.Go() {
			a := tm.serve(rng, limit, sim.Request{At: w.now, InFlight: len(w.flight) + 1, Number: w.sends})
			gaps = gaps*31 + int64(w.now.Sub(w.last))
			w.send()
			replies = append(replies, reply{w.now.Add(a.Latency), a})
			continue
		}
		next, which := wait.Until, -1
		for i, r := range replies {
			if next.IsZero() || !r.due.After(next) {
				next, which = r.due, i
			}
		}
		w.now = next
		if which >= 0 {
			a := replies[which].a
			replies = append(replies[:which], replies[which+1:]...)
			w.observe(which, a)
		}
		if steps%16 == 0 {
			w.reload()
		}
	}
	b, err := w.s.MarshalBinary()
	if err != nil {
		fail("%v", err)
	}
	return fmt.Sprintf("%d %x", gaps, b)
}

// randomServers is the number of servers in TestRandomServers; fewer with -short and under the race
// detector, which makes it ten times slower.
func randomServers() int {
	if race.Short() {
		return 1000
	}
	return 10_000
}

// TestRandomServers runs the rules against thousands of random servers. It prints its seed;
// -rapid.seed=N repeats a run.
func TestRandomServers(t *testing.T) {
	setFlag(t, "rapid.checks", strconv.Itoa(randomServers()))
	seed := flag.Lookup("rapid.seed").Value.String()
	if seed == "0" {
		seed = strconv.FormatUint(uint64(time.Now().UnixNano()), 10)
		setFlag(t, "rapid.seed", seed)
	}
	t.Logf("%d random servers, seed %s", randomServers(), seed)
	gen := tempers()
	rapid.Check(t, func(t *rapid.T) {
		tm := gen.Draw(t, "temper")
		first := tm.run(t.Fatalf)
		if again := tm.run(t.Fatalf); again != first {
			t.Fatalf("a replay went differently:\n%s\n%s", first, again)
		}
	})
}

// setFlag sets a flag for one test.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	before := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
}
