package config

import (
	"headway/limit"
	"headway/politeness"
)

// presetValues returns the settings of a preset. Limits it does not set have their
// defaults.
func presetValues(name string) *Settings {
	p, _ := politeness.Preset(name) // the name was checked before
	s := &Settings{
		Preset: name,
		Pace:   Pace{Delay: p.Base, Spread: p.Spread, Jitter: int64(p.Jitter), InFlight: int64(p.InFlight)},
		Backoff: Backoff{
			RefusingStart: p.Refusing.Start, RefusingMax: p.Refusing.Max, FailingStart: p.Failing.Start, FailingMax: p.Failing.Max,
		},
		Robots:           Robots{OnUnreachable: UnreachableHold},
		FailureThreshold: int64(p.FailureThreshold),
		CancelAfter:      int64(p.CancelAfter),
		Limits:           limit.Preset(name),
	}
	if p.AllowUnreachableRobots {
		s.Robots.OnUnreachable = UnreachableAllow
	}
	return s
}
