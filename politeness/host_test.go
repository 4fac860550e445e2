package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// host is one host under test: a policy, a state and a clock that the test controls.
type host struct {
	t testing.TB
	p politeness.Policy
	s politeness.State

	now time.Time
}

func newHost(t testing.TB, p politeness.Policy) *host {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return &host{t: t, p: p, s: politeness.New("http://host.example"), now: sim.Epoch}
}

func (h *host) pass(d time.Duration) { h.now = h.now.Add(d) }

// wait advances the clock to when a request may be sent.
func (h *host) wait() {
	h.t.Helper()
	for {
		w := h.p.Admit(h.s, h.now)
		if w.Go() {
			return
		}
		if !w.Until.After(h.now) {
			h.t.Fatalf("waiting for %v with nothing to wait for", w.Reason)
		}
		h.now = w.Until
	}
}

// send waits until a request may be sent, sends it and returns the time.
func (h *host) send() time.Time {
	h.t.Helper()
	h.wait()
	h.s = h.p.Sent(h.s, h.now)
	return h.now
}

// observe reports an answer to the request sent at sent.
func (h *host) observe(sent time.Time, a politeness.Answer) politeness.Effect {
	a.SentAt = sent
	var e politeness.Effect
	h.s, e = h.p.Observe(h.s, h.now, a)
	return e
}

// ask sends a request that is answered 50 ms later.
func (h *host) ask(a politeness.Answer) politeness.Effect {
	h.t.Helper()
	sent := h.send()
	h.pass(50 * time.Millisecond)
	return h.observe(sent, a)
}

// clean sends n requests with clean responses, and returns the effect of the last.
func (h *host) clean(n int) (e politeness.Effect) {
	h.t.Helper()
	for range n {
		if e = h.ask(ok()); !e.Clean() {
			h.t.Fatalf("answer 200 is not clean")
		}
	}
	return e
}

func (h *host) pace() time.Duration { return h.p.Pace(h.s) }

func (h *host) wantPace(want time.Duration) {
	h.t.Helper()
	if got := h.pace(); got != want {
		h.t.Fatalf("pace is %v, want %v", got, want)
	}
}

// held is how long the host is still held.
func (h *host) held() time.Duration {
	if until := h.s.HeldUntil(); until.After(h.now) {
		return until.Sub(h.now)
	}
	return 0
}

func ok() politeness.Answer { return answer(http.StatusOK) }

func answer(status int) politeness.Answer {
	return politeness.Answer{Status: status, Latency: 50 * time.Millisecond}
}

func fault(f politeness.Fault) politeness.Answer { return politeness.Answer{Fault: f} }

// after is a refusal with Retry-After.
func after(d time.Duration) politeness.Answer {
	a := answer(http.StatusTooManyRequests)
	a.HasRetryAfter, a.RetryAfter = true, d
	return a
}
