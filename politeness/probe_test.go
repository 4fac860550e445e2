package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
)

// slowed returns a host that has learned a pace, with no floor known.
func slowed(t *testing.T, name string, learned time.Duration) *host {
	t.Helper()
	h := newHost(t, steady(t, name))
	h.s = h.s.WithLearned(learned)
	return h
}

func wantChange(t *testing.T, e politeness.Effect, want politeness.Change) {
	t.Helper()
	if !e.Has(want) {
		t.Fatalf("change %b is missing: %q", want, e)
	}
}

func TestProbeGoesHalfway(t *testing.T) {
	h := slowed(t, "polite", 3*time.Second)
	e := h.clean(4)
	h.wantPace(3 * time.Second)
	if e.Has(politeness.Probed) {
		t.Error("probed after four clean answers")
	}
	wantChange(t, h.clean(1), politeness.Probed)
	h.wantPace(2 * time.Second)
	h.clean(5)
	h.wantPace(1500 * time.Millisecond)
	h.clean(5)
	h.wantPace(1250 * time.Millisecond)
	h.clean(5)
	h.wantPace(1125 * time.Millisecond)
	h.clean(5)
	h.wantPace(time.Second) // little is left: all the way
	if e := h.clean(100); e.Has(politeness.Probed) || h.pace() != time.Second {
		t.Errorf("probed below the base: %v", h.pace())
	}
}

func TestProbeByTimeWhileNoneHasFailed(t *testing.T) {
	h := slowed(t, "polite", 20*time.Second)
	h.clean(2)
	h.wantPace(20 * time.Second)
	h.clean(1) // 40 s with three clean answers
	h.wantPace(10500 * time.Millisecond)
	h.ask(after(time.Second)) // fails the probe
	h.wantPace(20 * time.Second)
	h.clean(9)
	h.wantPace(20 * time.Second) // from now on only the number of clean responses counts: 10
	h.clean(1)
	h.wantPace(15250 * time.Millisecond)
}

func TestFailedProbeRevertsAndSetsTheFloor(t *testing.T) {
	h := slowed(t, "polite", 4*time.Second)
	h.clean(5)
	h.wantPace(2500 * time.Millisecond)
	wantChange(t, h.ask(after(time.Second)), politeness.ProbeFailed|politeness.Incident)
	h.wantPace(4 * time.Second)
	if got := h.s.Floor(); got != 2500*time.Millisecond {
		t.Errorf("floor is %v, want 2.5 s", got)
	}

	// A refusal at the restored pace is not a failed probe: it steps.
	wantChange(t, h.ask(after(time.Second)), politeness.Slowed)
	h.wantPace(5 * time.Second)
}

func TestFailedProbeStaysClearOfTheFloor(t *testing.T) {
	p := steady(t, "owned")
	h := newHost(t, p)
	h.s = h.s.WithLearned(90 * time.Millisecond)
	wantChange(t, h.clean(5), politeness.Probed) // little is left: all the way to 0
	h.wantPace(0)
	h.ask(after(time.Second))
	h.wantPace(90 * time.Millisecond) // clear of the floor already

	p = steady(t, "polite")
	h = newHost(t, p)
	h.s = h.s.WithLearned(1040 * time.Millisecond)
	h.clean(5)
	h.wantPace(time.Second)
	h.ask(after(time.Second))
	h.wantPace(1100 * time.Millisecond) // 1.04 s had held, but is too close to distinguish
}

func TestProbeFailsHoweverLate(t *testing.T) {
	h := slowed(t, "polite", 1200*time.Millisecond)
	h.clean(5)
	h.wantPace(time.Second)
	h.clean(700)
	wantChange(t, h.ask(after(time.Second)), politeness.Incident)
	h.clean(1)
	h.wantPace(1021 * time.Millisecond) // a trial: the pace before the probe is slower than 705 clean responses justify
	if got := h.s.Floor(); got != time.Second {
		t.Errorf("floor is %v, want 1 s", got)
	}
}

func TestRefusalSentBeforeTheProbeBlamesTheOldPace(t *testing.T) {
	p := steady(t, "owned")
	h := newHost(t, p)
	h.s = h.s.WithLearned(2 * time.Second)
	h.clean(4) // the fifth is the probe
	first := h.send()
	h.pass(3 * time.Second)
	second := h.send()
	h.pass(10 * time.Millisecond)
	h.observe(first, ok())
	h.wantPace(time.Second)
	wantChange(t, h.observe(second, after(time.Second)), politeness.ProbeFailed)
	h.wantPace(2200 * time.Millisecond)
	if h.s.Floor() != 2*time.Second {
		t.Errorf("floor is %v, want the 2 s at which the request left", h.s.Floor())
	}
}

func TestNeedDoubles(t *testing.T) {
	h := slowed(t, "owned", 40*time.Second)
	h.clean(5)
	for _, want := range []int{10, 20, 40} {
		h.ask(after(time.Second)) // fails the probe
		need := 1
		for !h.clean(1).Has(politeness.Probed) {
			need++
			if need > 100 {
				t.Fatal("no probe any more")
			}
		}
		if need != want {
			t.Errorf("probed after %d clean answers, want %d", need, want)
		}
	}
}

func TestLateRefusalQuadruplesTheNeed(t *testing.T) {
	for name, c := range map[string]struct{ held, need int }{
		"refused at once":                  {0, 10},
		"refused after less than 10 clean": {9, 3*14 + 1}, // the end of the trial
		"refused after 10 clean":           {10, 3*15 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := slowed(t, "polite", 1200*time.Millisecond)
			h.clean(5) // tries the base, the shortest pace
			h.clean(c.held)
			h.ask(after(time.Second))
			h.ask(after(time.Second)) // steps: room for a probe
			n := 1
			for !h.clean(1).Has(politeness.Probed) {
				n++
			}
			if n != c.need {
				t.Errorf("next probe after %d clean answers, want %d", n, c.need)
			}
		})
	}
}

func TestNoProbeCloseToTheFloor(t *testing.T) {
	for name, c := range map[string]struct{ base, learned, floor, settled time.Duration }{
		"a tenth":          {time.Second, 10 * time.Second, 5500 * time.Millisecond, 10 * time.Second},
		"fifty ms at most": {100 * time.Millisecond, 180 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := steady(t, "polite")
			p.Base = c.base
			h := newHost(t, p)
			h.s = h.s.WithLearned(c.learned)
			h.clean(5)
			h.ask(after(time.Second))
			if h.s.Floor() != c.floor {
				t.Fatalf("floor is %v, want %v", h.s.Floor(), c.floor)
			}
			h.clean(6000)
			margin := max(50*time.Millisecond, h.s.Floor()/10)
			if got := h.pace() - h.s.Floor(); got > margin || got < margin/2 {
				t.Errorf("settled %v above the floor, want within %v and not below it", got, margin)
			}
			if e := h.clean(6000); e.Has(politeness.Probed) {
				t.Error("probes on")
			}
		})
	}
}

func TestFirstRequestsAfterAProbeGoAlone(t *testing.T) {
	p := steady(t, "map")
	h := newHost(t, p)
	h.clean(200) // the cap has grown
	h.s = h.s.WithLearned(3 * time.Second)
	for !h.clean(1).Has(politeness.Probed) {
	}
	for i := range 3 {
		sent := h.send()
		h.pass(2 * time.Second)
		if w := h.p.Admit(h.s, h.now); w.Reason != politeness.InFlight {
			t.Errorf("request %d after the probe has company: %q", i+1, w.Reason)
		}
		h.observe(sent, ok())
	}
	h.send()
	h.pass(2 * time.Second)
	if w := h.p.Admit(h.s, h.now); !w.Go() {
		t.Errorf("the fourth goes alone as well: %q", w.Reason)
	}
}

// floored returns a polite host settled just above a floor of 3 s.
func floored(t *testing.T) *host {
	t.Helper()
	h := slowed(t, "polite", 5*time.Second)
	h.clean(5)
	h.ask(after(time.Second))
	if h.s.Floor() != 3*time.Second {
		t.Fatalf("floor is %v, want 3 s", h.s.Floor())
	}
	h.clean(10 + 10 + 10 + 10)
	if h.pace() != 3300*time.Millisecond {
		t.Fatalf("settled at %v, want 3.3 s", h.pace())
	}
	return h
}

func TestFloorIsTrustedForADay(t *testing.T) {
	h := floored(t)
	settled := h.pace()
	for h.now.Sub(h.s.LastIncident()) < 24*time.Hour-time.Hour {
		h.clean(1)
		h.pass(10 * time.Minute)
	}
	h.wantPace(settled)

	// Then one probe a day may test it: halfway between base and floor.
	h.pass(2 * time.Hour)
	wantChange(t, h.clean(1), politeness.Probed)
	h.wantPace(2 * time.Second)
}

func TestFloorTestThatHoldsLowersIt(t *testing.T) {
	h := floored(t)
	h.pass(25 * time.Hour)
	h.clean(1)
	h.wantPace(2 * time.Second)
	h.clean(5)
	if h.s.Floor() != 2*time.Second {
		t.Errorf("floor is %v, want 2 s, the pace that held", h.s.Floor())
	}
	h.clean(6000)
	h.wantPace(2 * time.Second) // until tomorrow
	h.pass(25 * time.Hour)
	h.clean(1)
	h.wantPace(1500 * time.Millisecond)
}

func TestFloorTestThatFailsRenewsIt(t *testing.T) {
	h := floored(t)
	settled := h.pace()
	h.pass(25 * time.Hour)
	h.clean(1)
	wantChange(t, h.ask(after(time.Second)), politeness.ProbeFailed)
	h.wantPace(settled)
	if h.s.Floor() != 3*time.Second {
		t.Errorf("floor is %v, want 3 s as before", h.s.Floor())
	}
	h.pass(23 * time.Hour)
	h.clean(10)
	h.wantPace(settled) // one probe a day
}

func TestFloorIsGoneAfterAWeek(t *testing.T) {
	h := floored(t)
	h.pass(7 * 24 * time.Hour)
	wantChange(t, h.clean(1), politeness.Probed)
	if h.s.Floor() != 0 {
		t.Fatalf("floor is still %v", h.s.Floor())
	}
	h.clean(40)
	h.wantPace(time.Second) // five clean responses per probe, as at first
}

func TestSlowPaceOfAPoisonedHostDecays(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	for range 20 {
		h.ask(answer(http.StatusServiceUnavailable)) // an hour of maintenance
	}
	h.wantPace(time.Minute)
	h.wait()
	start := h.now
	for h.pace() > 2*time.Second {
		h.clean(1)
	}
	if took := h.now.Sub(start); took > 8*time.Minute {
		t.Errorf("back to 2 s after %v of clean answers", took)
	}
}
