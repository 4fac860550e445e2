package postgres

import (
	"testing"
	"time"
)

// TestClockOffset compares the clock of this machine, which is also the server's, and clocks
// that are an hour off.
func TestClockOffset(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	for _, shift := range []time.Duration{0, time.Hour, -time.Hour} {
		offset, within, err := s.ClockOffset(t.Context(), func() time.Time { return time.Now().Add(shift) })
		if err != nil {
			t.Fatal(err)
		}
		if wrong := (offset + shift).Abs(); wrong > within+time.Millisecond {
			t.Errorf("a clock that is %v ahead: the server is %v ahead of it, within %v", shift, offset, within)
		}
	}
}
