package politeness

import "time"

const (
	// maxNeed is where the number of clean answers before a probe stops
	// growing.
	maxNeed = 5120

	// A failed probe doubles the need. One that was refused only after twice
	// the need in clean answers has met a host with a long memory, a window of
	// minutes or a large bucket: four times, or each doubling would be paid
	// for with a refusal.
	failedGrowth, lateGrowth = 2, 4

	// While no probe has failed a host recovers by time as well: after so
	// long, with at least so many clean answers.
	recoverAfter = int64(30 * time.Second / time.Millisecond)
	recoverWith  = 3

	// aloneAfterProbe is how many requests go one at a time after a probe.
	aloneAfterProbe = 3

	// A floor is trusted in full for a day; then one probe a day may test it;
	// it is forgotten after a week.
	floorTrusted = int64(24 * time.Hour / time.Millisecond)
	floorKept    = 7 * floorTrusted
)

// margin is how close to a floor is close enough: 50 ms or a tenth of it.
func margin(floor int64) int64 { return max(50, floor/10) }

// probe tries a faster pace when the host has been content for long enough.
func (p *Policy) probe(s *State, at int64, e *Effect) {
	s.ageFloor(at)
	s.ageNoise(at)
	if !s.conclude(at) {
		return // no other pace while one is on trial
	}
	p.confirm(s)
	target := p.probeTarget(s, at)
	if target >= int64(s.learned) {
		return
	}
	if s.floor != 0 && target <= int64(s.floor) {
		s.flags |= testing
		s.testedAt = at
	}
	s.flags |= probing
	s.probeAt = at - 1 // at was rounded up, and what leaves in this very millisecond leaves at the new pace
	s.held = s.learned
	s.learned = uint32(target)
	s.clean, s.cleanSince = 0, at
	s.single = aloneAfterProbe
	s.strained = 0
	if p.watchful() {
		s.gaugeAnew()
	}
	e.changes |= Probed
}

// confirm draws conclusions from a pace that has held for as many answers as a
// first probe takes.
func (p *Policy) confirm(s *State) {
	if int(s.clean) < p.Need {
		return
	}
	if s.held == 0 && s.congested == 0 {
		s.held = uint32(min(p.pace(s), maxInterval))
	}
	if s.flags.has(testing) {
		// The test below the floor held: that is the floor until tomorrow's.
		s.floor = s.learned
		s.flags &^= testing
	}
}

// probeTarget returns the pace to try next, which is the present one while it
// is not time to try another.
func (p *Policy) probeTarget(s *State, at int64) int64 {
	base, learned, floor := p.base(s), int64(s.learned), int64(s.floor)
	stay := learned
	switch {
	case learned <= base:
		return stay
	case floor == 0 || floor < base:
		// Nothing above the base is known to be refused: halfway there, and
		// the whole way when little is left.
		if !p.due(s, at) {
			return stay
		}
		if learned-base <= 2*margin(base) {
			return base
		}
		return (learned + base) / 2
	case at-s.testedAt >= floorTrusted && int(s.clean) >= p.Need && !s.flags.has(testing):
		return (floor + base) / 2
	case !p.due(s, at):
		return stay
	default:
		// Within the margin of the floor this is no faster than learned.
		return max((learned+floor)/2, floor+margin(floor))
	}
}

// due reports whether enough clean answers have come for a probe.
func (p *Policy) due(s *State, at int64) bool {
	if s.clean >= p.need(s) {
		return true
	}
	return s.floor == 0 && s.clean >= recoverWith && at-s.cleanSince >= recoverAfter
}

func (p *Policy) need(s *State) uint32 {
	return max(uint32(s.need), uint32(p.Need))
}

// failProbe handles the first refusal since the last probe, however late: the
// pace that was tried is the floor, and the last one that held applies again.
// If the request had left before the probe, it is that last one which did not
// hold.
func (p *Policy) failProbe(s *State, at, sent int64, e *Effect) {
	switch {
	case sent < s.probeAt:
		s.floor = s.held
	case !s.flags.has(testing): // a failed test only renews the floor it went below
		s.floor = max(s.learned, 1) // 0 would be no floor at all
	}
	s.floorAt, s.testedAt = at, at
	growth := uint32(failedGrowth)
	if s.clean >= failedGrowth*p.need(s) {
		growth = lateGrowth
	}
	s.need = uint16(min(growth*p.need(s), maxNeed))
	floor := int64(s.floor)
	s.learned = uint32(min(max(int64(s.held), floor+margin(floor)), p.maxPace(s)))
	s.flags &^= probing | testing
	e.changes |= ProbeFailed
}

// ageFloor forgets a floor that no refusal has confirmed for a week.
func (s *State) ageFloor(at int64) {
	if s.floor != 0 && at-s.floorAt >= floorKept {
		s.forgetFloor()
	}
}

func (s *State) forgetFloor() {
	s.floor, s.floorAt, s.testedAt, s.need = 0, 0, 0, 0
}
