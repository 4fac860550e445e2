package politeness

import "net/http"

// Charge says which of a URL's retries an answer uses.
type Charge uint8

// The charges.
const (
	ChargeNothing Charge = iota // the URL waits again as if it had not been tried
	ChargeRefusal
	ChargeFailure
)

// Tries counts what one URL has been charged with.
type Tries struct{ Refusals, Failures uint8 }

// Add returns the tries with one more charge.
func (t Tries) Add(c Charge) Tries {
	switch c {
	case ChargeRefusal:
		t.Refusals += min(1, ^t.Refusals)
	case ChargeFailure:
		t.Failures += min(1, ^t.Failures)
	case ChargeNothing:
	}
	return t
}

// Retries reports whether a URL with these tries may be retried. It waits for its turn on the
// host like any other.
func (p Policy) Retries(t Tries) bool {
	return int(t.Refusals) <= p.RefusalRetries && int(t.Failures) <= p.FailureRetries
}

// countAtMax counts 429s in a row at the maximum pace, for policies with CancelAfter.
func (p *Policy) countAtMax(s *State, e *Effect) {
	if e.answer.Status != http.StatusTooManyRequests || p.pace(s) < p.maxPace(s) {
		s.atMax = 0
		return
	}
	s.atMax += min(1, ^s.atMax)
	if p.CancelAfter > 0 && int(s.atMax) >= p.CancelAfter {
		e.changes |= Cancelled
	}
}
