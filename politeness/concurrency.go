package politeness

import "time"

// lostPer is the learned pace over base that costs one request in flight.
const lostPer = int64(5 * time.Second / time.Millisecond)

// Cap is how many requests the host takes at once at present.
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

// growInFlight counts a clean answer. As many as the cap make a round; after a
// round the cap doubles until the first incident or latency rise, then it grows
// by one. A round with a latency rise does not grow it, and where response times
// are watched closely neither does one without a median of its own: at twice as
// many requests under way a host that makes one page after the other takes twice
// as long, and that is seen before it takes four times as long.
func (p *Policy) growInFlight(s *State, slow, measured bool) {
	n := min(max(int(s.grown), 1), p.InFlight)
	if slow {
		s.flags |= settled
		s.round = 0
		return
	}
	s.round += min(1, ^s.round) // stops at the largest value
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

// gaugeAnew takes the cap back to one request under way, from where it grows
// with what is measured at the new pace. A cap that grew at a slower pace was
// never used there: at a pace the host cannot keep it would fill with requests
// that wait, long before the first late answer says so.
func (s *State) gaugeAnew() {
	s.grown, s.round, s.latencies = 1, 0, 0
}
