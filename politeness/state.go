package politeness

import "time"

// State is what is known about one host. It is a plain value of fixed size without pointers:
// it can be copied and compared, and half a million of them fit in memory. Make one with
// [New]; all changes are made by [Policy.Sent], [Policy.Observe] and the few methods for
// external input (a Crawl-delay, an operator's pace or hold).
//
// Times are Unix milliseconds, intervals milliseconds, response times microseconds. Zero
// means "never" or "unknown".
type State struct {
	key uint64 // hash of the host, for jitter that differs between hosts and repeats on replay

	// The last request and the two holds.
	lastSent  int64 // when the last request left; pace counts from here
	holdUntil int64 // Retry-After and the backoff after refusals
	failUntil int64 // the backoff after server and network errors

	// Times that later answers are compared with.
	incidentAt int64 // the last incident
	failedAt   int64 // the last failure that lengthened the backoff
	probeAt    int64 // the last probe
	floorAt    int64 // when the floor was last confirmed by a refusal
	testedAt   int64 // when the floor was last set or tested
	cleanSince int64 // when the current run of clean responses began
	stuckSince int64 // since when the host is held or failing without a clean response
	lowAt      int64 // when the newer half of the baseline began

	// The pace.
	crawlDelay uint32 // the Crawl-delay of robots.txt
	asked      uint32 // set by an operator
	learned    uint32 // learned from refusals; 0 before the first
	held       uint32 // the last pace that held, to return to when a probe fails
	floor      uint32 // the last pace that was refused after a probe; 0 before the first
	clean      uint32 // clean responses since the last incident or probe
	need       uint16 // clean responses before the next probe; 0 means Policy.Need
	calm       uint16 // clean responses since the last incident

	// Response times.
	latency [medianOf]uint32
	low     [2]uint32 // lowest typical median of the newer and the older half of the baseline window
	typical uint32    // typical median in the newer half, without outliers

	// Requests in flight.
	sends    uint32 // requests ever sent, the n of the jitter
	inFlight uint16
	grown    uint16 // the cap before reductions; 0 means 1
	round    uint16 // clean responses in the current round

	// The last ten answers, newest in the lowest bit.
	congested uint16 // 502, 504, reset or timeout under load
	answered  uint16 // clean

	overloads uint8 // signs of overload since the last probe
	steps     uint8 // steps since the last run of clean responses; each doubles the next
	backoffs  uint8 // backoffs after refusals since the host last served
	failures  uint8 // backoffs after failures since the host last served
	failed    uint8 // failed attempts in a row
	atMax     uint8 // 429s in a row at the maximum pace
	single    uint8 // requests still to be sent one at a time after a probe
	latencies uint8 // entries in the ring of response times; beyond medianOf it wraps
	uncured   uint8 // latency incidents in a row that a slower pace did not end
	medians   uint8 // medians in typical, up to typicalFrom
	flags     flags

	trial trial
	noise noise
}

// flags are the boolean parts of a State.
type flags uint16

const (
	refusing    flags = 1 << iota // the last response was a refusal: one canary at a time
	probing                       // the last change of pace was a probe that has not failed
	testing                       // that probe went below the floor, to test it
	settled                       // the in-flight cap has had its first incident or latency rise
	open                          // the circuit is open
	inferred                      // the last incident was inferred without a refusal
	paused                        // paused by an operator
	noStep                        // current refusals do not slow the pace: a trial, noise or a quota
	severalURLs                   // several URLs were refused, or too little was served before to know
	trying                        // the trial's pace will be set when the host serves again
	not429                        // a refusal of the trial was not a 429
	noise429                      // the noise includes 429
	wasSlow                       // the last incident was slow responses, and nothing has failed since

	allFlags = refusing | probing | testing | settled | open | inferred | paused | noStep | severalURLs | trying | not429 | noise429 | wasSlow
)

func (f flags) has(x flags) bool { return f&x != 0 }

// New returns the state of an unknown host. The name is only used for jitter.
func New(host string) State {
	return State{key: hostKey(host)}
}

// hostKey is FNV-1a: the same on every machine, so that a replay elsewhere draws the same
// jitter.
func hostKey(host string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(host) {
		h = (h ^ uint64(host[i])) * prime
	}
	return h
}

// Learned is the pace learned from refusals, 0 before the first.
func (s State) Learned() time.Duration { return millis(s.learned) }

// Floor is the slowest pace that a probe found to be refused, 0 if unknown.
func (s State) Floor() time.Duration { return millis(s.floor) }

// CrawlDelay is the Crawl-delay of the host's robots.txt, 0 for none.
func (s State) CrawlDelay() time.Duration { return millis(s.crawlDelay) }

// InFlight is the number of requests sent and not yet observed.
func (s State) InFlight() int { return int(s.inFlight) }

// Sends is how many requests were ever sent to the host, including robots.txt and sitemaps.
func (s State) Sends() int64 { return int64(s.sends) }

// LastSent is when the last request was sent, the zero time before the first.
func (s State) LastSent() time.Time { return instant(s.lastSent) }

// HeldUntil is the end of the hold, set by the host or by our own backoff; the zero time if
// there was none.
func (s State) HeldUntil() time.Time { return instant(max(s.holdUntil, s.failUntil)) }

// Refusing reports whether the host's last response was a refusal. While it is, at most one
// request is admitted at a time: a canary, for which the caller takes a different waiting URL
// each time if there is one.
func (s State) Refusing() bool { return s.flags.has(refusing) }

// CircuitOpen reports whether so many attempts in a row failed that the host gets only one
// request per backoff.
func (s State) CircuitOpen() bool { return s.flags.has(open) }

// Failures is the number of failed attempts in a row.
func (s State) Failures() int { return int(s.failed) }

// CleanStreak is the number of clean responses since the last incident.
func (s State) CleanStreak() int { return int(s.calm) }

// LastIncident is when the host last pushed back, the zero time if never.
func (s State) LastIncident() time.Time { return instant(s.incidentAt) }

// WithCrawlDelay returns the state with the Crawl-delay of robots.txt, 0 for none. The caller
// skips hosts whose delay is too long; whatever is set here is kept in full.
func (s State) WithCrawlDelay(d time.Duration) State {
	s.crawlDelay = saturate(ceilMillis(d))
	return s
}

// Asked is the interval set by an operator, 0 for none.
func (s State) Asked() time.Duration { return millis(s.asked) }

// WithAsked returns the state with the interval set by an operator, 0 for none. It is a lower
// bound like a Crawl-delay: what was learned stays.
func (s State) WithAsked(d time.Duration) State {
	s.asked = saturate(ceilMillis(d))
	return s
}

// Paused reports whether an operator has paused the host.
func (s State) Paused() bool { return s.flags.has(paused) }

// WithPaused returns the state paused, or no longer so. A job's patience with the host
// restarts at the end of a pause.
func (s State) WithPaused(yes bool) State {
	s.flags &^= paused
	if yes {
		s.flags |= paused
	}
	s.stuckSince = 0
	return s
}

// Forget returns the state without what was learned: the pace, its floor and response times.
// It keeps the last request, a hold, what is in flight, and the intervals of robots.txt and
// operators.
func (s State) Forget() State {
	return State{
		key: s.key, lastSent: s.lastSent, holdUntil: s.holdUntil, failUntil: s.failUntil, crawlDelay: s.crawlDelay, asked: s.asked,
		sends: s.sends, inFlight: s.inFlight, flags: s.flags & paused,
	}
}

// WithLearned returns the state with a pace set by an operator or imported. What was known
// about other paces is dropped.
func (s State) WithLearned(d time.Duration) State {
	s.learned = saturate(ceilMillis(d))
	s.forgetFloor()
	s.held, s.clean, s.cleanSince = 0, 0, 0
	s.endTrial()
	s.flags &^= probing | testing
	return s
}

// WithHold returns the state with a hold until the given time. It never shortens a hold.
func (s State) WithHold(now, until time.Time) State {
	s.holdUntil = max(s.holdUntil, ceilMilli(until))
	s.stuck(ceilMilli(now))
	return s
}

// stuck records the time from which a job's patience counts.
func (s *State) stuck(at int64) {
	if s.stuckSince == 0 {
		s.stuckSince = at
	}
}

// MaxInterval is the longest interval of a state; longer ones are cut to it. Beyond a day a
// host is skipped, not paced.
const MaxInterval = 24 * time.Hour

const maxInterval = int64(MaxInterval / time.Millisecond)

func saturate(ms int64) uint32 { return uint32(min(max(ms, 0), maxInterval)) }

func millis(ms uint32) time.Duration { return time.Duration(ms) * time.Millisecond }

// ceilMillis rounds a duration up to whole milliseconds, so that no interval becomes shorter
// by being stored.
func ceilMillis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// ceilMilli rounds a time up, so that nothing counts from before it happened. It is limited to
// the range of a State, and never 0, which means "never".
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) > 0 {
		ms++
	}
	return min(max(ms, 1), maxInstant)
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
