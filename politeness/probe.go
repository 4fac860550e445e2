package politeness

import "time"

const (
	// maxNeed is the maximum of clean responses before a probe.
	maxNeed = 5120

	// A failed probe doubles the need. If it was refused only after twice the need in clean
	// responses, the host has a long window or a large bucket: the need is quadrupled, to
	// save the refusals of further doublings.
	failedGrowth, lateGrowth = 2, 4

	// While no probe has failed a host also recovers by time: after this long, with at least
	// this many clean responses.
	recoverAfter = int64(30 * time.Second / time.Millisecond)
	recoverWith  = 3

	// aloneAfterProbe is how many requests are sent one at a time after a probe.
	aloneAfterProbe = 3

	// A floor is fully trusted for a day; then one probe a day may test it; it is forgotten
	// after a week.
	floorTrusted = int64(24 * time.Hour / time.Millisecond)
	floorKept    = 7 * floorTrusted
)

// margin is how close to a floor is close enough: 50 ms or a tenth of it.
func margin(floor int64) int64 { return max(50, floor/10) }

// probe tries a faster pace after enough clean responses.
func (p *Policy) probe(s *State, at int64, e *Effect) {
	s.ageFloor(at)
	s.ageNoise(at)
	if !s.conclude(at) {
		return // no other pace while a trial is running
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
	s.probeAt = at - 1 // at was rounded up; a request sent in this millisecond uses the new pace
	s.held = s.learned
	s.learned = uint32(target)
	s.clean, s.cleanSince = 0, at
	s.single = aloneAfterProbe
	s.overloads = 0
	if p.watchful() {
		s.resetInFlight()
	}
	e.changes |= Probed
}

// confirm concludes from a pace that has held for as many responses as a first probe needs.
func (p *Policy) confirm(s *State) {
	if int(s.clean) < p.Need {
		return
	}
	if s.held == 0 && s.congested == 0 {
		s.held = uint32(min(p.pace(s), maxInterval))
	}
	if s.flags.has(testing) {
		// The test below the floor held: this is the floor until tomorrow's test.
		s.floor = s.learned
		s.flags &^= testing
	}
}

// probeTarget returns the pace to try next; the current one if no probe is due.
func (p *Policy) probeTarget(s *State, at int64) int64 {
	base, learned, floor := p.base(s), int64(s.learned), int64(s.floor)
	stay := learned
	switch {
	case learned <= base:
		return stay
	case floor == 0 || floor < base:
		// No pace above the base is known to be refused: go halfway there, or all the way if
		// little is left.
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

// due reports whether there were enough clean responses for a probe.
func (p *Policy) due(s *State, at int64) bool {
	if s.clean >= p.need(s) {
		return true
	}
	return s.floor == 0 && s.clean >= recoverWith && at-s.cleanSince >= recoverAfter
}

func (p *Policy) need(s *State) uint32 {
	return max(uint32(s.need), uint32(p.Need))
}

// failProbe handles the first refusal since the last probe, however late: the pace that was
// tried is the floor, and the last one that held applies again. If the request was sent before
// the probe, that last one did not hold.
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
