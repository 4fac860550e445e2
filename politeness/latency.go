package politeness

import "time"

const (
	medianOf = 5

	// growthRise is the median, in percent of the baseline, above which the in-flight cap
	// does not grow.
	growthRise = 150

	// closeRise is the same where response times are watched closely: below the rise that
	// is an incident.
	closeRise = 125

	// minBaseline is the smallest baseline, in microseconds. When a host that responds
	// within 2 ms takes 6, the cause is scheduling or a wireless link; it does not count.
	minBaseline = uint32(50 * time.Millisecond / time.Microsecond)

	// maxUncured is how many latency incidents in a row may pass without the slower pace
	// reducing the response time. Then the host is slow by itself, and its response time
	// becomes the new baseline.
	maxUncured = 3

	// typicalOver is over how many medians the typical one is averaged, and typicalFrom how
	// many it needs before it counts as a low of the day. The lowest of many single medians
	// would be a matter of luck: a host with merely varying response times would exceed
	// twice its baseline half of the time.
	typicalOver = 16
	typicalFrom = 20

	// gaugeGap is the interval between requests until the response time of a closely
	// watched host is known: its idle response time can only be measured while it is idle.
	// gaugeFrom is the typicalFrom of such a host, and gaugeAnswers how many responses that
	// takes: later ones may show our own load.
	gaugeGap     = int64(time.Second / time.Millisecond)
	gaugeFrom    = 6
	gaugeAnswers = gaugeFrom + medianOf - 1

	// The baseline is the lowest typical median of the last 24 hours, kept as two halves of
	// 12.
	baselineHalf = int64(12 * time.Hour / time.Millisecond)
)

// watchful reports whether response times are watched closely: the host is slowed down at a
// rise that would otherwise only stop the growth of the in-flight cap. Then no step up is
// taken before the last one has been measured.
func (p *Policy) watchful() bool { return p.LatencyRise <= growthRise }

// growthRise is the rise above which the in-flight cap does not grow.
func (p *Policy) growthRise() uint64 {
	if p.watchful() {
		return closeRise
	}
	return growthRise
}

// gauging reports whether the response time of a closely watched host is still to be
// measured. If it cannot be measured, because a cache responds for the host, this ends
// without it.
func (p *Policy) gauging(s *State) bool {
	return p.watchful() && s.calm < gaugeAnswers && !s.gauged()
}

// gauged reports whether a low of the day is known.
func (s *State) gauged() bool { return s.low != [2]uint32{} }

// respond adds the response time of a clean response and returns the median of the last
// five, once there are five.
func (s *State) respond(at int64, d time.Duration) (median uint32, ok bool) {
	if d <= 0 {
		return 0, false
	}
	s.ageBaseline(at)
	s.latency[s.latencies%medianOf] = uint32(min(max(d/time.Microsecond, 1), 1<<32-1))
	if s.latencies++; s.latencies == 2*medianOf {
		s.latencies = medianOf
	}
	if s.latencies < medianOf {
		return 0, false
	}
	v := s.latency
	for i := 1; i < len(v); i++ {
		for j := i; j > 0 && v[j] < v[j-1]; j-- {
			v[j], v[j-1] = v[j-1], v[j]
		}
	}
	return v[medianOf/2], true
}

// judgeLatency compares a median with the baseline: whether it is an incident, and whether
// it is too slow for more requests in flight.
func (p *Policy) judgeLatency(s *State, at int64, median uint32) (incident, slow bool) {
	base := s.baseline()
	if s.typical == 0 || percentOf(median, s.typical) <= growthRise {
		from := uint8(typicalFrom)
		if p.watchful() {
			from = gaugeFrom
		}
		s.ordinary(median, from)
	}
	if base == 0 {
		return false, false
	}
	percent := percentOf(median, base)
	slow = percent > p.growthRise()
	if percent < uint64(p.LatencyRise) {
		s.uncured = 0
		return false, slow
	}
	if s.uncured == maxUncured {
		s.low, s.lowAt = [2]uint32{}, at
		s.typical, s.medians = median, 1
		s.uncured = 0
		return false, true
	}
	s.uncured++
	return true, true
}

// percentOf is a median in percent of a baseline.
func percentOf(median, base uint32) uint64 {
	return uint64(median) * 100 / uint64(max(base, minBaseline))
}

// ordinary includes a median close to the typical one in it: the mean of the first few, then
// a slow moving average.
func (s *State) ordinary(median uint32, from uint8) {
	s.medians = min(s.medians+1, typicalFrom)
	over := int64(min(s.medians, typicalOver))
	s.typical = uint32(int64(s.typical) + (int64(median)-int64(s.typical))/over)
	if s.medians >= from && (s.low[0] == 0 || s.typical < s.low[0]) {
		s.low[0] = s.typical
	}
}

// ageBaseline starts a new half when it is due, with its own response times.
func (s *State) ageBaseline(at int64) {
	age := at - s.lowAt
	if age < baselineHalf {
		return
	}
	s.latencies = 0
	if s.low[0] == 0 {
		s.low[0] = s.typical
	}
	s.low, s.lowAt = [2]uint32{0, s.low[0]}, s.lowAt+baselineHalf
	s.typical, s.medians = 0, 0
	if age >= 2*baselineHalf {
		s.low[1], s.lowAt = 0, at
	}
}

// baseline is the lowest typical median of the window; before there is one, what is typical
// so far; 0 if nothing is known.
func (s *State) baseline() uint32 {
	switch {
	case s.low[0] == 0 && s.low[1] == 0:
		return s.typical
	case s.low[0] == 0 || s.low[1] == 0:
		return max(s.low[0], s.low[1])
	default:
		return min(s.low[0], s.low[1])
	}
}
