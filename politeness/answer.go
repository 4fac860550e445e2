package politeness

import (
	"net/http"
	"time"
)

// Answer is the result of one request, as far as politeness needs it.
type Answer struct {
	SentAt time.Time // when the request was sent, as passed to [Policy.Sent]

	// Status is the HTTP status, 0 if there was none. Fault says what went wrong if
	// there was no complete response.
	Status int
	Fault  Fault

	// RetryAfter is the host's Retry-After; HasRetryAfter distinguishes "0 seconds" and a
	// date in the past from an absent or unreadable field.
	RetryAfter    time.Duration
	HasRetryAfter bool

	// Latency is the time to the first byte of the response, 0 if it was not measured.
	Latency time.Duration

	// Tries is what the URL of the request was charged with before.
	Tries Tries

	// Challenge marks a response that looks like success but is a page of a protection
	// service. It does not count as a clean response.
	Challenge bool
}

// Fault is why a request got no complete response.
type Fault uint8

// The faults.
const (
	NoFault  Fault = iota
	DNS            // the name did not resolve
	Connect        // no connection
	TLS            // no secure connection
	Timeout        // no response in time
	Reset          // the connection broke before the response was complete
	Protocol       // the response was not HTTP
	Ours           // caused by our own network: not charged, see [Outage]
)

var faultNames = [...]string{"", "dns error", "connect error", "tls error", "timeout", "connection reset", "protocol error", "our own network"}

// String returns the fault in words.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return "unknown fault"
}

// kind is how the rules classify an answer.
type kind uint8

const (
	kindNothing kind = iota // says nothing about the host
	kindRefusal             // 429, 503, and 403 where the policy says so
	kindFailure             // any other server error, or no complete response
	kindGood                // everything else: the host works
)

// IsRefusal reports whether a status means "not now" under any policy.
func IsRefusal(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// Refuses reports whether a status means "not now" under the policy.
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
		return kindNothing // served, but by a protection service
	default:
		return kindGood
	}
}

// overload reports whether an answer is typical of an overloaded host.
func (a *Answer) overload() bool {
	return a.Status == http.StatusBadGateway || a.Status == http.StatusGatewayTimeout ||
		a.Fault == Reset || a.Fault == Timeout
}

// holdsHost reports whether a Retry-After of this answer is meant for the whole host. With
// a redirect or 413 it concerns one URL; with success it is ignored.
func (a *Answer) holdsHost() bool {
	return a.HasRetryAfter && a.Fault != Ours && (a.Status == http.StatusTooManyRequests ||
		a.Status == http.StatusForbidden || a.Status >= http.StatusInternalServerError)
}
