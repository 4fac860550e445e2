package politeness_test

import (
	"testing"
	"time"

	"headway/politeness"
)

// refused is a refusal of a URL that was refused before times before.
func refused(before int) politeness.Answer {
	a := answer(503)
	a.Tries.Refusals = uint8(before)
	return a
}

// TestNoiseIsFound refuses at random: after three doubts the pace is restored, a sentence reports
// it, and further refusals cause a hold but do not slow the pace.
func TestNoiseIsFound(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	var e politeness.Effect
	for _, gap := range []int{100, 90, 80, 70} {
		h.clean(gap)
		e = h.ask(refused(0))
	}
	wantChange(t, e, politeness.Noise)
	h.wantPace(time.Second)
	if want := "refusals do not depend on our pace: 1.2 % at 1.0 s and at 1.2 s"; h.s.NoiseSentence() != want {
		t.Errorf("said %q, want %q", h.s.NoiseSentence(), want)
	}
	h.clean(20)
	if e = h.ask(refused(0)); e.Has(politeness.Incident) || h.held() != 5*time.Second || e.Charge() != politeness.ChargeRefusal {
		t.Errorf("with noise known a refusal did %q and is held for %v", e, h.held())
	}
	h.wantPace(time.Second)
	h.clean(1)
	wantChange(t, h.ask(after(time.Second)), politeness.Incident) // the noise did not include 429
	h.pass(8 * 24 * time.Hour)
	h.clean(1)
	if h.s.NoiseSentence() != "" {
		t.Error("noise is still known after a week")
	}
}

// TestOwnHoldCountsLittle: a hold chosen by us counts for few requests: 5 s is long at 50 ms.
func TestOwnHoldCountsLittle(t *testing.T) {
	p := steady(t, "polite")
	p.Base = 50 * time.Millisecond
	for _, gap := range []int{1, 4, 7, 8, 20} {
		h := newHost(t, p)
		h.clean(gap)
		h.ask(refused(0))
		h.clean(1)
		if most := 50*time.Millisecond + 6*50*time.Millisecond/time.Duration(gap) + 10*time.Millisecond; h.pace() > most {
			t.Errorf("after %d clean answers and a refusal the pace is %v, want %v at most", gap, h.pace(), most)
		}
	}
}

// TestURLRefusedAgainRestoresThePace: the pace is restored when the refused URL is refused again while
// others are served.
func TestURLRefusedAgainRestoresThePace(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(20)
	h.ask(refused(0))
	h.clean(10)
	if h.pace() == time.Second {
		t.Fatal("the first refusal has not slowed anything")
	}
	e := h.ask(refused(1))
	if e.Charge() != politeness.ChargeRefusal || !e.Has(politeness.Relieved) || h.held() != 0 {
		t.Errorf("refused again: %q, held for %v", e, h.held())
	}
	h.wantPace(time.Second)
}

// TestLastURLHoldsTheHostBriefly: a URL that concerns only itself is charged, with no step and the shortest hold,
// and with none after its last try.
func TestLastURLHoldsTheHostBriefly(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(20)
	h.ask(refused(0))
	for before := 1; before <= 3; before++ {
		if e := h.ask(refused(before)); e.Charge() != politeness.ChargeRefusal {
			t.Errorf("try %d is not charged", before+1)
		}
		want := 5 * time.Second
		if before == 3 {
			want = 0
		}
		if h.held() != want {
			t.Errorf("held for %v after try %d, want %v", h.held(), before+1, want)
		}
	}
	h.wantPace(time.Second)

	// If another URL was refused too, the host refuses.
	h = newHost(t, steady(t, "polite"))
	h.clean(20)
	h.ask(refused(0))
	h.ask(refused(0))
	if e := h.ask(refused(1)); e.Charge() != politeness.ChargeNothing || h.held() != 20*time.Second {
		t.Errorf("charged %v, held for %v", e.Charge(), h.held())
	}
}

// TestLastURLOfASlowHostIsCharged: slow responses are responses. Right after an incident caused by them a refused
// URL is charged as it is after fast ones; not if something failed in between, or another URL is refused too.
func TestLastURLOfASlowHostIsCharged(t *testing.T) {
	slow := func() *host {
		h := newHost(t, steady(t, "owned"))
		respond(h, 10, 100*time.Millisecond)
		wantChange(t, respond(h, 20, time.Minute/2), politeness.Incident)
		h.pass(time.Second)
		return h
	}
	h := slow()
	for before := range 4 {
		if e := h.ask(refused(before)); e.Charge() != politeness.ChargeRefusal {
			t.Errorf("try %d is not charged", before+1)
		}
	}
	if h.held() != 0 {
		t.Errorf("held for %v after the last try", h.held())
	}

	for what, happens := range map[string]func(){
		"a failure":   func() { h.ask(answer(504)) },
		"another URL": func() { h.ask(refused(0)) },
	} {
		h = slow()
		happens()
		h.ask(refused(0))
		if e := h.ask(refused(1)); e.Charge() != politeness.ChargeNothing {
			t.Errorf("after %s charged %v", what, e.Charge())
		}
	}
}

// TestOnlyURLOfANewHostIsNotCharged: a host that has served next to nothing is waited for; its only URL is not
// charged.
func TestOnlyURLOfANewHostIsNotCharged(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(2)
	h.ask(refused(0))
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second} {
		if e := h.ask(refused(1)); e.Charge() != politeness.ChargeNothing || h.held() != want {
			t.Errorf("charged %v, held for %v, want %v", e.Charge(), h.held(), want)
		}
	}
}

// TestQuotaOnlySetsAHold: a Retry-After of half an hour only sets a hold.
func TestQuotaOnlySetsAHold(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(3)
	h.ask(after(30 * time.Minute))
	h.wantPace(time.Second)
	h.ask(after(30 * time.Minute))
	h.wantPace(time.Second)
}
