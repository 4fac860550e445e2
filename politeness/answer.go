package politeness

import (
	"net/http"
	"time"
)

// Answer is what came of one request, as far as politeness is concerned.
type Answer struct {
	SentAt time.Time // when the request left, as it was told to [Policy.Sent]

	// Status is the HTTP status, 0 when there was none. Fault says what went
	// wrong when there was no complete answer.
	Status int
	Fault  Fault

	// RetryAfter is how long the host asks to be left alone; HasRetryAfter
	// tells "0 seconds" and a date in the past from an absent or unreadable
	// field.
	RetryAfter    time.Duration
	HasRetryAfter bool

	// Latency is the time to the first byte of the answer, 0 when it was not
	// measured.
	Latency time.Duration

	// Tries is what the URL of the request had been charged with before.
	Tries Tries

	// Challenge marks an answer that looks like success but is a page of a
	// protection service. It says nothing good about the pace.
	Challenge bool
}

// Fault is a way in which a request got no complete answer.
type Fault uint8

// The faults.
const (
	NoFault  Fault = iota
	DNS            // the name did not resolve
	Connect        // no connection
	TLS            // no secure connection
	Timeout        // no answer in time
	Reset          // the connection broke before the answer was complete
	Protocol       // the answer was not HTTP
	Ours           // our own network's fault: nobody is charged, see [Outage]
)

var faultNames = [...]string{"", "dns error", "connect error", "tls error", "timeout", "connection reset", "protocol error", "our own network"}

// String returns the fault in words.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return "unknown fault"
}

// kind is how the rule sees an answer.
type kind uint8

const (
	kindNothing kind = iota // says nothing about the host
	kindRefusal             // 429, 503, and 403 where the policy says so
	kindFailure             // any other server error, or no complete answer
	kindGood                // everything else: the host did its work
)

// IsRefusal tells whether a status says "not now", to whomever.
func IsRefusal(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// Refuses tells whether a status says "not now" under the policy.
func (p *Policy) Refuses(status int) bool {
	return IsRefusal(status) || status == http.StatusForbidden && p.Refuses403
}

func (p *Policy) kind(a *Answer) kind {
	switch {
	case a.Fault == Ours:
		return kindNothing
	case a.Fault != NoFault:
		return kindFailure
	case p.Refuses(a.Status):
		return kindRefusal
	case a.Status >= http.StatusInternalServerError:
		return kindFailure
	case a.Challenge, a.holdsHost():
		return kindNothing // served, but hardly welcome
	default:
		return kindGood
	}
}

// overload reports whether an answer is of the sort a host gives when it has
// too much to do.
func (a *Answer) overload() bool {
	return a.Status == http.StatusBadGateway || a.Status == http.StatusGatewayTimeout ||
		a.Fault == Reset || a.Fault == Timeout
}

// holdsHost reports whether a Retry-After of this answer is meant for the whole
// host. With a redirect or 413 it concerns one URL, with success nobody.
func (a *Answer) holdsHost() bool {
	return a.HasRetryAfter && a.Fault != Ours && (a.Status == http.StatusTooManyRequests ||
		a.Status == http.StatusForbidden || a.Status >= http.StatusInternalServerError)
}
