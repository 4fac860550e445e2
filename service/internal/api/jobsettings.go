package api

import (
	"errors"
	"time"

	"headway/ask"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/limit"
	"headway/store"
)

// requestOf is the request of a stored job: what was sent, in the fields in which it was
// sent, with the limits that extensions of the job have set.
func (a *API) requestOf(text []byte, j *store.Job) (JobRequest, error) {
	spec, err := jobspec.Read(text)
	if err != nil {
		return JobRequest{}, err
	}
	set, err := a.settings(spec.Settings)
	if bad, ok := errors.AsType[*config.Error](err); ok { // stored under other settings of the server
		a.log.Warn("cannot show job settings", "err", bad)
		return JobRequest{Seeds: spec.Seeds, DryRun: spec.DryRun}, nil
	}
	if err != nil {
		return JobRequest{}, err
	}
	r := JobRequest{Seeds: spec.Seeds, JobSettings: settingsOf(spec.Settings, set), DryRun: spec.DryRun, Limits: limit.Fields{}}
	for key := range spec.Settings {
		if rule := limit.Name(key).Rule(); rule != nil {
			r.Limits[rule.Field()], _ = rule.Name.InUnits(set.Limits.Of(rule.Name))
		}
	}
	asked := j.Asked()
	for _, n := range limit.Extendable {
		if amount := asked.Of(n); amount != set.Limits.Of(n) && (n == limit.Pages || len(j.Layers) > 0) {
			r.Limits[n.Rule().Field()], _ = n.InUnits(amount)
		}
	}
	return r, nil
}

// settingsOf are the settings that were requested, with the values that were read.
func settingsOf(asked config.Asked, s *config.Settings) JobSettings {
	var out JobSettings
	pace, backoff := new(JobPace), new(JobBackoff)
	show := map[string]func(){
		"scope":       func() { out.Scope = s.Scope },
		"scope_hosts": func() { out.ScopeHosts = s.ScopeHosts },
		"include":     func() { out.Include = s.Include },
		"exclude":     func() { out.Exclude = s.Exclude },
		"files":       func() { out.Files = &s.Files },
		"sitemaps":    func() { out.Sitemaps = s.Sitemaps },
		"content":     func() { out.Content = s.Content },
		"extract":     func() { out.Extract = s.Extract.Text() },
		"links":       func() { out.Links = &s.Links },
		"raw":         func() { out.Raw = &s.Raw },
		"preset":      func() { out.Preset = s.Preset },

		"failure_threshold": func() { out.FailureThreshold = &s.FailureThreshold },
		"cancel_after":      func() { out.CancelAfter = &s.CancelAfter },

		"pace.delay":     func() { out.Pace, pace.Delay = pace, shown(s.Pace.Delay) },
		"pace.spread":    func() { out.Pace, pace.Spread = pace, shown(s.Pace.Spread) },
		"pace.jitter":    func() { out.Pace, pace.Jitter = pace, &s.Pace.Jitter },
		"pace.in_flight": func() { out.Pace, pace.InFlight = pace, &s.Pace.InFlight },

		"backoff.refusing_start": func() { out.Backoff, backoff.RefusingStart = backoff, shown(s.Backoff.RefusingStart) },
		"backoff.refusing_max":   func() { out.Backoff, backoff.RefusingMax = backoff, shown(s.Backoff.RefusingMax) },
		"backoff.failing_start":  func() { out.Backoff, backoff.FailingStart = backoff, shown(s.Backoff.FailingStart) },
		"backoff.failing_max":    func() { out.Backoff, backoff.FailingMax = backoff, shown(s.Backoff.FailingMax) },
	}
	for key := range asked {
		if show[key] != nil {
			show[key]()
		}
	}
	return out
}

// shown is a duration in a response.
func shown(d time.Duration) *ask.Seconds { return new(ask.Seconds(d)) }
