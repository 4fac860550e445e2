package politeness

import (
	"net/http"
	"strconv"
	"time"
)

const (
	// trialFrom is the gap, in clean responses, from which slowing down is an experiment
	// (trial): an earlier refusal causes a step. Further refusals of a trial belong to it,
	// however soon they come.
	trialFrom = 8

	// doubtFrom is the smallest gap that can be a doubt, and maxDoubts how many doubts make
	// it noise.
	doubtFrom, maxDoubts = 3, 3

	// heldGaps is for how many mean gaps a pace must hold to be accepted as the cure.
	heldGaps = 3

	// overEven is the fraction (1/50) by which a trial exceeds the even pace.
	overEven = 50

	// ownHold is how many requests a hold chosen by us counts for at most, until the same
	// even pace has resulted twice.
	ownHold = 6

	// roundedUp is by how much a Retry-After is rounded up on average, plus a little for the
	// network, in milliseconds.
	roundedUp = 520

	// quota is the Retry-After from which a refusal is not about the pace.
	quota = 30 * time.Minute

	// noiseKept is how long noise is remembered.
	noiseKept = int64(7 * 24 * time.Hour / time.Millisecond)

	// A refusal that is noise costs one credit. Each clean response earns earned times the
	// share of the noise, up to maxCredit.
	credit    = 1 << 16
	earned    = 2
	maxCredit = 4 * credit
	maxShare  = credit / 4
)

// trial is an experiment: do refusals become fewer at a slower pace? The gap of a refusal is
// the number of clean responses since the previous one. The zero trial means none.
type trial struct {
	from     uint32 // the learned pace when it began, to return to
	began    uint32 // the pace when it began
	actual   uint32 // the actual interval before the last refusal
	even     uint32 // the pace that spreads the last gap and the hold after it evenly
	low      uint32 // the part of that which is certain
	held     uint32 // how long the host certainly refused since it last served
	own      uint32 // how long it was held beyond that, by our choice
	answers  uint32 // clean responses in all gaps
	gap      uint16 // the last gap
	first    uint16 // the first gap, which a burst may have lengthened
	refusals uint8
	doubts   uint8 // refusals at a slower pace after a gap that was not longer
}

// noise is what is known about refusals that do not depend on our pace.
type noise struct {
	at       int64  // when it was found; 0 means not found
	from, to uint32 // the paces between which it was found
	credit   uint32 // refusals that will not count as incidents, in units of 1/credit
	share    uint16 // of responses, in units of 1/credit
}

// Noise is the share of requests that a host refuses whatever our pace, and two paces at
// which it was the same. It is 0 if none is known.
func (s State) Noise() (share float64, from, to time.Duration) {
	return float64(s.noise.share) / credit, millis(s.noise.from), millis(s.noise.to)
}

// NoiseSentence describes Noise, such as "refusals do not depend on our pace: 1.1 % at 1.0 s
// and at 1.9 s"; empty if none is known.
func (s State) NoiseSentence() string {
	if s.noise.at == 0 {
		return ""
	}
	per := strconv.FormatFloat(100*float64(s.noise.share)/credit, 'f', 1, 64)
	return "refusals do not depend on our pace: " + per + " % at " + seconds(int64(s.noise.from)) + " and at " + seconds(int64(s.noise.to))
}

// mean is the mean gap so far.
func (t *trial) mean() uint32 { return t.answers / uint32(max(t.refusals, 1)) }

// usual is the gap that a slower pace should lengthen: the last one, or the mean of all but
// the first.
func (t *trial) usual() uint32 {
	if t.refusals < 2 {
		return uint32(t.gap)
	}
	return max(uint32(t.gap), (t.answers-uint32(t.first))/uint32(t.refusals-1))
}

// hold records that a hold begins: the host refused for all the time before it.
func (t *trial) hold(ms int64, own bool) {
	t.held, t.own = saturate(int64(t.held)+int64(t.own)), 0
	if own {
		t.own = saturate(ms)
	} else {
		t.held = saturate(int64(t.held) + ms)
	}
}

func (s *State) endTrial() {
	s.trial = trial{}
	s.flags &^= trying
}

// spoken reports whether a refusal states that it is about our pace.
func (a *Answer) spoken() bool {
	return a.Status == http.StatusTooManyRequests && a.HasRetryAfter && a.RetryAfter > 0
}

// isTrial reports whether a refusal starts or continues a trial.
func (s *State) isTrial() bool {
	return s.calm >= trialFrom || s.calm > 0 && (s.trial.refusals > 0 || s.noise.at != 0)
}

// try handles a refusal by a trial. Its pace is set when the host serves again: only then is
// it known how long the host refused.
func (p *Policy) try(s *State, at, sent int64, e *Effect) {
	t, n := &s.trial, s.calm
	if t.refusals == 0 {
		*t = trial{from: s.learned, began: saturate(p.pace(s)), held: t.held, own: t.own, first: n}
		s.flags &^= not429
	} else if n >= doubtFrom && uint32(n) < t.usual() && !e.answer.spoken() {
		t.doubts = min(t.doubts+1, maxDoubts)
	}
	if e.answer.Status != http.StatusTooManyRequests {
		s.flags |= not429
	}
	t.answers += uint32(n)
	t.refusals += min(1, ^t.refusals) // saturates
	t.gap, t.actual = n, p.actual(s, at)
	s.flags |= trying
	if s.flags.has(probing) && s.noise.at == 0 {
		// The faster pace has failed, and is the floor. Soon after the probe the pace before
		// it applies again; later the trial decides.
		learned := s.learned
		late := s.clean >= trialFrom
		p.failProbe(s, at, sent, e)
		if late {
			s.learned = learned
			e.changes &^= ProbeFailed
		} else {
			s.flags &^= trying
		}
	}
	s.flags &^= probing | testing
	s.settle(at)
	p.cutInFlight(s)
	s.flags |= noStep
	e.changes |= Incident
	if t.doubts == maxDoubts || t.doubts > 0 && s.noise.at != 0 {
		p.findNoise(s, at, e)
	}
}

// actual is the actual interval: the pace, or the response time if that is longer.
func (p *Policy) actual(s *State, at int64) uint32 {
	d := p.pace(s)
	if s.clean > 0 && s.cleanSince > 0 {
		d = max(d, min((at-s.cleanSince)/int64(s.clean), int64(s.typical/1000)))
	}
	return saturate(max(d, 1))
}

// findNoise concludes that refusals do not depend on our pace. The pace from before them is
// restored, and what they taught about other paces is forgotten.
func (p *Policy) findNoise(s *State, at int64, e *Effect) {
	t := &s.trial
	share := credit * uint64(t.refusals) / (uint64(t.answers) + uint64(t.refusals))
	s.noise = noise{
		at: at, from: t.began, to: saturate(p.pace(s)), credit: maxCredit,
		share: max(s.noise.share, uint16(min(share, maxShare))),
	}
	s.flags &^= noise429
	if !s.flags.has(not429) {
		s.flags |= noise429
	}
	s.learned = min(s.learned, t.from) // never slower, whatever was stored
	s.forgetFloor()
	s.endTrial()
	e.changes |= Noise
}

// judge sets the pace of a trial when the host serves again: slightly above the even pace.
// At a limit that costs no time, and without one not much.
func (p *Policy) judge(s *State, e *Effect) {
	if !s.flags.has(trying) {
		return
	}
	s.flags &^= trying
	even := p.even(s)
	s.learned = saturate(min(max(int64(s.learned), even+even/overEven), p.maxPace(s)))
	s.trial.low = min(s.trial.low, s.learned)
	e.changes |= Slowed
}

// even is the pace that spreads the responses of the last gap and the hold after it evenly.
// A Retry-After is rounded up by half a second on average, by one at most. A hold chosen by
// us says little until the same pace has resulted twice; until then, and always where noise
// is known, the trial at most doubles the pace at which it began, and goes beyond only as
// far as the host was seen to refuse.
func (p *Policy) even(s *State) int64 {
	const one = 1000
	t := &s.trial
	pace, gap, held, own := int64(t.actual), int64(t.gap), int64(t.held), int64(t.own)
	even, last := pace+max(held+own, pace)/gap, int64(t.even)
	t.even, t.low = saturate(even), saturate(pace+max(held-one, 0)/gap)
	if own == 0 {
		t.low = max(t.low, t.actual+1)
		if gap < trialFrom && 2*held < pace {
			return pace + held/2/gap // so short that it is exact
		}
		return pace + max(held-roundedUp, pace)/gap
	}
	little := min(pace+min(own, ownHold*pace)/int64(max(t.mean(), 1)), max(2*int64(t.began), pace))
	switch {
	case s.noise.at != 0:
		t.low = t.actual
		return little
	case alike(even, last, 8) && 64*even > 65*pace, alike(even, last, 3) && even > 2*pace && gap < 2*trialFrom:
		t.low = saturate(even * 10 / 11)
		return even
	default:
		return little + held/gap
	}
}

// alike reports whether two paces differ by at most 1/part.
func alike(a, b, part int64) bool { return (part+1)*min(a, b) >= part*max(a, b) }

// conclude ends a trial whose pace has held for long enough, and reports whether there is
// none any more. The pace that the host was seen to refuse is the floor; a single refusal
// followed only by a hold of our choice sets none, and the pace is probed.
func (s *State) conclude(at int64) bool {
	t := &s.trial
	if t.refusals == 0 {
		return true
	}
	gaps := uint32(heldGaps)
	if t.refusals == 1 && t.own == 0 {
		gaps = 1 // the host served again when it said
	}
	if uint32(s.calm) <= min(gaps*t.mean(), 1<<15) {
		return false
	}
	if t.low > t.actual && t.refusals > 1 {
		s.floor = max(t.low, s.floor)
		s.floorAt, s.testedAt = at, at
	}
	s.held = s.learned
	s.endTrial()
	return true
}

// spend pays for a refusal with noise credit, and reports whether there was enough.
func (s *State) spend(at int64, a *Answer) bool {
	if s.noise.at == 0 || s.noise.credit < credit || a.spoken() || a.Status == http.StatusTooManyRequests && !s.flags.has(noise429) {
		return false
	}
	s.noise.credit -= credit
	s.incidentAt, s.calm = at, 0
	s.flags |= noStep
	return true
}

// earn adds noise credit for a clean response.
func (s *State) earn() {
	if s.noise.at != 0 {
		s.noise.credit = min(s.noise.credit+earned*uint32(s.noise.share), maxCredit)
	}
}

// ageNoise forgets noise that was found a week ago.
func (s *State) ageNoise(at int64) {
	if s.noise.at != 0 && at-s.noise.at >= noiseKept {
		s.noise = noise{}
	}
}

// isURLTrouble reports whether a refusal concerns only its URL: it was refused before, and
// others are served, or others were served and it is the only one requested since.
func (s *State) isURLTrouble(a *Answer, canary bool) bool {
	if a.Tries.Refusals == 0 || a.HasRetryAfter {
		return false
	}
	if canary {
		return !s.flags.has(severalURLs)
	}
	return s.calm > 0
}

// chargeURL handles a refusal that concerns only its URL. What its earlier refusals taught is
// undone. A canary for a single URL waits as long as after the first refusal; after its last
// try there is no wait.
func (p *Policy) chargeURL(s *State, at int64, canary bool, e *Effect) {
	e.charge = ChargeRefusal
	s.incidentAt = at
	s.forgetFloor()
	if s.trial.refusals > 0 {
		s.learned = min(s.learned, s.trial.from)
		s.endTrial()
		e.changes |= Relieved
	}
	if canary && int(e.answer.Tries.Refusals) < p.RefusalRetries {
		s.hold(at, p.backoff(s, p.Refusing, 0), e)
	}
}

func (t *trial) wire(w *wire) {
	for _, interval := range []*uint32{&t.from, &t.began, &t.actual, &t.even, &t.low, &t.held, &t.own} {
		number(w, interval, uint32(maxInterval))
	}
	number(w, &t.answers, ^uint32(0))
	number(w, &t.gap, ^uint16(0))
	number(w, &t.first, ^uint16(0))
	number(w, &t.refusals, ^uint8(0))
	number(w, &t.doubts, maxDoubts)
	if w.reading && ((t.gap > 0) != (t.refusals > 0) || uint32(t.first) > t.answers) {
		w.fail("a trial with %d refusals, a gap of %d and a first gap of %d among %d responses", t.refusals, t.gap, t.first, t.answers)
	}
}

func (n *noise) wire(w *wire) {
	number(w, &n.at, maxInstant)
	number(w, &n.from, uint32(maxInterval))
	number(w, &n.to, uint32(maxInterval))
	number(w, &n.credit, maxCredit)
	number(w, &n.share, maxShare)
}
