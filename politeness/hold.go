package politeness

// maxDoublings is more than any backoff needs to reach its maximum.
const maxDoublings = 30

// hold sets a hold of some milliseconds from now. It never shortens a hold.
func (s *State) hold(at, ms int64, e *Effect) {
	until := min(at+ms, maxInstant)
	if ms <= 0 || until <= s.holdUntil {
		return
	}
	s.holdUntil = until
	e.changes |= Held
	e.hold = ms
}

// backOff holds a refusing host. For the refusal that opens an incident its Retry-After
// applies if it is in the future; without one, and for every refusal of a canary, there is a
// backoff as well. The later of the two counts.
func (p *Policy) backOff(s *State, at int64, canary bool, e *Effect) (own bool) {
	if !canary {
		s.backoffs = 0
		if e.answer.HasRetryAfter && e.answer.RetryAfter > 0 {
			return false
		}
	}
	asked := s.holdUntil
	s.hold(at, p.backoff(s, p.Refusing, s.backoffs), e)
	s.backoffs = min(s.backoffs+1, maxDoublings)
	return s.holdUntil > asked
}

// backoff returns the length of a backoff after n doublings, with its jitter.
func (p *Policy) backoff(s *State, b Backoff, n uint8) int64 {
	ms := min(ceilMillis(b.Start)<<n, ceilMillis(b.Max))
	return ms + portion(ms*int64(p.Jitter)/100, s.draw(saltBackoff))
}
