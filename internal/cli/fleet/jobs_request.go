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
		"content":     func() { body.Content = s.Content },
		"extract":     func() { body.Extract = new(s.Extract.Text()) },
		"links":       func() { body.Links = &s.Links },
		"raw":         func() { body.Raw = &s.Raw },
		"preset":      func() { body.Preset = &s.Preset },

		"failure_threshold": func() { body.FailureThreshold = &s.FailureThreshold },
		"cancel_after":      func() { body.CancelAfter = &s.CancelAfter },

		"pace.delay":     func() { body.Pace, pace.DelaySeconds = pace, seconds(s.Pace.Delay) },
		"pace.spread":    func() { body.Pace, pace.SpreadSeconds = pace, seconds(s.Pace.Spread) },
		"pace.jitter":    func() { body.Pace, pace.Jitter = pace, &s.Pace.Jitter },
		"pace.in_flight": func() { body.Pace, pace.InFlight = pace, &s.Pace.InFlight },

		"backoff.refusing_start": func() { body.Backoff, backoff.RefusingStartSeconds = backoff, seconds(s.Backoff.RefusingStart) },
		"backoff.refusing_max":   func() { body.Backoff, backoff.RefusingMaxSeconds = backoff, seconds(s.Backoff.RefusingMax) },
		"backoff.failing_start":  func() { body.Backoff, backoff.FailingStartSeconds = backoff, seconds(s.Backoff.FailingStart) },
		"backoff.failing_max":    func() { body.Backoff, backoff.FailingMaxSeconds = backoff, seconds(s.Backoff.FailingMax) },
	}
	limits := limit.Fields{}
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		if l := limit.Name(key).Rule(); l != nil && l.Asked {
			limits[l.Field()], _ = l.Name.InUnits(s.Limits.Of(l.Name))
			continue
		}
		if set[key] == nil {
			return nil, command.Usage(fmt.Errorf("the API does not support %s", key), "remove it, or use --store")
		}
		set[key]()
	}
	if len(limits) > 0 {
		if err := bodyOf(limits, &body.Limits); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// bodyOf makes a part of a body of its fields.
func bodyOf(fields limit.Fields, part any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, part)
}

// seconds is a duration as the API writes it.
func seconds(d time.Duration) *float64 { return new(d.Seconds()) }
