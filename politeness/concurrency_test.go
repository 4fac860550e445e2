package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
)

func TestInFlightDoublesPerCleanRound(t *testing.T) {
	p := steady(t, "owned")
	h := newHost(t, p)
	for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 256} {
		if got := p.Cap(h.s); got != want {
			t.Fatalf("cap is %d, want %d", got, want)
		}
		h.clean(want)
	}
}

func TestInFlightHalvesAtAnIncidentThenGrowsByOne(t *testing.T) {
	p := steady(t, "owned")
	h := newHost(t, p)
	h.clean(1 + 2 + 4 + 8)
	h.ask(after(time.Second))
	if got := p.Cap(h.s); got != 1 {
		t.Errorf("cap is %d while the host refuses, want the canary alone", got)
	}
	h.clean(1)
	if got := p.Cap(h.s); got != 8 {
		t.Fatalf("cap is %d after the incident, want half of 16", got)
	}
	h.clean(3) // a probe among them sends one at a time for a while
	h.clean(4)
	for want := 9; want <= 12; want++ {
		for n := 0; p.Cap(h.s) != want; n++ {
			if h.clean(1); n > 2*want {
				t.Fatalf("cap is %d after %d answers, want %d", p.Cap(h.s), n, want)
			}
		}
	}
}

func TestInFlightIsOneWithCrawlDelay(t *testing.T) {
	p := steady(t, "map")
	h := newHost(t, p)
	h.clean(300)
	h.s = h.s.WithCrawlDelay(time.Second)
	if got := p.Cap(h.s); got != 1 {
		t.Errorf("cap is %d with a Crawl-delay, want 1", got)
	}
	if got := p.Cap(h.s.WithCrawlDelay(0)); got != 150 {
		t.Errorf("cap is %d after the Crawl-delay is gone, want 150", got)
	}
}

func TestInFlightNeverExceedsTheStricterPolicy(t *testing.T) {
	loose := steady(t, "owned")
	h := newHost(t, loose)
	h.clean(1000)
	strict := politeness.Merge(loose, steady(t, "polite"))
	if got := strict.Cap(h.s); got != 2 {
		t.Errorf("cap is %d with a polite job on the host, want 2", got)
	}
}

// respond answers n requests with a response time.
func respond(h *host, n int, latency time.Duration) (e politeness.Effect) {
	for range n {
		a := ok()
		a.Latency = latency
		e = h.ask(a)
		if e.Has(politeness.Incident) {
			break
		}
	}
	return e
}

func TestInFlightStopsGrowingWhenResponsesSlowDown(t *testing.T) {
	p := steady(t, "owned")
	h := newHost(t, p)
	respond(h, 1+2+4+8, 100*time.Millisecond)
	if got := p.Cap(h.s); got != 16 {
		t.Fatalf("cap is %d, want 16", got)
	}
	respond(h, 200, 200*time.Millisecond) // twice the baseline: no incident, no growth
	if got := p.Cap(h.s); got > 16 {
		t.Errorf("cap grew to %d though responses take twice as long", got)
	}
	respond(h, 5, 100*time.Millisecond)
	before := p.Cap(h.s)
	respond(h, 2*before, 100*time.Millisecond)
	if got := p.Cap(h.s); got > before+2 || got == before {
		t.Errorf("cap went from %d to %d in two rounds, want growth by one", before, got)
	}
}

func TestRisingResponseTimesAreAnIncident(t *testing.T) {
	for name, c := range map[string]struct {
		preset string
		slow   time.Duration
		want   bool
	}{
		"polite, 3x":                {"polite", 300 * time.Millisecond, true},
		"polite, less than 3x":      {"polite", 299 * time.Millisecond, false},
		"warm, 1.5x":                {"warm", 150 * time.Millisecond, true},
		"warm, less than 1.5x":      {"warm", 149 * time.Millisecond, false},
		"noise on a fast host":      {"warm", 74 * time.Millisecond, false},
		"a fast host getting slow":  {"warm", 75 * time.Millisecond, true},
		"a single slow answer of 5": {"polite", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, steady(t, c.preset))
			base := 100 * time.Millisecond
			if name == "noise on a fast host" || name == "a fast host getting slow" {
				base = 20 * time.Millisecond
			}
			respond(h, 10, base)
			before := h.pace()
			var e politeness.Effect
			if c.slow == 0 {
				for range 10 {
					respond(h, 3, base)
					e = respond(h, 2, 10*time.Second)
				}
			} else {
				e = respond(h, 5, c.slow)
			}
			if e.Has(politeness.Incident) != c.want {
				t.Fatalf("incident %v, want %v: %q", !c.want, c.want, e)
			}
			if c.want {
				h.wantPace(before + time.Second)
				if h.s.Refusing() || e.Charge() != politeness.ChargeNothing {
					t.Error("a slow answer is no refusal")
				}
			}
		})
	}
}

// TestWarmingSlowsWithTheOrigin warms an origin whose response time follows the rate: the
// crawl must find a pace that does not overload it.
func TestWarmingSlowsWithTheOrigin(t *testing.T) {
	p := steady(t, "warm")
	h := newHost(t, p)
	h.clean(5) // while the origin is idle: 50 ms
	var last time.Time
	slowest := time.Duration(0)
	for range 400 {
		sent := h.send()
		gap := sent.Sub(last)
		last = sent
		// Faster than one request in 1.2 s the origin falls behind.
		latency := 50 * time.Millisecond
		if gap < 1200*time.Millisecond {
			latency = 400 * time.Millisecond
		}
		h.pass(latency)
		a := ok()
		a.Latency = latency
		h.observe(sent, a)
		slowest = max(slowest, h.pace())
	}
	if slowest < 1200*time.Millisecond {
		t.Errorf("never slower than %v", slowest)
	}
	if got := h.pace(); got < 1100*time.Millisecond || got > 2*time.Second {
		t.Errorf("settled at %v, want just above 1.2 s", got)
	}
}

// TestHostThatIsSlowByItself has a host whose response time does not depend on us: slowing down
// does not help, so it must not slow us forever.
func TestHostThatIsSlowByItself(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	respond(h, 10, 100*time.Millisecond)
	for range 60 {
		respond(h, 5, time.Second)
	}
	if got := h.pace(); got > 2*time.Second {
		t.Errorf("pace is %v, want it to recover once slowing down has not helped", got)
	}
}

func TestBaselineIsThatOfTheLastDay(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	respond(h, 5, 100*time.Millisecond)
	h.pass(25 * time.Hour)
	if e := respond(h, 5, time.Second); e.Has(politeness.Incident) {
		t.Errorf("compared with the day before: %q", e)
	}
	if e := respond(h, 5, 3*time.Second); !e.Has(politeness.Incident) {
		t.Error("not compared with the new baseline")
	}
}

func TestRefusalsDoNotLowerTheBaseline(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	for range 10 {
		a := answer(http.StatusTooManyRequests)
		a.Latency = time.Millisecond // refusals are fast
		h.ask(a)
	}
	if e := respond(h, 10, 200*time.Millisecond); e.Has(politeness.Incident) {
		t.Errorf("ordinary answers compared with refusals: %q", e)
	}
}

func TestBaselineIsForgottenByHalves(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	respond(h, 5, 100*time.Millisecond)
	h.pass(13 * time.Hour)
	respond(h, 10, 200*time.Millisecond) // twice the baseline is no incident
	h.pass(11*time.Hour + 50*time.Minute)
	// The first half is a day old and dropped: 200 ms is the baseline.
	if e := respond(h, 5, 350*time.Millisecond); e.Has(politeness.Incident) {
		t.Errorf("compared with what is a day old: %q", e)
	}
	if e := respond(h, 5, 600*time.Millisecond); !e.Has(politeness.Incident) {
		t.Error("not compared with what is half a day old")
	}
}
