package politeness_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"headway/internal/vectors"
	"headway/politeness"
	"headway/politeness/internal/sim"
)

func TestHoldAfterARefusal(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		answer politeness.Answer
		want   time.Duration
	}{
		"no Retry-After: the backoff":          {answer(http.StatusTooManyRequests), 5 * time.Second},
		"Retry-After 0 keeps the backoff":      {after(0), 5 * time.Second},
		"a past date keeps the backoff":        {after(-time.Hour), 5 * time.Second},
		"a named time is believed":             {after(2 * time.Second), 2 * time.Second},
		"a long one too":                       {after(30 * time.Minute), 30 * time.Minute},
		"one year":                             {after(year), year},
		"longer than time itself":              {after(1<<63 - 1), 1<<63 - 1},
		"503 is a refusal like any other":      {answer(http.StatusServiceUnavailable), 5 * time.Second},
		"fractions are rounded up, never down": {after(1500*time.Millisecond + 1), 1501 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, steady(t, "polite"))
			e := h.ask(c.answer)
			if got := h.s.HeldUntil().Sub(h.now); got != c.want {
				t.Errorf("held for %v, want %v", got, c.want)
			}
			if !e.Urgent() || e.Charge() != politeness.ChargeRefusal {
				t.Errorf("a refusal must be durable before it is relied on, and is charged: %q", e)
			}
			w := h.p.Admit(h.s, h.now)
			if w.Reason != politeness.Hold || !w.Until.Equal(h.s.HeldUntil()) {
				t.Errorf("Admit says %v until %v", w.Reason, w.Until)
			}
		})
	}
}

// TestRetryAfterVectors checks the rules against the shared test vectors: how long the host is
// held for each Retry-After.
func TestRetryAfterVectors(t *testing.T) {
	type row struct {
		Name                string
		Target              string
		Status              int
		RetryAfter          []string `json:"retry_after"`
		Date                *string
		Now                 time.Time
		JobBudgetSeconds    int64 `json:"job_budget_seconds"`
		ExistingHoldSeconds int64 `json:"existing_hold_seconds"`
		Expect              struct {
			Action      string
			WaitSeconds *int64 `json:"wait_seconds"`
			Scope       string
		}
		Why, Source string
	}
	rows := vectors.Rows[row](t, "retry-after.json")
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			h := newHost(t, steady(t, "polite"))
			h.now = r.Now
			held := time.Duration(r.ExistingHoldSeconds) * time.Second
			if held > 0 {
				h.s = h.s.WithHold(r.Now, r.Now.Add(held))
			}
			sent := h.now // from before the hold began
			h.s = h.p.Sent(h.s, sent)
			tenure := politeness.NewTenure(h.now)
			patience := time.Duration(r.JobBudgetSeconds) * time.Second

			a := answer(r.Status)
			switch r.Expect.Action {
			case "wait":
				a.HasRetryAfter, a.RetryAfter = true, time.Duration(*r.Expect.WaitSeconds)*time.Second
			case "give_up":
				a.HasRetryAfter, a.RetryAfter = true, patience+time.Second
			case "none":
				a.HasRetryAfter, a.RetryAfter = len(r.RetryAfter) > 0, 600*time.Second
			}
			e := h.observe(sent, a)
			got := h.held()
			parked := h.p.Park(h.s, tenure, h.now, patience) == politeness.ParkedByPatience

			want := fmt.Sprintf("%s for the %s", r.Expect.Action, r.Expect.Scope)
			switch {
			case r.Expect.Action == "give_up":
				if !parked {
					t.Errorf("%s: waits %v, want to give up", want, got)
				}
				return
			case r.Expect.Scope != "host":
				if got != 0 || e.Has(politeness.Incident) {
					t.Errorf("%s: the host is held for %v", want, got)
				}
			case r.Expect.Action == "backoff":
				if got < max(held, 5*time.Second) {
					t.Errorf("%s: the host is held for %v", want, got)
				}
			default:
				if wait := time.Duration(*r.Expect.WaitSeconds) * time.Second; got < max(wait, held) {
					t.Errorf("%s: the host is held for %v, want %v", want, got, wait)
				}
			}
			if parked {
				t.Errorf("%s: given up", want)
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "retry-after.json (politeness)", passed, len(rows))
}

func TestBackoffDoublesAndIsForgottenAfterSuccess(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.s = h.s.WithLearned(time.Second)
	for _, want := range []int{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600} {
		h.ask(answer(http.StatusTooManyRequests))
		if got := h.held(); got != time.Duration(want)*time.Second {
			t.Fatalf("held for %v, want %d s", got, want)
		}
	}
	if e := h.ask(ok()); !e.Has(politeness.Welcomed) {
		t.Errorf("the canary was served: %q", e)
	}
	h.ask(answer(http.StatusTooManyRequests))
	if got := h.held(); got != 5*time.Second {
		t.Errorf("after a success held for %v, want 5 s", got)
	}
}

func TestOneCanaryAtATime(t *testing.T) {
	h, sent := flight(t, 8)
	h.observe(sent[0], after(time.Second))
	h.pass(10 * time.Second)
	if w := h.p.Admit(h.s, h.now); w.Reason != politeness.InFlight {
		t.Errorf("with 7 requests from before under way Admit says %q, want in_flight", w.Reason)
	}
	for _, at := range sent[1:] {
		h.observe(at, ok())
	}
	canary := h.send()
	h.pass(10 * time.Second)
	if w := h.p.Admit(h.s, h.now); w.Reason != politeness.InFlight || !w.Until.IsZero() {
		t.Errorf("beside the canary Admit says %q until %v, want in_flight without a time", w.Reason, w.Until)
	}
	e := h.observe(canary, after(time.Second))
	if e.Charge() != politeness.ChargeNothing {
		t.Error("a canary's refusal is charged to its URL")
	}
	if !e.Has(politeness.Incident | politeness.Slowed) {
		t.Errorf("a canary's refusal steps the pace: %q", e)
	}
	if got := h.held(); got != 2*time.Second {
		t.Errorf("held for %v, want the backoff of 2 s, which is later than Retry-After 1", got)
	}
}

// TestServerThatRefusesEverything: a crawler must not speed up on 429. The rate must fall, and
// stay low.
func TestServerThatRefusesEverything(t *testing.T) {
	for _, name := range politeness.PresetNames() {
		for _, retryAfter := range []string{"absent", "0"} {
			t.Run(name+"/"+retryAfter, func(t *testing.T) {
				p := steady(t, name)
				var sends []time.Time
				sim.Crawl{
					Policy: p, State: politeness.New("host"), Pages: 1000, For: 48 * time.Hour,
					Server: sim.ServerFunc(func(r sim.Request) politeness.Answer {
						sends = append(sends, r.At)
						a := sim.Refuse(time.Millisecond)
						a.HasRetryAfter = retryAfter == "0"
						return a
					}),
				}.Run()
				var last time.Duration
				for i := 1; i < len(sends); i++ {
					gap := sends[i].Sub(sends[i-1])
					if gap < last {
						t.Fatalf("request %d came %v after the one before, which had waited %v", i, gap, last)
					}
					last = gap
				}
				want := max(p.Refusing.Max, time.Minute) + time.Millisecond // counted from the answer
				if last < p.Refusing.Max || last > want {
					t.Errorf("settled at one request per %v, want %v", last, p.Refusing.Max)
				}
			})
		}
	}
}

func TestRestartInsideAHoldKeepsIt(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(7)
	h.ask(after(10 * time.Minute))
	until := h.s.HeldUntil()

	stored, err := h.s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	h.pass(time.Minute)
	var loaded politeness.State
	if err := loaded.UnmarshalBinary(stored); err != nil {
		t.Fatal(err)
	}
	h.s = h.p.Resume(loaded, h.now)
	if w := h.p.Admit(h.s, h.now); w.Reason != politeness.Hold || !w.Until.Equal(until) {
		t.Errorf("after the restart Admit says %q until %v, want hold until %v", w.Reason, w.Until, until)
	}
	h.wantPace(2 * time.Second)
	if !h.s.Refusing() {
		t.Error("after the restart the host no longer counts as refusing")
	}
}

func TestUncleanEndWaitsTheFullPace(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.s = h.s.WithCrawlDelay(10 * time.Second)
	h.send() // no answer yet when the process stops
	h.pass(time.Hour)
	h.s = h.p.Resume(h.s, h.now)
	loaded := h.now
	if h.s.InFlight() != 0 {
		t.Errorf("%d requests in flight after a restart", h.s.InFlight())
	}
	if sent := h.send(); sent.Sub(loaded) != 10*time.Second {
		t.Errorf("first request %v after loading, want the full pace of 10 s", sent.Sub(loaded))
	}
}

func TestClockSetBack(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	h.clean(5)
	h.ask(after(time.Second))
	h.clean(1)
	h.pass(-24 * time.Hour)
	h.s = h.p.Resume(h.s, h.now)
	if e := h.ask(ok()); !e.Clean() {
		t.Error("after the clock was set back answers are taken for old ones")
	}
}

func TestJitterLengthensBackoffsAndNeverRetryAfter(t *testing.T) {
	p := preset(t, "polite")
	seen := map[time.Duration]bool{}
	for i := range 50 {
		h := newHost(t, p)
		h.s = politeness.New(fmt.Sprintf("http://h%d.example", i))
		h.ask(answer(http.StatusTooManyRequests))
		got := h.held()
		if got < 5*time.Second || got > 5250*time.Millisecond {
			t.Fatalf("backoff of %v, want 5 s and up to 5 %% more", got)
		}
		seen[got] = true

		h = newHost(t, p)
		h.ask(after(7 * time.Second))
		if got := h.held(); got != 7*time.Second {
			t.Fatalf("held for %v, want the 7 s asked for", got)
		}
	}
	if len(seen) < 25 {
		t.Errorf("50 hosts back off for only %d different times", len(seen))
	}
}
