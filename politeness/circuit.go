package politeness

// circuitAfter is how many failed attempts in a row open the circuit.
const circuitAfter = 10

// failure handles a server error or a network error with a backoff that doubles with each
// failure. Failures of requests sent before the last one was recorded count as the same
// failure and do not double it.
func (p *Policy) failure(s *State, at, sent int64, e *Effect) {
	s.stuck(at)
	s.flags &^= wasSlow
	e.charge = ChargeFailure
	joins := sent <= s.failedAt
	if !joins || !s.flags.has(open) {
		// Requests in flight when the circuit opened do not count; from then on only
		// half-open requests do.
		s.failed += min(1, ^s.failed)
		e.failed = true
	}
	if !joins {
		s.failedAt = at
		s.failUntil = min(max(s.failUntil, at+p.backoff(s, p.Failing, s.failures)), maxInstant)
		s.failures = min(s.failures+1, maxDoublings)
		if s.failUntil > s.holdUntil {
			e.changes |= Held
			e.hold = s.failUntil - at
		}
	}
	if s.failed >= circuitAfter && !s.flags.has(open) {
		s.flags |= open
		e.changes |= CircuitOpened
	}
}

// recover records that the host works: the canary or the half-open request was served, or
// one of several failing requests. While the circuit is open only the half-open request can
// close it.
func (s *State) recover(sent int64, e *Effect) {
	if s.flags.has(open) {
		if sent <= s.failedAt {
			return
		}
		e.changes |= CircuitClosed
	}
	if s.flags.has(refusing) {
		e.changes |= Welcomed
	}
	s.flags &^= open | refusing
	s.failed, s.failures, s.backoffs = 0, 0, 0
	s.stuckSince = 0
}

// ClearFailures returns the state without its failures and their backoff, for a host that
// was charged for an outage of our own network.
func (p Policy) ClearFailures(s State) State {
	s.failed, s.failures, s.failUntil, s.failedAt = 0, 0, 0, 0
	s.flags &^= open
	if !s.flags.has(refusing) {
		s.stuckSince = 0
	}
	return s
}
