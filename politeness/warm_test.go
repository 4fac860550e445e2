package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
)

// The behaviours required by the product's source documents, in preset `warm` unless a name says
// otherwise.

func TestSourceDocumentsOneSecondPerIncidentUpToSixty(t *testing.T) {
	h := newHost(t, steady(t, "warm"))
	want := 500 * time.Millisecond
	h.wantPace(want)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable} {
		h.ask(answer(status))
		want += time.Second
		h.wantPace(want)
	}
	for range 100 {
		h.ask(answer(http.StatusTooManyRequests))
		want = min(want+time.Second, time.Minute)
		h.wantPace(want)
	}
	h.wantPace(time.Minute)
}

func TestSourceDocumentsProbeAfterTwentySuccesses(t *testing.T) {
	h := newHost(t, steady(t, "warm"))
	h.ask(after(time.Second))
	h.wantPace(1500 * time.Millisecond)
	h.clean(19)
	h.wantPace(1500 * time.Millisecond)
	wantChange(t, h.clean(1), politeness.Probed)
	h.wantPace(time.Second) // halfway to the base of 0.5 s
}

func TestSourceDocumentsRevertAndFloorAfterAFailedProbe(t *testing.T) {
	h := newHost(t, steady(t, "warm"))
	h.ask(after(time.Second))
	h.clean(20)
	wantChange(t, h.ask(after(time.Second)), politeness.ProbeFailed)
	h.wantPace(1500 * time.Millisecond)
	if h.s.Floor() != time.Second {
		t.Errorf("floor is %v, want 1 s", h.s.Floor())
	}
	for range 200 {
		h.clean(1)
		if h.pace() <= h.s.Floor() {
			t.Fatalf("pace %v is at or below the floor", h.pace())
		}
	}
}

func TestSourceDocumentsOneRequestLessPerFiveSeconds(t *testing.T) {
	p := steady(t, "warm")
	h := newHost(t, p)
	h.clean(100)
	if got := p.Cap(h.s); got != 10 {
		t.Fatalf("grown to %d in flight, want the job's 10", got)
	}
	for _, c := range []struct {
		learned time.Duration
		cap     int
	}{
		{500 * time.Millisecond, 10},
		{5400 * time.Millisecond, 10},
		{5500 * time.Millisecond, 9},
		{10500 * time.Millisecond, 8},
		{30500 * time.Millisecond, 4},
		{45500 * time.Millisecond, 1},
		{time.Minute, 1},
		{5500 * time.Millisecond, 9}, // restored
		{500 * time.Millisecond, 10},
	} {
		if got := p.Cap(h.s.WithLearned(c.learned)); got != c.cap {
			t.Errorf("learned %v: %d in flight, want %d", c.learned, got, c.cap)
		}
	}
}

func TestSourceDocumentsBackoff(t *testing.T) {
	h := newHost(t, steady(t, "warm"))
	for _, want := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		h.ask(answer(http.StatusForbidden))
		if got := h.held(); got != time.Duration(want)*time.Second {
			t.Fatalf("held for %v, want %d s", got, want)
		}
	}
}

func TestSourceDocumentsFailingHostsInEveryPreset(t *testing.T) {
	for _, name := range politeness.PresetNames() {
		for _, a := range []politeness.Answer{
			answer(http.StatusInternalServerError), fault(politeness.Timeout), fault(politeness.Connect), fault(politeness.DNS),
		} {
			h := newHost(t, steady(t, name))
			for n := 1; n <= 14; n++ {
				h.ask(a)
				want := min(time.Duration(1<<n)*time.Second, time.Hour)
				if got := h.held(); got != want {
					t.Fatalf("%s, %d failures: held for %v, want 2^%d s up to an hour", name, n, got, n)
				}
			}
		}
	}
}

func TestSourceDocumentsCancelAfterTwentyRefusalsAtTheMaximum(t *testing.T) {
	count := func(p politeness.Policy, a politeness.Answer) int {
		h := newHost(t, p)
		for n := 1; n <= 200; n++ {
			if h.ask(a).Has(politeness.Cancelled) {
				return n
			}
		}
		return 0
	}
	p := steady(t, "warm")
	if n := count(p, answer(http.StatusTooManyRequests)); n != 0 {
		t.Errorf("cancelled after %d refusals though it is off by default", n)
	}
	p.CancelAfter = 20
	// 60 refusals take the pace from 0.5 s to the cap; the next 20 are sent at it.
	if n := count(p, answer(http.StatusTooManyRequests)); n != 80 {
		t.Errorf("cancelled after %d refusals, want 60 on the way to 60 s and 20 there", n)
	}
	if n := count(p, answer(http.StatusServiceUnavailable)); n != 0 {
		t.Errorf("cancelled after %d answers 503, want only 429 to count", n)
	}
	h := newHost(t, p)
	for range 79 {
		h.ask(answer(http.StatusTooManyRequests))
	}
	h.clean(1)
	for range 19 {
		if h.ask(answer(http.StatusTooManyRequests)).Has(politeness.Cancelled) {
			t.Fatal("a success in between does not reset the count")
		}
	}
}

func TestSourceDocumentsFailureThreshold(t *testing.T) {
	for _, name := range politeness.PresetNames() {
		h := newHost(t, steady(t, name))
		job := politeness.NewTenure(h.now)
		fail := func(n int) {
			for range n {
				job = job.Observe(h.ask(answer(http.StatusInternalServerError)))
			}
		}
		fail(19)
		if got := h.p.Park(h.s, job, h.now, 1000*time.Hour); got != politeness.NotParked {
			t.Errorf("%s: parked after 19 failures", name)
		}
		job = job.Observe(h.ask(ok())) // reset by a success
		fail(19)
		job = job.Observe(h.ask(answer(http.StatusTooManyRequests))) // a refusal neither counts nor resets
		if got := h.p.Park(h.s, job, h.now, 1000*time.Hour); got != politeness.NotParked {
			t.Errorf("%s: parked after 19 failures and a refusal", name)
		}
		fail(1)
		if got := h.p.Park(h.s, job, h.now, 1000*time.Hour); got != politeness.ParkedByFailures {
			t.Errorf("%s: not parked after 20 failures in a row", name)
		}
		// Another job has seen none of these failures.
		if got := h.p.Park(h.s, politeness.NewTenure(h.now), h.now, 1000*time.Hour); got != politeness.NotParked {
			t.Errorf("%s: a job that has just come is parked as well", name)
		}
	}
}

func TestSourceDocumentsThreeRetriesForBlockingAnswers(t *testing.T) {
	p := steady(t, "warm")
	var tries politeness.Tries
	for n := 1; n <= 3; n++ {
		if tries = tries.Add(politeness.ChargeRefusal); !p.Retries(tries) {
			t.Fatalf("given up after %d refusals, want 3 retries", n)
		}
	}
	if tries = tries.Add(politeness.ChargeRefusal); p.Retries(tries) {
		t.Error("a fourth retry")
	}
}

func TestWarmRecoversByTimeAsWell(t *testing.T) {
	h := slowed(t, "warm", 20*time.Second)
	h.clean(2)
	h.wantPace(20 * time.Second)
	wantChange(t, h.clean(1), politeness.Probed)
	h.wantPace(10250 * time.Millisecond)
}
