package job

import (
	"slices"
	"testing"
)

func TestLife(t *testing.T) {
	for name, tc := range map[string]struct {
		path []State
		ok   bool
	}{
		"to the end":           {[]State{Queued, Running, Complete}, true},
		"paused and resumed":   {[]State{Queued, Running, Paused, Running, Draining, Partial}, true},
		"extended":             {[]State{Queued, Running, Partial, Queued, Running, Complete}, true},
		"asked again":          {[]State{Running, Complete, Queued, Running, Failed, Queued, Running, Blocked, Queued}, true},
		"cancelled in queue":   {[]State{Queued, Cancelled}, true},
		"complete stays":       {[]State{Complete, Running}, false},
		"cancelled stays":      {[]State{Cancelled, Queued}, false},
		"complete from queue":  {[]State{Queued, Complete}, false},
		"unknown word":         {[]State{Queued, "sleeping"}, false},
		"nowhere from nowhere": {[]State{"", Queued}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			for i := 1; i < len(tc.path) && err == nil; i++ {
				err = Check(tc.path[i-1], tc.path[i])
			}
			if (err == nil) != tc.ok {
				t.Errorf("got %v, want ok %v", err, tc.ok)
			}
		})
	}
}

// TestEndedIsFinal: a cancelled job has no next state, any other ended job only queued; every other
// state has a next one.
func TestEndedIsFinal(t *testing.T) {
	for _, s := range States {
		switch leads := next[s]; {
		case s == Cancelled && len(leads) > 0, s != Cancelled && len(leads) == 0:
			t.Errorf("%s leads to %v", s, leads)
		case s.Ended() && s != Cancelled && !slices.Equal(leads, []State{Queued}):
			t.Errorf("%s has ended and leads to %v", s, leads)
		}
		if s.Success() && !s.Ended() {
			t.Errorf("%s is a success that has not ended", s)
		}
	}
}
