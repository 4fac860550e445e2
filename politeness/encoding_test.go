package politeness_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
	"unsafe"

	"headway/politeness"
)

// maxStateSize is the memory per host that allows half a million hosts.
const maxStateSize = 256

func TestStateIsSmall(t *testing.T) {
	size := unsafe.Sizeof(politeness.State{})
	t.Logf("a State takes %d bytes in memory", size)
	if size > maxStateSize {
		t.Errorf("a State takes %d bytes, want at most %d", size, maxStateSize)
	}
}

func TestStateRoundTrips(t *testing.T) {
	h := newHost(t, preset(t, "polite"))
	states := map[string]politeness.State{"new": h.s, "zero": {}}
	h.s = h.s.WithCrawlDelay(3 * time.Second)
	h.send()
	states["in flight"] = h.s
	h.s = h.p.Resume(h.s, h.now)
	h.clean(30)
	h.ask(after(time.Minute))
	states["refusing"] = h.s
	h.clean(8)
	h.ask(answer(http.StatusTooManyRequests))
	states["after a failed probe"] = h.s
	for range 12 {
		h.ask(fault(politeness.Timeout))
	}
	states["circuit open"] = h.s
	h.ask(after(1<<63 - 1))
	states["held for ever"] = h.s
	for name, s := range states {
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got politeness.State
		if err := got.UnmarshalBinary(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got != s {
			t.Errorf("%s: differs after a round trip", name)
		}
		t.Logf("%s: %d bytes stored", name, len(b))
	}
}

// TestOlderStates decodes a state stored before operators could set an interval, before
// trials, and before slow responses were told from other incidents.
func TestOlderStates(t *testing.T) {
	want := politeness.New("host").WithCrawlDelay(3 * time.Second)
	b, err := want.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	const later = 17 // fields, each a byte while it is zero
	for version, n := range []int{1: len(b) - later - 1, 2: len(b) - later, 3: len(b)} {
		if n == 0 {
			continue
		}
		old := append([]byte{byte(version)}, b[1:n]...)
		var got politeness.State
		if err := got.UnmarshalBinary(old); err != nil || got != want {
			t.Errorf("version %d: read %+v, %v; want %+v", version, got, err, want)
		}
	}
}

func TestStateDecodingRefuses(t *testing.T) {
	good, err := politeness.New("host").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	changed := func(i int, v byte) []byte {
		b := append([]byte(nil), good...)
		b[i] = v
		return b
	}
	flags := func(v ...byte) []byte {
		at := len(good) - 19
		return slices.Concat(good[:at], v, good[at+1:])
	}
	for name, c := range map[string]struct {
		b       []byte
		version bool
	}{
		"nothing":            {nil, false},
		"an older version":   {changed(0, 0), true},
		"a newer version":    {changed(0, 5), true},
		"half of it":         {good[:len(good)/2], false},
		"all but a byte":     {good[:len(good)-1], false},
		"too much":           {append(append([]byte(nil), good...), 0), false},
		"only a version":     {good[:1], false},
		"part of the key":    {good[:5], false},
		"flags nobody knows": {flags(0x80, 0x80, 1), false},
		"no trial to finish": {flags(0x80, 4), false},
		"a gap, no refusal":  {changed(len(good)-9, 1), false},
		"a refusal, no gap":  {changed(len(good)-7, 1), false},
		"a first gap alone":  {changed(len(good)-8, 1), false},
	} {
		before := politeness.New("untouched")
		s := before
		err := s.UnmarshalBinary(c.b)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if errors.Is(err, politeness.ErrVersion) != c.version {
			t.Errorf("%s: %v", name, err)
		}
		if s != before {
			t.Errorf("%s: the state was changed", name)
		}
	}
}
