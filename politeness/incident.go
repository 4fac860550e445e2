package politeness

import (
	"math/bits"
	"time"
)

// Observe returns the state after an answer, and what the answer changed. The request must
// have been passed to [Policy.Sent] before.
func (p Policy) Observe(s State, now time.Time, a Answer) (State, Effect) {
	at, sent := ceilMilli(now), a.SentAt.UnixMilli()
	s.learned = min(s.learned, uint32(p.maxPace(&s))) // the Crawl-delay or the base may have become shorter
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

// refusal handles a refusal. If its request was sent before the last incident was recorded,
// or in the same millisecond, it joins that incident: its Retry-After has lengthened the
// hold, and nothing else happens. If that incident was inferred without a refusal, the
// backoff is still added: the step was for the inferred incident, the backoff is for the
// refusal.
func (p *Policy) refusal(s *State, at, sent int64, joins bool, e *Effect) {
	s.stuck(at)
	if joins {
		e.changes |= Joined
		if s.flags.has(inferred) {
			p.backOff(s, at, false, e)
			s.flags = s.flags&^(inferred|wasSlow) | refusing
		}
		return
	}
	canary := s.flags.has(refusing)
	if s.isURLTrouble(&e.answer, canary) {
		p.chargeURL(s, at, canary, e)
		return
	}
	if !canary {
		e.charge = ChargeRefusal // only the request that opened the incident is charged
		s.flags &^= severalURLs | noStep | trying
		s.trial.held, s.trial.own = 0, 0
	}
	if canary || s.calm < doubtFrom && !s.flags.has(wasSlow) {
		s.flags |= severalURLs
	}
	own := p.backOff(s, at, canary, e)
	s.trial.hold(s.holdUntil-at, own)
	p.countAtMax(s, e)
	switch {
	case canary && s.flags.has(noStep), e.answer.HasRetryAfter && e.answer.RetryAfter >= quota:
		s.incidentAt = at
		s.flags |= noStep
	case !canary && s.spend(at, &e.answer): // within the known noise
	case !canary && s.isTrial():
		p.try(s, at, sent, e)
	default:
		most := maxInterval
		switch {
		case !own && !canary:
			most = max(s.holdUntil-at-roundedUp, 2*p.pace(s)) // enough, according to the host
		case !canary && s.calm > 0:
			most = ownHold * int64(p.actual(s, at)) / int64(s.calm) // a hold chosen by us says little
		}
		p.incident(s, at, sent, canary, most, e)
	}
	s.flags = s.flags&^(inferred|wasSlow) | refusing
}

// incident slows the host once, however many responses will report it: it fails the current
// probe, or takes a step of at most most.
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

// easeInFlight reacts to rising response times where there is no pace: there the number of
// requests in flight sets the rate, so it is halved. A step of a second, or a floor under a
// probe, would be out of proportion for an owned host that has refused nothing.
func (p *Policy) easeInFlight(s *State, at int64, e *Effect) {
	s.settle(at)
	p.cutInFlight(s)
	e.changes |= Incident
}

// settle resets the counters after an incident.
func (s *State) settle(at int64) {
	s.incidentAt = at
	s.clean, s.cleanSince, s.calm = 0, 0, 0
	s.congested, s.answered, s.overloads = 0, 0, 0
	s.latencies = 0
	s.flags = s.flags&^wasSlow | inferred // cleared by a refusal
}

const (
	firstStep   = int64(time.Second / time.Millisecond)
	maxStepping = 5 // doublings of a step: 32 s
)

// step adds to the current pace: 1 s, doubled for each further step before enough clean
// responses.
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

// lastTen masks the last ten answers, and congestionAt is how many of them must be signs of
// overload.
const (
	lastTen      = 1<<10 - 1
	congestionAt = 3
)

// congestion adds a failure to the last ten answers. Three signs of overload among them are
// an incident, even without a refusal; so are three since a probe, however far apart,
// because a faster pace at which a host fails now and then has not held.
func (p *Policy) congestion(s *State, at, sent int64, overloaded bool, e *Effect) {
	s.congested = s.congested << 1 & lastTen
	s.answered = s.answered << 1 & lastTen
	if !overloaded {
		return
	}
	s.congested |= 1
	s.clean, s.cleanSince = 0, 0 // no probe while there are signs of overload
	if s.flags.has(probing) {
		s.overloads = min(s.overloads+1, congestionAt)
	}
	if bits.OnesCount16(s.congested) >= congestionAt || s.overloads >= congestionAt {
		e.cause = causeCongestion
		p.incident(s, at, sent, false, maxInterval, e)
	}
}

// underLoad reports whether we put load on the host: two or more requests in flight, or a
// pace faster than the last that held. Before any pace has held every pace is faster, if the
// host responds at all; one that never does is down, not overloaded.
func (p *Policy) underLoad(s *State) bool {
	if s.held == 0 {
		return s.inFlight >= 2 || s.answered != 0
	}
	return s.inFlight >= 2 || p.pace(s) < int64(s.held)
}

// success handles a clean response: neither refusal nor failure, to a request sent after the
// last incident.
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
	s.clean += min(1, ^s.clean) // saturates
	s.calm += min(1, ^s.calm)
	slow := false
	median, measured := s.respond(at, e.answer.Latency)
	if measured {
		var incident bool
		if incident, slow = p.judgeLatency(s, at, median); incident {
			e.cause = causeLatency
			if p.pace(s) == 0 && p.cap(s) > 1 {
				p.easeInFlight(s, at, e)
			} else {
				p.incident(s, at, sent, false, maxInterval, e)
			}
			s.flags |= wasSlow
			return
		}
	}
	p.growInFlight(s, slow, measured)
	p.probe(s, at, e)
}
