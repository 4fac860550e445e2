package api

import (
	"strconv"

	"headway/ask"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/limit"
)

// JobRequest is a request for a crawl. Omitted fields take their values from the
// preset and the settings of the server.
type JobRequest struct {
	Seeds []string `json:"seeds" minItems:"1" maxItems:"10000" nullable:"false" doc:"Where to start: URLs, or hosts such as example.com." example:"[\"https://example.com/\"]"`
	Name  string   `json:"name,omitempty" maxLength:"200" doc:"Display name; default: the host of the first seed."`

	JobSettings
	Limits limit.Fields `json:"limits,omitempty" doc:"Limits of the job. Values above what the server or the plan allows are capped, not refused."`

	DryRun bool `json:"dry_run,omitempty" doc:"Dry run: read robots.txt and sitemaps but fetch no pages. GET /v1/jobs/{job}/plan returns the plan."`
}

// JobSettings are the settings of a job, as they are requested and shown.
type JobSettings struct {
	Scope      string   `json:"scope,omitempty" enum:"host,domain,prefix,list,any" doc:"Which URLs are in scope, relative to the seeds."`
	ScopeHosts []string `json:"scope_hosts,omitempty" maxItems:"1000" doc:"Additional in-scope hosts."`
	Include    []string `json:"include,omitempty" maxItems:"1000" doc:"Crawl only URLs that match one of these patterns: a glob, or re: followed by a regular expression (RE2)."`
	Exclude    []string `json:"exclude,omitempty" maxItems:"1000" doc:"Skip URLs that match one of these patterns; takes precedence over include."`
	Files      *bool    `json:"files,omitempty" doc:"Also fetch non-HTML files (images, archives, PDF), judged by extension."`
	Sitemaps   string   `json:"sitemaps,omitempty" enum:"auto,only,off" doc:"auto: follow sitemaps and links. only: follow sitemaps, not links. off: ignore sitemaps."`
	Content    []string `json:"content,omitempty" maxItems:"2" enum:"text,markdown" doc:"Also keep the main text of pages, in these forms; exports to JSONL and Parquet have it."`
	Extract    string   `json:"extract,omitempty" maxLength:"65536" doc:"Also keep fields of pages, by these extraction rules: the text of a YAML rules file. Exports to JSONL and Parquet have them."`
	Links      *bool    `json:"links,omitempty" doc:"Also keep every link of every page, with its text; exports to Parquet have them."`
	Raw        *bool    `json:"raw,omitempty" doc:"Also keep what servers sent for each page, in the archive of the fleet. A server without an archive refuses the job, and it fails if a worker has none."`

	Preset           string      `json:"preset,omitempty" enum:"polite,audit,warm,map,owned" doc:"Politeness preset: pace, concurrency and backoff per host."`
	Pace             *JobPace    `json:"pace,omitempty" doc:"Overrides the pace of the preset."`
	Backoff          *JobBackoff `json:"backoff,omitempty" doc:"Overrides the backoff of the preset."`
	FailureThreshold *int64      `json:"failure_threshold,omitempty" minimum:"1" maximum:"10000" doc:"Consecutive failures after which the job gives up a host."`
	CancelAfter      *int64      `json:"cancel_after,omitempty" minimum:"0" maximum:"255" doc:"Cancel the crawl after this many consecutive 429 responses at the slowest pace; 0 never cancels."`
}

// JobPace is how often requests are sent to a host. The slowest job sets the pace of a host for
// all, so what a tenant can request is bounded: a minute, and an hour for holds.
type JobPace struct {
	Delay    *ask.Seconds `json:"delay_seconds,omitempty" minimum:"0" maximum:"60" doc:"Minimum interval between requests to one host."`
	Spread   *ask.Seconds `json:"spread_seconds,omitempty" minimum:"0" maximum:"60" doc:"Random addition to the interval, at most this long."`
	Jitter   *int64       `json:"jitter,omitempty" minimum:"0" maximum:"100" doc:"Jitter: maximum percentage added to each interval."`
	InFlight *int64       `json:"in_flight,omitempty" minimum:"1" maximum:"10000" doc:"Maximum concurrent requests to one host."`
}

// JobBackoff is how long a host that refuses or fails gets no requests.
type JobBackoff struct {
	RefusingStart *ask.Seconds `json:"refusing_start_seconds,omitempty" minimum:"0.001" maximum:"3600" doc:"Initial backoff after a refusal (429, 503) without Retry-After; doubles with each further one."`
	RefusingMax   *ask.Seconds `json:"refusing_max_seconds,omitempty" minimum:"0.001" maximum:"3600" doc:"Maximum of this backoff."`
	FailingStart  *ask.Seconds `json:"failing_start_seconds,omitempty" minimum:"0.001" maximum:"3600" doc:"Initial backoff after a failure (5xx, network error); doubles with each further one."`
	FailingMax    *ask.Seconds `json:"failing_max_seconds,omitempty" minimum:"0.001" maximum:"3600" doc:"Maximum of this backoff."`
}

// spec is the request as it is stored with the job.
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
	list(asked, "content", r.Content)
	word(asked, "extract", r.Extract)
	if r.Links != nil {
		asked["links"] = []string{strconv.FormatBool(*r.Links)}
	}
	if r.Raw != nil {
		asked["raw"] = []string{strconv.FormatBool(*r.Raw)}
	}
	word(asked, "preset", r.Preset)
	number(asked, "failure_threshold", r.FailureThreshold)
	number(asked, "cancel_after", r.CancelAfter)
	if p := r.Pace; p != nil {
		span(asked, "pace.delay", p.Delay)
		span(asked, "pace.spread", p.Spread)
		number(asked, "pace.jitter", p.Jitter)
		number(asked, "pace.in_flight", p.InFlight)
	}
	if b := r.Backoff; b != nil {
		span(asked, "backoff.refusing_start", b.RefusingStart)
		span(asked, "backoff.refusing_max", b.RefusingMax)
		span(asked, "backoff.failing_start", b.FailingStart)
		span(asked, "backoff.failing_max", b.FailingMax)
	}
	askLimits(asked, r.Limits)
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

func span(asked config.Asked, key string, s *ask.Seconds) {
	if s != nil {
		asked[key] = []string{s.Duration().String()}
	}
}
