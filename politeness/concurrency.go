package politeness

import "time"

// lostPer is how much learned pace above the base reduces the cap by one request.
const lostPer = int64(5 * time.Second / time.Millisecond)

// Cap is how many requests may be in flight to the host now.
func (p Policy) Cap(s State) int { return p.cap(&s) }

func (p *Policy) cap(s *State) int {
	if s.crawlDelay > 0 || s.single > 0 || s.flags.has(refusing|open) {
		return 1
	}
	n := min(max(int(s.grown), 1), p.InFlight)
	if over := int64(s.learned) - p.base(s); over > 0 {
		n -= int(over / lostPer)
	}
	return max(n, 1)
}

// growInFlight counts a clean response. A round is as many as the cap; after a round the cap
// doubles until the first incident or latency rise, then it grows by one. A round with a
// latency rise does not grow it. Where response times are watched closely, neither does a
// round without its own median: with twice the requests in flight, a host that processes
// one at a time takes twice as long, and that must be seen before it takes four times as
// long.
func (p *Policy) growInFlight(s *State, slow, measured bool) {
	n := min(max(int(s.grown), 1), p.InFlight)
	if slow {
		s.flags |= settled
		s.round = 0
		return
	}
	s.round += min(1, ^s.round) // saturates
	if int(s.round) < n || p.watchful() && !(measured && s.gauged()) {
		return
	}
	s.round = 0
	if p.watchful() && n < p.InFlight {
		s.latencies = 0
	}
	if s.flags.has(settled) {
		n++
	} else {
		n *= 2
	}
	s.grown = uint16(min(n, p.InFlight))
}

// cutInFlight halves the cap at an incident.
func (p *Policy) cutInFlight(s *State) {
	s.grown = uint16(max(min(int(s.grown), p.InFlight)/2, 1))
	s.round = 0
	s.flags |= settled
}

// resetInFlight resets the cap to one request in flight, from where it grows with what is
// measured at the new pace. A cap that grew at a slower pace was never used there: at a pace
// the host cannot keep, it would fill with waiting requests long before the first late
// response shows it.
func (s *State) resetInFlight() {
	s.grown, s.round, s.latencies = 1, 0, 0
}
