package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// flight puts n requests in flight: base 0, and a cap that has grown.
func flight(t *testing.T, n int) (h *host, sent []time.Time) {
	t.Helper()
	p := steady(t, "owned")
	h = newHost(t, p)
	for p.Cap(h.s) < n {
		h.clean(1)
	}
	for range n {
		sent = append(sent, h.send())
	}
	return h, sent
}

func TestEightConcurrentRefusalsAreOneStep(t *testing.T) {
	h, sent := flight(t, 8)
	charged := 0
	for i, at := range sent {
		h.pass(10 * time.Millisecond)
		e := h.observe(at, answer(http.StatusTooManyRequests))
		if e.Charge() == politeness.ChargeRefusal {
			charged++
		}
		if first := i == 0; e.Has(politeness.Incident) != first || e.Has(politeness.Joined) == first {
			t.Errorf("refusal %d: %q", i, e)
		}
	}
	h.wantPace(37 * time.Millisecond)
	if charged != 1 {
		t.Errorf("%d URLs were charged with a retry, want the one that opened the incident", charged)
	}
	if got := h.s.HeldUntil().Sub(sent[0]); got != 2*time.Second+10*time.Millisecond {
		t.Errorf("held for %v after the requests, want one backoff of 2 s from the first refusal", got)
	}
}

func TestLateRefusalLengthensTheHoldAndNothingElse(t *testing.T) {
	h, sent := flight(t, 2)
	h.observe(sent[0], after(time.Second))
	before := h.s
	e := h.observe(sent[1], after(30*time.Second))
	if !e.Has(politeness.Joined|politeness.Held) || e.Has(politeness.Incident) {
		t.Errorf("second refusal: %q", e)
	}
	if got := h.held(); got != 30*time.Second {
		t.Errorf("held for %v, want the longer Retry-After of 30 s", got)
	}
	if h.s.Learned() != before.Learned() || e.Charge() != politeness.ChargeNothing {
		t.Errorf("a joined refusal changed the pace to %v or cost a retry", h.s.Learned())
	}
	// A shorter one later does not shorten it.
	h, sent = flight(t, 3)
	h.observe(sent[0], after(30*time.Second))
	h.observe(sent[1], after(time.Second))
	h.observe(sent[2], answer(http.StatusServiceUnavailable))
	if got := h.held(); got != 30*time.Second {
		t.Errorf("held for %v, want 30 s", got)
	}
}

func TestSuccessSentBeforeTheIncidentDoesNotCount(t *testing.T) {
	h, sent := flight(t, 8)
	h.observe(sent[0], answer(http.StatusTooManyRequests))
	for _, at := range sent[1:] {
		if e := h.observe(at, ok()); e.Clean() || e.Has(politeness.Welcomed) {
			t.Errorf("a request sent before the incident counts as success: %q", e)
		}
	}
	if !h.s.Refusing() || h.s.CleanStreak() != 0 {
		t.Error("the host counts as welcoming before a canary was served")
	}
}

func TestStepDoublesUntilCleanAnswers(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	want := 1 * time.Second
	for _, step := range []int{1, 2, 4, 8, 16, 32} {
		h.ask(after(time.Second))
		h.clean(1) // the canary is served, but not enough clean answers follow
		want = min(want+time.Duration(step)*time.Second, time.Minute)
		h.wantPace(want)
	}
	h.ask(after(time.Second))
	h.wantPace(time.Minute) // the cap

	h = newHost(t, steady(t, "polite"))
	h.ask(after(time.Second))
	h.wantPace(2 * time.Second)
	h.clean(4)
	h.ask(after(time.Second))
	h.wantPace(4 * time.Second) // four clean answers are not five
}

func TestStepStartsSmallAfterFiveCleanAnswers(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	for range 3 {
		h.ask(after(time.Second))
	}
	h.wantPace(8 * time.Second)
	h.s = h.s.WithLearned(10 * time.Second)
	for range 5 {
		h.clean(1)
		h.s = h.s.WithLearned(10 * time.Second) // keep it from probing
	}
	h.ask(after(time.Second))
	h.wantPace(11 * time.Second)
}

func TestMaximumPace(t *testing.T) {
	for name, c := range map[string]struct {
		base, delay, want time.Duration
	}{
		"60 s":                       {time.Second, 0, time.Minute},
		"crawl-delay below 30 s":     {time.Second, 20 * time.Second, time.Minute},
		"twice a long crawl-delay":   {time.Second, 300 * time.Second, 600 * time.Second},
		"twice a base above 30 s":    {45 * time.Second, 0, 90 * time.Second},
		"never more than twice both": {45 * time.Second, 50 * time.Second, 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := steady(t, "polite")
			p.Base = c.base
			h := newHost(t, p)
			h.s = h.s.WithCrawlDelay(c.delay)
			for range 24 {
				h.ask(answer(http.StatusTooManyRequests))
			}
			h.wantPace(c.want)
		})
	}
}

func TestMaximumPaceFollowsTheCrawlDelay(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.s = h.s.WithCrawlDelay(300 * time.Second)
	for range 24 {
		h.ask(answer(http.StatusTooManyRequests))
	}
	h.wantPace(600 * time.Second)
	h.s = h.s.WithCrawlDelay(0)
	h.ask(answer(http.StatusNotFound))
	h.wantPace(time.Minute)
}

func TestOverloadWithoutRefusalSlows(t *testing.T) {
	for name, a := range map[string]politeness.Answer{
		"502":     answer(http.StatusBadGateway),
		"504":     answer(http.StatusGatewayTimeout),
		"reset":   fault(politeness.Reset),
		"timeout": fault(politeness.Timeout),
	} {
		t.Run(name, func(t *testing.T) {
			h, sent := flight(t, 8)
			var incidents int
			for i, at := range sent {
				reply := ok()
				if i%2 == 1 {
					reply = a
				}
				if e := h.observe(at, reply); e.Has(politeness.Incident) {
					incidents++
					if i != 5 {
						t.Errorf("incident at answer %d, want the third of the overloaded", i)
					}
				}
			}
			if incidents != 1 {
				t.Fatalf("%d incidents, want 1", incidents)
			}
			h.wantPace(time.Second)
			if h.s.Refusing() {
				t.Error("an overloaded host does not refuse")
			}
		})
	}
}

func TestOverloadNeedsLoad(t *testing.T) {
	cases := map[string]struct {
		a      politeness.Answer
		before int // clean answers
	}{
		"a host that is down":          {answer(http.StatusBadGateway), 0},
		"broken pages at a known pace": {answer(http.StatusBadGateway), 20},
		"500 is no sign of overload":   {answer(http.StatusInternalServerError), 2},
		"a name that does not resolve": {fault(politeness.DNS), 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, steady(t, "polite"))
			h.clean(c.before)
			for range 9 {
				if e := h.ask(c.a); e.Has(politeness.Incident) {
					t.Fatalf("counts as pushing back: %q", e)
				}
			}
			h.wantPace(time.Second)
		})
	}
}

// TestGatewayUnderRateSlows has a server that never sends 429: above two requests per second its
// gateway fails.
func TestGatewayUnderRateSlows(t *testing.T) {
	p := steady(t, "polite")
	p.Base = 100 * time.Millisecond
	limit := &sim.Bucket{Interval: 500 * time.Millisecond, Burst: 2}
	c := sim.Crawl{
		Policy: p, State: politeness.New("host"), Pages: 500,
		Server: sim.ServerFunc(func(r sim.Request) politeness.Answer {
			if limit.Take(r.At) > 0 {
				return politeness.Answer{Status: http.StatusBadGateway, Latency: 50 * time.Millisecond}
			}
			return sim.OK(50 * time.Millisecond)
		}),
	}
	var bad, lateBad int
	c.Trace = func(e sim.Event) {
		if e.Answer.Status == http.StatusBadGateway {
			bad++
			if e.Pages > 250 {
				lateBad++
			}
		}
	}
	r := c.Run()
	if pace := p.Pace(r.State); pace < 450*time.Millisecond || pace > 700*time.Millisecond {
		t.Errorf("settled at %v, want about 500 ms", pace)
	}
	if lateBad > 2 || r.GivenUp > 0 {
		t.Errorf("%d answers 502, %d of them in the second half, %d URLs given up", bad, lateBad, r.GivenUp)
	}
}

func TestChallengeIsNeitherGoodNorBad(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.ask(after(time.Second))
	a := ok()
	a.Challenge = true
	before := h.pace()
	for range 40 {
		if e := h.ask(a); e.Clean() || e.Has(politeness.Probed) || e.Charge() != politeness.ChargeNothing {
			t.Fatalf("a challenge page changed something: %q", e)
		}
	}
	h.wantPace(before)
}

func TestOurOwnFaultChargesNobody(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(3)
	before := h.s
	for range 30 {
		if e := h.ask(fault(politeness.Ours)); e.Charge() != politeness.ChargeNothing || e.String() != "" {
			t.Fatalf("our own fault changed something: %q", e)
		}
	}
	if h.s.Failures() != 0 || h.s.Learned() != before.Learned() || h.held() != 0 || h.s.InFlight() != 0 {
		t.Error("our own fault was charged to the host")
	}
}
