package api

import (
	"strconv"
	"time"

	"headway/internal/config"
	"headway/internal/jobspec"
)

// JobRequest is a crawl as it is asked for. What is left out is decided by the
// preset and the settings of the server.
type JobRequest struct {
	Seeds []string `json:"seeds" minItems:"1" maxItems:"10000" nullable:"false" doc:"Where to begin: URLs, or hosts such as example.com." example:"[\"https://example.com/\"]"`
	Name  string   `json:"name,omitempty" maxLength:"200" doc:"For people; by default the host of the first seed."`

	Scope      string   `json:"scope,omitempty" enum:"host,domain,prefix,list,any" doc:"Which hosts belong to the crawl, seen from the seeds."`
	ScopeHosts []string `json:"scope_hosts,omitempty" maxItems:"1000" doc:"Hosts that belong to the crawl besides."`
	Include    []string `json:"include,omitempty" maxItems:"1000" doc:"Only URLs that match one of these: globs, or re: and a regular expression."`
	Exclude    []string `json:"exclude,omitempty" maxItems:"1000" doc:"No URLs that match one of these; stronger than include."`
	Files      *bool    `json:"files,omitempty" doc:"Also fetch what is no page by its name."`
	Sitemaps   string   `json:"sitemaps,omitempty" enum:"auto,only,off" doc:"Read sitemaps beside links, instead of them, or not at all."`

	Preset           string      `json:"preset,omitempty" enum:"polite,audit,warm,map,owned" doc:"How to treat hosts."`
	Pace             *JobPace    `json:"pace,omitempty" doc:"In place of the preset's pace."`
	Backoff          *JobBackoff `json:"backoff,omitempty" doc:"In place of the preset's holds."`
	FailureThreshold *int64      `json:"failure_threshold,omitempty" minimum:"1" maximum:"10000" doc:"Failures in a row after which a host is given up."`
	CancelAfter      *int64      `json:"cancel_after,omitempty" minimum:"0" maximum:"255" doc:"Cancel the crawl after this many 429 in a row at the slowest pace; 0 is never."`
	Limits           JobCeilings `json:"limits,omitempty" doc:"When to stop. More than the server or the plan allows is capped, not refused."`

	DryRun bool `json:"dry_run,omitempty" doc:"Read robots.txt and sitemaps, and fetch no page: GET /v1/jobs/{job}/plan tells how the crawl would go."`
}

// JobPace is how often a host is asked. The slowest job sets the pace of a host for
// all, so what a tenant can ask for is bounded: a minute, and an hour for holds.
type JobPace struct {
	DelayMS  *int64 `json:"delay_ms,omitempty" minimum:"0" maximum:"60000" doc:"Between two requests to a host that does not complain."`
	SpreadMS *int64 `json:"spread_ms,omitempty" minimum:"0" maximum:"60000" doc:"Random part on top of it."`
	Jitter   *int64 `json:"jitter,omitempty" minimum:"0" maximum:"100" doc:"Percent that an interval is lengthened by at most."`
	InFlight *int64 `json:"in_flight,omitempty" minimum:"1" maximum:"10000" doc:"Requests to a host under way at once."`
}

// JobBackoff is how long a host that refuses or fails is left alone.
type JobBackoff struct {
	RefusingStartMS *int64 `json:"refusing_start_ms,omitempty" minimum:"1" maximum:"3600000" doc:"First hold of a host that refuses without saying for how long; it doubles."`
	RefusingMaxMS   *int64 `json:"refusing_max_ms,omitempty" minimum:"1" maximum:"3600000" doc:"Longest such hold."`
	FailingStartMS  *int64 `json:"failing_start_ms,omitempty" minimum:"1" maximum:"3600000" doc:"First hold of a host that fails; it doubles."`
	FailingMaxMS    *int64 `json:"failing_max_ms,omitempty" minimum:"1" maximum:"3600000" doc:"Longest such hold."`
}

// spec is the request as jobs are stored with.
func (r *JobRequest) spec() jobspec.Spec {
	asked := config.Asked{}
	word(asked, "scope", r.Scope)
	list(asked, "scope_hosts", r.ScopeHosts)
	list(asked, "include", r.Include)
	list(asked, "exclude", r.Exclude)
	if r.Files != nil {
		asked["files"] = []string{strconv.FormatBool(*r.Files)}
	}
	word(asked, "sitemaps", r.Sitemaps)
	word(asked, "preset", r.Preset)
	number(asked, "failure_threshold", r.FailureThreshold)
	number(asked, "cancel_after", r.CancelAfter)
	if p := r.Pace; p != nil {
		span(asked, "pace.delay", p.DelayMS)
		span(asked, "pace.spread", p.SpreadMS)
		number(asked, "pace.jitter", p.Jitter)
		number(asked, "pace.in_flight", p.InFlight)
	}
	if b := r.Backoff; b != nil {
		span(asked, "backoff.refusing_start", b.RefusingStartMS)
		span(asked, "backoff.refusing_max", b.RefusingMaxMS)
		span(asked, "backoff.failing_start", b.FailingStartMS)
		span(asked, "backoff.failing_max", b.FailingMaxMS)
	}
	r.Limits.ask(asked)
	return jobspec.Spec{Seeds: r.Seeds, Settings: asked, DryRun: r.DryRun}
}

func word(asked config.Asked, key, value string) {
	if value != "" {
		asked[key] = []string{value}
	}
}

func list(asked config.Asked, key string, values []string) {
	if len(values) > 0 {
		asked[key] = values
	}
}

func number(asked config.Asked, key string, n *int64) {
	if n != nil {
		asked[key] = []string{strconv.FormatInt(*n, 10)}
	}
}

func span(asked config.Asked, key string, ms *int64) {
	if ms != nil {
		asked[key] = []string{(time.Duration(*ms) * time.Millisecond).String()}
	}
}
