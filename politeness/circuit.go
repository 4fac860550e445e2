package politeness

// circuitAfter is how many failed attempts in a row open the circuit.
const circuitAfter = 10

// failure handles a server error or a network error: the host is left alone
// for a backoff that doubles with each failure. Failures of requests that left
// before the last one was recorded tell the same story and do not double it.
func (p *Policy) failure(s *State, at, sent int64, e *Effect) {
	s.stuck(at)
	e.charge = ChargeFailure
	joins := sent <= s.failedAt
	if !joins || !s.flags.has(open) {
		// What was in flight when the circuit opened has been counted enough;
		// from then on only half-open requests speak.
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

// recover notes that the host does its work: the canary or the half-open
// request was served, or one among failing requests was. While the circuit is
// open only the half-open request can close it.
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

// Pardon returns the state without its failures and their backoff, for a host
// that was charged with what turned out to be our own network's fault.
func (p Policy) Pardon(s State) State {
	s.failed, s.failures, s.failUntil, s.failedAt = 0, 0, 0, 0
	s.flags &^= open
	if !s.flags.has(refusing) {
		s.stuckSince = 0
	}
	return s
}
