package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/client"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/limit"
)

// jobRequest is what flags ask of a job, as the API takes it.
func jobRequest(r *jobspec.Request, s *config.Settings) (*client.JobRequest, error) {
	pace, backoff := new(client.JobPace), new(client.JobBackoff)
	body := &client.JobRequest{Seeds: r.Seeds}
	if r.Name != "" {
		body.Name = &r.Name
	}
	if r.DryRun {
		body.DryRun = &r.DryRun
	}
	set := map[string]func(){
		"scope":       func() { body.Scope = &s.Scope },
		"scope_hosts": func() { body.ScopeHosts = s.ScopeHosts },
		"include":     func() { body.Include = s.Include },
		"exclude":     func() { body.Exclude = s.Exclude },
		"files":       func() { body.Files = &s.Files },
		"sitemaps":    func() { body.Sitemaps = &s.Sitemaps },
		"preset":      func() { body.Preset = &s.Preset },

		"failure_threshold": func() { body.FailureThreshold = &s.FailureThreshold },
		"cancel_after":      func() { body.CancelAfter = &s.CancelAfter },

		"pace.delay":     func() { body.Pace, pace.DelayMS = pace, millis(s.Pace.Delay) },
		"pace.spread":    func() { body.Pace, pace.SpreadMS = pace, millis(s.Pace.Spread) },
		"pace.jitter":    func() { body.Pace, pace.Jitter = pace, &s.Pace.Jitter },
		"pace.in_flight": func() { body.Pace, pace.InFlight = pace, &s.Pace.InFlight },

		"backoff.refusing_start": func() { body.Backoff, backoff.RefusingStartMS = backoff, millis(s.Backoff.RefusingStart) },
		"backoff.refusing_max":   func() { body.Backoff, backoff.RefusingMaxMS = backoff, millis(s.Backoff.RefusingMax) },
		"backoff.failing_start":  func() { body.Backoff, backoff.FailingStartMS = backoff, millis(s.Backoff.FailingStart) },
		"backoff.failing_max":    func() { body.Backoff, backoff.FailingMaxMS = backoff, millis(s.Backoff.FailingMax) },
	}
	ceilings := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		if l := limit.Name(key).Rule(); l != nil && l.Asked {
			ceilings[l.Field()], _ = l.Name.InUnits(s.Limits.Of(l.Name))
			continue
		}
		if set[key] == nil {
			return nil, command.Usage(fmt.Errorf("the API does not support %s", key), "remove it, or use --store")
		}
		set[key]()
	}
	if len(ceilings) > 0 {
		if err := bodyOf(ceilings, &body.Limits); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// bodyOf makes a part of a body of its fields.
func bodyOf(fields map[string]int64, part any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, part)
}

// millis is a duration as the API writes it.
func millis(d time.Duration) *int64 { return new(d.Milliseconds()) }
