package politeness

import "time"

// Wait says how long a host must not be contacted, and why. The zero Wait means that a
// request may be sent.
type Wait struct {
	// Until is when to check again. It is the zero time if not time but a response
	// ([InFlight]) or an operator ends the wait.
	Until  time.Time
	Reason Reason
}

// Go reports whether a request may be sent.
func (w Wait) Go() bool { return w.Reason == Ready }

// Reason is what a host waits for. The names are the wait reasons that users see.
type Reason uint8

// The reasons this package gives.
const (
	Ready           Reason = iota
	Pace                   // the interval between two requests
	CrawlDelay             // the same, set by robots.txt
	Hold                   // Retry-After or a backoff
	InFlight               // as many requests in flight as allowed
	DomainInterval         // another host of the domain just got a request
	AddressInterval        // another host on the address just got a request
	Network                // our own network seems to be down
)

var reasonNames = [...]string{"", "pace", "crawl_delay", "hold", "in_flight", "domain_interval", "address_interval", "network"}

// String returns the reason as users see it, and "" for Ready.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Admit reports whether a request may be sent to the host now. If several limits apply it
// returns one at a time, the hold before the pace: check again at Until.
func (p Policy) Admit(s State, now time.Time) Wait {
	if s.flags.has(paused) {
		return Wait{Reason: Hold}
	}
	at := now.UnixMilli()
	if until := max(s.holdUntil, s.failUntil); at < until {
		return Wait{time.UnixMilli(until), Hold}
	}
	if d := p.interval(&s); d > 0 && s.lastSent != 0 && at < s.lastSent+d {
		reason := Pace
		if int64(s.crawlDelay) == p.pace(&s) {
			reason = CrawlDelay
		}
		return Wait{time.UnixMilli(s.lastSent + d), reason}
	}
	if int(s.inFlight) >= p.cap(&s) {
		return Wait{Reason: InFlight}
	}
	return Wait{}
}

// Sent records that a request was sent at now. The interval counts from here.
func (p Policy) Sent(s State, now time.Time) State {
	s.lastSent = ceilMilli(now)
	s.sends++
	s.inFlight += min(1, ^s.inFlight) // saturates
	return s
}

// Resume prepares a state that was loaded after an unclean end, when unrecorded requests may
// have been sent: the host waits its full pace from now, and nothing is in flight. Holds
// stay. Times after now, because the clock was set back, are set to now.
func (p Policy) Resume(s State, now time.Time) State {
	at := ceilMilli(now)
	s.lastSent = at
	s.inFlight = 0
	s.learned = min(s.learned, uint32(p.maxPace(&s))) // a slower job may have learned it
	for _, moment := range []*int64{
		&s.incidentAt, &s.failedAt, &s.probeAt, &s.floorAt, &s.testedAt, &s.cleanSince, &s.stuckSince, &s.lowAt, &s.noise.at,
	} {
		*moment = min(*moment, at)
	}
	return s
}

// Pace is the interval between two requests to the host, without jitter.
func (p Policy) Pace(s State) time.Duration {
	return time.Duration(p.pace(&s)) * time.Millisecond
}

// pace is the longest of the base, the Crawl-delay and what was learned.
func (p *Policy) pace(s *State) int64 {
	return max(p.base(s), int64(s.learned))
}

// interval is the pace of the next request with its random parts, which depend only on the
// host and the number of the request.
func (p *Policy) interval(s *State) int64 {
	d := p.pace(s)
	if p.Spread > 0 {
		d = max(d, ceilMillis(p.Base)+portion(ceilMillis(p.Spread), s.draw(saltSpread)))
	}
	if p.gauging(s) {
		d = max(d, gaugeGap)
	}
	return d + portion(d*int64(p.Jitter)/100, s.draw(saltJitter))
}

// Each random part has its own salt, so that they are independent.
const (
	saltJitter = iota + 1
	saltSpread
	saltBackoff
)

// draw returns 32 pseudo-random bits for the next request of the host (splitmix64).
func (s *State) draw(salt uint64) uint32 {
	z := s.key + uint64(s.sends)*0x9e3779b97f4a7c15 + salt*0xd1b54a32d192ed03
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32((z ^ z>>31) >> 32)
}

// portion returns a part of d, from none to all of it.
func portion(d int64, draw uint32) int64 { return int64(uint64(d) * uint64(draw) >> 32) }

// maxPace is the slowest pace that refusals can teach: 60 s, twice the Crawl-delay, or twice
// a base above 30 s.
func (p *Policy) maxPace(s *State) int64 {
	const ceiling = int64(time.Minute / time.Millisecond)
	return min(max(ceiling, 2*p.base(s)), maxInterval)
}
