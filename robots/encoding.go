package robots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// stateVersion is the first byte of an encoded State. A new layout gets the next
// number and must still read the older ones.
const stateVersion = 1

var errShort = errors.New("it ends too early")

// AppendBinary appends the encoding of s: some 70 bytes and the validators,
// stable across releases.
//
//	version byte · Known byte · Binding byte · Sum (32 bytes, only with a copy)
//	AnsweredAt FreshUntil TriedAt FailingSince RetryAt: signed varints, Unix milliseconds, 0 for none
//	Status Failures: varints · ETag LastModified: length as varint, bytes
func (s State) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, stateVersion, byte(s.Known), 0)
	if s.Binding {
		b[len(b)-1] = 1
	}
	if s.Known == Copy {
		b = append(b, s.Sum[:]...)
	}
	for _, t := range s.times() {
		ms := int64(0)
		if !t.IsZero() {
			ms = t.UnixMilli()
		}
		b = binary.AppendVarint(b, ms)
	}
	b = binary.AppendVarint(b, int64(s.Status))
	b = binary.AppendVarint(b, int64(s.Failures))
	for _, v := range []string{s.ETag, s.LastModified} {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends.
func (s State) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary reads an encoded State. On an error s is unchanged.
func (s *State) UnmarshalBinary(data []byte) error {
	d := stateDecoder{rest: data}
	if v := d.byte(); d.err == nil && v != stateVersion {
		return fmt.Errorf("read robots state: version %d, want %d", v, stateVersion)
	}
	var n State
	n.Known, n.Binding = Known(d.byte()), d.byte() == 1
	if n.Known > Closed {
		return fmt.Errorf("read robots state: unknown kind of answer %d", n.Known)
	}
	if n.Known == Copy {
		copy(n.Sum[:], d.take(len(n.Sum)))
	}
	for _, t := range n.times() {
		if ms := d.varint(); ms != 0 {
			*t = time.UnixMilli(ms).UTC()
		}
	}
	n.Status, n.Failures = int(d.varint()), int(d.varint())
	n.ETag, n.LastModified = d.string(), d.string()
	if d.err != nil {
		return fmt.Errorf("read robots state: %w", d.err)
	}
	if len(d.rest) > 0 {
		return fmt.Errorf("read robots state: %d bytes too many", len(d.rest))
	}
	*s = n
	return nil
}

// times lists the times of a state in the order they are stored.
func (s *State) times() [5]*time.Time {
	return [...]*time.Time{&s.AnsweredAt, &s.FreshUntil, &s.TriedAt, &s.FailingSince, &s.RetryAt}
}

// stateDecoder reads fields and remembers the first error.
type stateDecoder struct {
	rest []byte
	err  error
}

// take returns the next n bytes, or nil if there are fewer.
func (d *stateDecoder) take(n int) []byte {
	if d.err != nil || n > len(d.rest) {
		d.err = errShort
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *stateDecoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *stateDecoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.err = errShort
		return 0
	}
	d.take(n)
	return v
}

func (d *stateDecoder) string() string {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > maxValidator {
		d.err = errShort
		return ""
	}
	d.take(size)
	return string(d.take(int(n)))
}
