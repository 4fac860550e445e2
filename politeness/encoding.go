package politeness

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// stateVersion is the first byte of an encoded State. A change of the fields or of their
// meaning needs a new version; old versions can still be read.
const stateVersion = 4

// ErrVersion is returned when a State was written by an unknown version of this package. The
// host is then unknown: treat it as after an unclean end.
var ErrVersion = errors.New("unknown version of host state")

var errCorrupt = errors.New("corrupt host state")

// maxInstant is the latest time of a State: the end of the year 9999, in milliseconds.
const maxInstant = 253402300799999

// AppendBinary appends the encoded state to b. A host about which little is known takes few
// bytes.
func (s State) AppendBinary(b []byte) ([]byte, error) {
	w := wire{buf: append(b, stateVersion), version: stateVersion}
	s.wire(&w)
	return w.buf, nil
}

// MarshalBinary encodes the state.
func (s State) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary decodes a state and checks that every field has a possible value.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("decode host state: %w: no bytes", errCorrupt)
	}
	if b[0] < 1 || b[0] > stateVersion {
		return fmt.Errorf("decode host state: %w %d", ErrVersion, b[0])
	}
	w := wire{buf: b[1:], reading: true, version: b[0]}
	var d State
	d.wire(&w)
	if w.err == nil && len(w.buf) > 0 {
		w.fail("%d bytes too many", len(w.buf))
	}
	if w.err != nil {
		return fmt.Errorf("decode host state: %w", w.err)
	}
	*s = d
	return nil
}

// wire encodes or decodes the fields; one list for both directions keeps them consistent.
func (s *State) wire(w *wire) {
	w.fixed(&s.key)
	for _, moment := range []*int64{
		&s.lastSent, &s.holdUntil, &s.failUntil, &s.incidentAt, &s.failedAt, &s.probeAt,
		&s.floorAt, &s.testedAt, &s.cleanSince, &s.stuckSince, &s.lowAt,
	} {
		number(w, moment, maxInstant)
	}
	for _, interval := range []*uint32{&s.crawlDelay, &s.learned, &s.held, &s.floor} {
		number(w, interval, uint32(maxInterval))
	}
	for i := range s.latency {
		number(w, &s.latency[i], ^uint32(0))
	}
	for i := range s.low {
		number(w, &s.low[i], ^uint32(0))
	}
	number(w, &s.typical, ^uint32(0))
	number(w, &s.medians, typicalFrom)
	number(w, &s.clean, ^uint32(0))
	number(w, &s.sends, ^uint32(0))
	number(w, &s.need, maxNeed)
	number(w, &s.calm, ^uint16(0))
	number(w, &s.inFlight, ^uint16(0))
	number(w, &s.grown, maxInFlight)
	number(w, &s.round, maxInFlight)
	number(w, &s.congested, lastTen)
	number(w, &s.answered, lastTen)
	number(w, &s.overloads, congestionAt)
	number(w, &s.steps, maxStepping)
	number(w, &s.backoffs, maxDoublings)
	number(w, &s.failures, maxDoublings)
	number(w, &s.failed, ^uint8(0))
	number(w, &s.atMax, ^uint8(0))
	number(w, &s.single, aloneAfterProbe)
	number(w, &s.latencies, 2*medianOf-1)
	number(w, &s.uncured, maxUncured)
	known := allFlags
	switch {
	case w.version < 3:
		known = paused<<1 - 1
	case w.version < 4:
		known = wasSlow - 1
	}
	number(w, &s.flags, known)
	if w.version >= 2 {
		number(w, &s.asked, uint32(maxInterval))
	}
	if w.version >= 3 {
		s.trial.wire(w)
		s.noise.wire(w)
	}
	if w.reading && s.flags.has(trying) && s.trial.refusals == 0 {
		w.fail("a trial without a refusal")
	}
}

// wire is an encoder or a decoder.
type wire struct {
	buf     []byte
	version byte
	reading bool
	err     error
}

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: %s", errCorrupt, fmt.Sprintf(format, args...))
	}
}

// fixed encodes eight bytes: a hash does not benefit from a variable length.
func (w *wire) fixed(v *uint64) {
	switch {
	case !w.reading:
		w.buf = binary.BigEndian.AppendUint64(w.buf, *v)
	case len(w.buf) < 8:
		w.fail("ends in its key")
	default:
		*v = binary.BigEndian.Uint64(w.buf)
		w.buf = w.buf[8:]
	}
}

// number encodes an integer from 0 to limit.
func number[T ~int64 | ~uint32 | ~uint16 | ~uint8](w *wire, v *T, limit T) {
	if !w.reading {
		w.buf = binary.AppendUvarint(w.buf, uint64(*v))
		return
	}
	if w.err != nil {
		return
	}
	x, n := binary.Uvarint(w.buf)
	if n <= 0 {
		w.fail("ends early")
		return
	}
	if x > uint64(limit) {
		w.fail("%d where at most %d can be", x, uint64(limit))
		return
	}
	*v = T(x)
	w.buf = w.buf[n:]
}
