package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
)

func TestCircuitOpensAfterTenFailuresInARow(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	for range 9 {
		h.ask(fault(politeness.Connect))
	}
	h.ask(ok())
	if h.s.Failures() != 0 {
		t.Error("a success does not end the row")
	}
	for n := 1; n <= 10; n++ {
		e := h.ask(fault(politeness.Connect))
		if e.Has(politeness.CircuitOpened) != (n == 10) || h.s.CircuitOpen() != (n == 10) {
			t.Fatalf("failure %d: %q", n, e)
		}
		if e.Charge() != politeness.ChargeFailure {
			t.Errorf("failure %d is not charged", n)
		}
	}
	// One half-open request per backoff.
	held := h.held()
	sent := h.send()
	if held != 1024*time.Second || h.held() != 0 {
		t.Errorf("held for %v, want 2^10 s", held)
	}
	h.pass(time.Hour)
	if w := h.p.Admit(h.s, h.now); w.Reason != politeness.InFlight {
		t.Errorf("beside the half-open request Admit says %q", w.Reason)
	}
	if e := h.observe(sent, ok()); !e.Has(politeness.CircuitClosed) || h.s.CircuitOpen() {
		t.Errorf("the half-open request was served: %q", e)
	}
	h.ask(fault(politeness.Connect))
	if got := h.held(); got != 2*time.Second {
		t.Errorf("after recovery held for %v, want 2 s", got)
	}
}

func TestRefusalsAndClientErrorsNeverCountAsFailures(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	for range 30 {
		h.ask(answer(http.StatusTooManyRequests))
		h.ask(answer(http.StatusNotFound))
		h.ask(answer(http.StatusForbidden))
	}
	if h.s.Failures() != 0 || h.s.CircuitOpen() {
		t.Errorf("%d failures in a row, want none", h.s.Failures())
	}
}

// TestBrokenConnectionIsOneFailure breaks a connection with 100 requests: the backoff starts once
// and does not multiply, and no job gives the host up.
func TestBrokenConnectionIsOneFailure(t *testing.T) {
	h, sent := flight(t, 100)
	job := politeness.NewTenure(h.now)
	for _, at := range sent {
		job = job.Observe(h.observe(at, fault(politeness.Connect)))
	}
	if got := h.held(); got != 2*time.Second {
		t.Errorf("held for %v, want one backoff of 2 s", got)
	}
	if !h.s.CircuitOpen() {
		t.Error("ten failures in a row did not open the circuit")
	}
	if got := h.p.Park(h.s, job, h.now, time.Hour); got != politeness.NotParked {
		t.Error("the host is given up for one broken connection")
	}
	if e := h.ask(ok()); !e.Has(politeness.CircuitClosed) {
		t.Errorf("the half-open request was served: %q", e)
	}
}

func TestAnswerFromBeforeTheCircuitOpenedDoesNotCloseIt(t *testing.T) {
	h, sent := flight(t, 16)
	for _, at := range sent[:15] {
		h.observe(at, fault(politeness.Connect))
	}
	h.pass(time.Second)
	h.observe(sent[15], ok())
	if !h.s.CircuitOpen() {
		t.Error("an old answer closed the circuit")
	}
}

func TestRetryAfterOfAServerErrorHoldsTheHost(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	a := answer(http.StatusInternalServerError)
	a.HasRetryAfter, a.RetryAfter = true, time.Minute
	h.ask(a)
	if got := h.held(); got != time.Minute {
		t.Errorf("held for %v, want the later of 2 s and the minute asked for", got)
	}
	h.wantPace(time.Second)
}

func TestClearFailures(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(3)
	for range 12 {
		h.ask(fault(politeness.Timeout))
	}
	h.s = h.p.ClearFailures(h.s)
	if h.s.Failures() != 0 || h.s.CircuitOpen() || h.held() != 0 {
		t.Error("failures remain after a pardon")
	}
	h.ask(after(time.Minute))
	h.s = h.p.ClearFailures(h.s)
	if h.held() != time.Minute {
		t.Error("a pardon lifts a hold the host asked for")
	}
}

func TestPatience(t *testing.T) {
	const patience = 10 * time.Minute
	for name, c := range map[string]struct {
		answers []politeness.Answer
		after   time.Duration // the job starts this long after the answers
		later   time.Duration // and checks this long after that
		want    politeness.Parking
	}{
		"a host that serves":                    {nil, 0, time.Hour, politeness.NotParked},
		"a hold within patience":                {[]politeness.Answer{after(9 * time.Minute)}, 0, 0, politeness.NotParked},
		"a hold that ends exactly in time":      {[]politeness.Answer{after(patience)}, 0, 0, politeness.NotParked},
		"a hold that ends too late":             {[]politeness.Answer{after(patience + time.Second)}, 0, 0, politeness.ParkedByPatience},
		"refusing for too long":                 {[]politeness.Answer{after(time.Minute)}, 0, 11 * time.Minute, politeness.ParkedByPatience},
		"a job that came later waits its own":   {[]politeness.Answer{after(15 * time.Minute)}, 6 * time.Minute, 0, politeness.NotParked},
		"failing for too long":                  {[]politeness.Answer{fault(politeness.DNS)}, 0, 11 * time.Minute, politeness.ParkedByPatience},
		"served again":                          {[]politeness.Answer{after(time.Second), ok()}, 0, time.Hour, politeness.NotParked},
		"403 with Retry-After is a hold, too":   {[]politeness.Answer{{Status: 403, HasRetryAfter: true, RetryAfter: time.Hour}}, 0, 0, politeness.ParkedByPatience},
		"not found is an answer like any other": {[]politeness.Answer{answer(404)}, 0, time.Hour, politeness.NotParked},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, steady(t, "polite"))
			job := politeness.NewTenure(h.now)
			for _, a := range c.answers {
				job = job.Observe(h.ask(a))
			}
			if c.after > 0 {
				h.pass(c.after)
				job = politeness.NewTenure(h.now)
			}
			h.pass(c.later)
			if got := h.p.Park(h.s, job, h.now, patience); got != c.want {
				t.Errorf("parking is %v, want %v", got, c.want)
			}
		})
	}
}

func TestRetriesPerURL(t *testing.T) {
	p := steady(t, "polite")
	for name, c := range map[string]struct {
		charges []politeness.Charge
		want    bool
	}{
		"none":                    {nil, true},
		"three refusals":          {[]politeness.Charge{1, 1, 1}, true},
		"four refusals":           {[]politeness.Charge{1, 1, 1, 1}, false},
		"two failures":            {[]politeness.Charge{2, 2}, true},
		"three failures":          {[]politeness.Charge{2, 2, 2}, false},
		"they count apart":        {[]politeness.Charge{1, 2, 1, 2, 1}, true},
		"what is free stays free": {make([]politeness.Charge, 1000), true},
	} {
		var tries politeness.Tries
		for _, charge := range c.charges {
			tries = tries.Add(charge)
		}
		if got := p.Retries(tries); got != c.want {
			t.Errorf("%s: retried %v, want %v", name, got, c.want)
		}
	}
}
