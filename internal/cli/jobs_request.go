package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/client"
	"headway/internal/config"
	"headway/internal/jobspec"
)

// jobRequest is what flags ask of a job, as the API takes it.
func jobRequest(r *jobspec.Request, s *config.Settings) (*client.JobRequest, error) {
	pace, backoff, limits := new(client.JobPace), new(client.JobBackoff), new(client.JobCeilings)
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

		"max_pages":          func() { body.Limits, limits.MaxPages = limits, &s.Limits.Pages },
		"max_requests":       func() { body.Limits, limits.MaxRequests = limits, &s.Limits.Requests },
		"max_time":           func() { body.Limits, limits.MaxTimeMS = limits, millis(s.Limits.Time) },
		"max_depth":          func() { body.Limits, limits.MaxDepth = limits, &s.Limits.Depth },
		"max_bytes":          func() { body.Limits, limits.MaxBytes = limits, &s.Limits.Bytes },
		"max_pages_per_host": func() { body.Limits, limits.MaxPagesPerHost = limits, &s.Limits.PagesPerHost },
		"patience":           func() { body.Limits, limits.PatienceMS = limits, millis(s.Limits.Patience) },
	}
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		if set[key] == nil {
			return nil, usage(fmt.Errorf("the API takes no %s", key), "leave it out, or use --store")
		}
		set[key]()
	}
	return body, nil
}

// millis is a duration as the API writes it.
func millis(d time.Duration) *int64 { return new(d.Milliseconds()) }
