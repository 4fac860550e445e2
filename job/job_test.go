package job

import "testing"

func TestLife(t *testing.T) {
	for name, tc := range map[string]struct {
		path []State
		ok   bool
	}{
		"to the end":           {[]State{Queued, Running, Complete}, true},
		"paused and resumed":   {[]State{Queued, Running, Paused, Running, Draining, Partial}, true},
		"extended":             {[]State{Queued, Running, Partial, Queued, Running, Complete}, true},
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

// TestEndedIsFinal: an ended state leads nowhere, but for a partial job that
// is extended; a state that is not ended leads somewhere.
func TestEndedIsFinal(t *testing.T) {
	for _, s := range States {
		if leads := len(next[s]) > 0; leads == s.Ended() && s != Partial {
			t.Errorf("%s: ended %v, leads on %v", s, s.Ended(), leads)
		}
		if s.Success() && !s.Ended() {
			t.Errorf("%s is a success that has not ended", s)
		}
	}
}
