package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
)

func TestSentences(t *testing.T) {
	repeat := func(n int, a politeness.Answer) (as []politeness.Answer) {
		for range n {
			as = append(as, a)
		}
		return as
	}
	serverError := answer(http.StatusInternalServerError)
	serverError.HasRetryAfter, serverError.RetryAfter = true, 30*time.Second
	for name, c := range map[string]struct {
		before []politeness.Answer
		a      politeness.Answer
		want   string
	}{
		"nothing to tell":        {nil, ok(), ""},
		"not found":              {nil, answer(404), ""},
		"a refusal":              {nil, after(30 * time.Second), "slowed to 2.0 s: 429 with Retry-After 30; on hold for 30 s"},
		"without a time":         {nil, answer(503), "slowed to 2.0 s: 503; on hold for 5.0 s"},
		"at the slowest pace":    {repeat(9, after(600*time.Second)), after(600 * time.Second), "stays at 60 s, the slowest pace: 429 with Retry-After 600; on hold for 21 min"},
		"a probe":                {append(repeat(1, after(time.Second)), repeat(4, ok())...), ok(), "trying 1.5 s instead of 2.0 s"},
		"a failed probe":         {append(repeat(1, after(time.Second)), repeat(5, ok())...), after(2 * time.Second), "back to 2.0 s, the last pace that worked: 429 with Retry-After 2 at 1.5 s; on hold for 2.0 s"},
		"the canary is served":   {repeat(1, after(time.Second)), ok(), "accepting requests again after refusals"},
		"a failure":              {nil, fault(politeness.Timeout), "on hold for 2.0 s: timeout"},
		"with Retry-After":       {nil, serverError, "on hold for 30 s: 500 with Retry-After 30"},
		"the circuit opens":      {repeat(9, fault(politeness.DNS)), fault(politeness.DNS), "on hold for 17 min: dns error; 10 failures in a row: one request per backoff period"},
		"the circuit closes":     {repeat(10, fault(politeness.DNS)), ok(), "responding again after failures"},
		"a very long hold":       {nil, after(36 * time.Hour), "on hold for 36.0 h: 429 with Retry-After 129600"},
		"our own fault":          {nil, fault(politeness.Ours), ""},
		"overload":               {[]politeness.Answer{ok(), answer(502), answer(502)}, answer(502), "slowed to 2.0 s: signs of overload, most recently 502; on hold for 8.0 s"},
		"slow answers":           {repeat(9, ok()), politeness.Answer{Status: 200, Latency: time.Second}, ""},
		"a redirect that waits":  {nil, politeness.Answer{Status: 301, HasRetryAfter: true, RetryAfter: time.Hour}, ""},
		"an unfinished exchange": {nil, fault(politeness.Reset), "on hold for 2.0 s: connection reset"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, steady(t, "polite"))
			for _, a := range c.before {
				h.ask(a)
			}
			if got := h.ask(c.a).String(); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSentenceOfRisingResponseTimes(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	respond(h, 5, 100*time.Millisecond)
	e := respond(h, 5, time.Second)
	if got, want := e.String(), "slowed to 2.0 s: response times increased"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	before, after := e.Pace()
	if before != time.Second || after != 2*time.Second {
		t.Errorf("pace went from %v to %v", before, after)
	}
}

func TestNamesOfUnknownValues(t *testing.T) {
	if politeness.Reason(200).String() != "unknown" || politeness.Fault(200).String() != "unknown fault" {
		t.Error("unknown values have names")
	}
}
