package visit

import "testing"

func TestTraining(t *testing.T) {
	refused, permitted, unstated := Signal{Training: TrainingRefused}, Signal{Training: TrainingPermitted}, Signal{}
	for name, tc := range map[string]struct {
		signals []Signal
		want    Training
	}{
		"none":       {nil, ""},
		"unstated":   {[]Signal{unstated}, ""},
		"permitted":  {[]Signal{unstated, permitted}, TrainingPermitted},
		"refused":    {[]Signal{refused}, TrainingRefused},
		"both":       {[]Signal{permitted, refused, permitted}, TrainingRefused},
		"both again": {[]Signal{refused, permitted}, TrainingRefused},
	} {
		if got := (&Page{Signals: tc.signals}).Training(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestSignalString(t *testing.T) {
	for want, s := range map[string]Signal{
		"robots.txt line 3: content-signal: ai-train=no": {Source: SignalRobots, Line: 3, Text: "content-signal: ai-train=no"},
		"meta: robots: noai":                             {Source: SignalMeta, Text: "robots: noai"},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRobotsEvidence(t *testing.T) {
	v := Visit{Evidence: []Evidence{{Kind: RobotsAllowed, Line: 1}, {Kind: BlockedByRobots, Line: 2}, {Kind: Override}}}
	if e := v.RobotsEvidence(); e == nil || e.Line != 2 {
		t.Errorf("found %+v", e)
	}
	v.Evidence = v.Evidence[2:]
	if e := v.RobotsEvidence(); e != nil {
		t.Errorf("found %+v", e)
	}
}
