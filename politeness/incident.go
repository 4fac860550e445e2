package politeness

import (
	"math/bits"
	"time"
)

// Observe returns the state after an answer, and what the answer changed. The
// request must have been told to [Policy.Sent] before.
func (p Policy) Observe(s State, now time.Time, a Answer) (State, Effect) {
	at, sent := ceilMilli(now), a.SentAt.UnixMilli()
	s.learned = min(s.learned, uint32(p.maxPace(&s))) // the Crawl-delay or the base may have shrunk
	e := Effect{answer: a, from: p.pace(&s)}
	underLoad := p.underLoad(&s)
	if s.inFlight > 0 {
		s.inFlight--
	}
	if s.single > 0 && sent >= s.probeAt {
		s.single--
	}
	if a.holdsHost() {
		s.stuck(at)
		s.hold(at, ceilMillis(a.RetryAfter), &e)
	}
	joins := sent <= s.incidentAt
	switch p.kind(&a) {
	case kindRefusal:
		p.refusal(&s, at, sent, joins, &e)
	case kindFailure:
		p.failure(&s, at, sent, &e)
		if !joins {
			p.congestion(&s, at, sent, underLoad && a.overload(), &e)
		}
	case kindGood:
		if !joins {
			p.success(&s, at, sent, &e)
		}
	case kindNothing:
	}
	e.to = p.pace(&s)
	return s, e
}

// refusal handles an answer that refuses. If its request left before the last
// incident was recorded, or in the same millisecond, it joins that incident:
// its Retry-After has lengthened the hold, and that is all, unless nothing had
// refused so far. Then the hold is still due: the step was for the effects, the
// backoff is for the word.
func (p *Policy) refusal(s *State, at, sent int64, joins bool, e *Effect) {
	s.stuck(at)
	if joins {
		e.changes |= Joined
		if s.flags.has(unspoken) {
			p.backOff(s, at, false, e)
			s.flags = s.flags&^unspoken | refusing
		}
		return
	}
	canary := s.flags.has(refusing)
	if s.isURLTrouble(&e.answer, canary) {
		p.chargeURL(s, at, canary, e)
		return
	}
	if !canary {
		e.charge = ChargeRefusal // only the request that opened the incident pays
		s.flags &^= severalURLs | noStep | trying
		s.trial.held, s.trial.own = 0, 0
	}
	if canary || s.calm < doubtFrom {
		s.flags |= severalURLs
	}
	own := p.backOff(s, at, canary, e)
	s.trial.hold(s.holdUntil-at, own)
	p.countAtMax(s, e)
	switch {
	case canary && s.flags.has(noStep), e.answer.HasRetryAfter && e.answer.RetryAfter >= quota:
		s.incidentAt = at
		s.flags |= noStep
	case !canary && s.spend(at, &e.answer): // no more than the noise that is known
	case !canary && s.isTrial():
		p.try(s, at, sent, e)
	default:
		most := maxInterval
		switch {
		case !own && !canary:
			most = max(s.holdUntil-at-roundedUp, 2*p.pace(s)) // enough, as the host says
		case !canary && s.calm > 0:
			most = ownHold * int64(p.actual(s, at)) / int64(s.calm) // a hold of our own choice says little
		}
		p.incident(s, at, sent, canary, most, e)
	}
	s.flags = s.flags&^unspoken | refusing
}

// incident slows the host once, however many answers will report the same: it
// fails the probe that is under way, or takes a step of at most so much.
func (p *Policy) incident(s *State, at, sent int64, canary bool, most int64, e *Effect) {
	if int(s.calm) >= p.Need {
		s.steps = 0
	}
	if s.flags.has(probing) && !canary {
		p.failProbe(s, at, sent, e)
	} else {
		p.step(s, most, e)
	}
	s.settle(at)
	p.cutInFlight(s)
	e.changes |= Incident
}

// ease answers a rise of response times where there is no pace: what sets the
// rate there is the number of requests under way, and so that is halved. A step
// of a second, or a floor under a probe, would be out of all proportion for a
// host that has refused nothing and was given over to us.
func (p *Policy) ease(s *State, at int64, e *Effect) {
	s.settle(at)
	p.cutInFlight(s)
	e.changes |= Incident
}

// settle begins to count anew after an incident.
func (s *State) settle(at int64) {
	s.incidentAt = at
	s.clean, s.cleanSince, s.calm = 0, 0, 0
	s.congested, s.answered, s.strained = 0, 0, 0
	s.latencies = 0
	s.flags |= unspoken // a refusal takes it back
}

const (
	firstStep   = int64(time.Second / time.Millisecond)
	maxStepping = 5 // doublings of a step: 32 s
)

// step adds to the current pace: 1 s, twice as much for each further step
// before enough clean answers.
func (p *Policy) step(s *State, most int64, e *Effect) {
	size := firstStep
	if p.StepDoubles {
		size <<= s.steps
	}
	s.learned = uint32(min(p.pace(s)+min(size, most), p.maxPace(s)))
	s.steps = min(s.steps+1, maxStepping)
	s.flags &^= probing | testing
	e.changes |= Slowed
}

// lastTen masks the answers that congestion looks back on, and congestionAt is
// how many of them must be signs of overload.
const (
	lastTen      = 1<<10 - 1
	congestionAt = 3
)

// congestion adds a failure to the last ten answers. Three signs of overload
// among them are an incident, though no refusal was spoken; so are three since
// a probe, however far apart, for a faster pace that makes a host stumble now
// and then has not held.
func (p *Policy) congestion(s *State, at, sent int64, overloaded bool, e *Effect) {
	s.congested = s.congested << 1 & lastTen
	s.answered = s.answered << 1 & lastTen
	if !overloaded {
		return
	}
	s.congested |= 1
	s.clean, s.cleanSince = 0, 0 // no probe on top of signs of overload
	if s.flags.has(probing) {
		s.strained = min(s.strained+1, congestionAt)
	}
	if bits.OnesCount16(s.congested) >= congestionAt || s.strained >= congestionAt {
		e.cause = causeCongestion
		p.incident(s, at, sent, false, maxInterval, e)
	}
}

// underLoad reports whether we ask much of the host: two or more requests
// under way, or a pace faster than the last that held. Before any pace has held
// every pace is faster, provided that the host answers at all; one that never
// does is down, not overloaded.
func (p *Policy) underLoad(s *State) bool {
	if s.held == 0 {
		return s.inFlight >= 2 || s.answered != 0
	}
	return s.inFlight >= 2 || p.pace(s) < int64(s.held)
}

// success handles a clean answer: neither refusal nor failure, to a request
// that left after the last incident.
func (p *Policy) success(s *State, at, sent int64, e *Effect) {
	e.clean = true
	if s.flags.has(refusing) {
		p.judge(s, e)
	}
	s.recover(sent, e)
	s.earn()
	s.congested = s.congested << 1 & lastTen
	s.answered = s.answered<<1&lastTen | 1
	s.atMax = 0
	if s.cleanSince == 0 {
		s.cleanSince = at
	}
	s.clean += min(1, ^s.clean) // stops at the largest value
	s.calm += min(1, ^s.calm)
	slow := false
	median, measured := s.respond(at, e.answer.Latency)
	if measured {
		var incident bool
		if incident, slow = p.judgeLatency(s, at, median); incident {
			e.cause = causeLatency
			if p.pace(s) == 0 && p.cap(s) > 1 {
				p.ease(s, at, e)
			} else {
				p.incident(s, at, sent, false, maxInterval, e)
			}
			return
		}
	}
	p.growInFlight(s, slow, measured)
	p.probe(s, at, e)
}
