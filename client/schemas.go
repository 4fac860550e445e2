// Code generated from docs/reference/openapi.json by client/internal/generate. DO NOT EDIT.

package client

import "time"

// Adaptive is part of [ScheduleChange], [ScheduleRequest] and [Schedule].
type Adaptive struct {
	// In a request the initial interval, in a response the current one.
	EverySeconds float64 `json:"every_seconds"`
	// Minimum interval.
	LeastSeconds float64 `json:"least_seconds"`
	// Maximum interval.
	MostSeconds float64 `json:"most_seconds"`
}

// Attempt is part of [Why].
type Attempt struct {
	Bytes            int64   `json:"bytes,omitzero"`
	ConnectSeconds   float64 `json:"connect_seconds"`
	ContentType      string  `json:"content_type,omitzero"`
	Detail           string  `json:"detail,omitzero"`
	DNSSeconds       float64 `json:"dns_seconds"`
	FirstByteSeconds float64 `json:"first_byte_seconds"`
	Location         string  `json:"location,omitzero"`
	N                int64   `json:"n"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Outcome  string `json:"outcome"`
	Protocol string `json:"protocol,omitzero"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason           string    `json:"reason,omitzero"`
	Remote           string    `json:"remote,omitzero"`
	RetryAfter       string    `json:"retry_after,omitzero"`
	ReusedConnection bool      `json:"reused_connection,omitzero"`
	SentAt           time.Time `json:"sent_at,omitzero"`
	Status           int64     `json:"status,omitzero"`
	TLSSeconds       float64   `json:"tls_seconds"`
	TotalSeconds     float64   `json:"total_seconds"`
}

// CanonicalStep is part of [Why].
type CanonicalStep struct {
	After  string `json:"after"`
	Before string `json:"before"`
	Reason string `json:"reason"`
}

// Ceiling is part of [JobLimits], [SimulatedLimits] and [Why].
type Ceiling struct {
	// The layer that set it. One of safety, plan, usage, job.
	Layer string `json:"layer"`
	// The limit. One of max_pages, max_requests, max_time, max_depth, max_bytes,
	// max_pages_per_host, patience, max_concurrent_crawls, max_hosts,
	// max_requests_per_second, retention.
	Limit string `json:"limit"`
	// Its value, in unit.
	Max float64 `json:"max"`
	// What the job requested, in unit; absent if it requested none.
	Requested float64 `json:"requested,omitzero"`
	// The same in words for people.
	Text string `json:"text"`
	// The unit of max and requested; absent for a count. One of seconds, bytes.
	Unit string `json:"unit,omitzero"`
}

// ChainLink is part of [Discovery].
type ChainLink struct {
	// One of seed, link, sitemap, redirect.
	By    string `json:"by,omitzero"`
	Depth int64  `json:"depth"`
	URL   string `json:"url"`
}

// Change is part of [Comparison].
type Change struct {
	// One of newly_dead, gone, lost, waits, apart, excluded, new, included,
	// recovered, changed, slower.
	Kind  string       `json:"kind"`
	Total int64        `json:"total"`
	URLs  []ChangedURL `json:"urls"`
}

// ChangedURL is part of [Change].
type ChangedURL struct {
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	After        string  `json:"after,omitzero"`
	AfterSeconds float64 `json:"after_seconds,omitzero"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Before        string  `json:"before,omitzero"`
	BeforeSeconds float64 `json:"before_seconds,omitzero"`
	FoundOn       string  `json:"found_on,omitzero"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	Status int64  `json:"status,omitzero"`
	URL    string `json:"url"`
}

// Comparison is the response of [Client.CompareJobs].
type Comparison struct {
	After    CrawlSum `json:"after"`
	Before   CrawlSum `json:"before"`
	Certain  bool     `json:"certain"`
	Changes  []Change `json:"changes"`
	Same     int64    `json:"same"`
	Settings []string `json:"settings,omitzero"`
	Unread   int64    `json:"unread,omitzero"`
	Whole    bool     `json:"whole"`
}

// CrawlSum is part of [Comparison].
type CrawlSum struct {
	EndedAt time.Time `json:"ended_at,omitzero"`
	Pages   int64     `json:"pages"`
	Seen    int64     `json:"seen"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State string `json:"state"`
}

// Delivery is part of [DeliveryList].
type Delivery struct {
	// Number of attempts started.
	Attempts  int64     `json:"attempts"`
	CreatedAt time.Time `json:"created_at"`
	// When it ended; absent until then.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// Error of the last failed attempt.
	Error string `json:"error,omitzero"`
	// The webhook-id header of all attempts.
	ID string `json:"id"`
	// One of job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kind string `json:"kind"`
	// When the next attempt is due; absent if there is none.
	NextAt time.Time `json:"next_at,omitzero"`
	// dropped: the webhook was disabled or deleted. given_up: the last attempt
	// failed. One of waiting, sending, delivered, dropped, given_up.
	State string `json:"state"`
}

// DeliveryList is the response of [Client.ListDeliveries].
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries"`
}

// Discovery is part of [Why].
type Discovery struct {
	// One of seed, link, sitemap, redirect.
	By       string      `json:"by"`
	Chain    []ChainLink `json:"chain,omitzero"`
	ChainCut bool        `json:"chain_cut,omitzero"`
	Depth    int64       `json:"depth"`
	Hops     int64       `json:"hops,omitzero"`
	On       string      `json:"on,omitzero"`
}

// Download is part of [Export].
type Download struct {
	// The name of the file.
	Name string `json:"name"`
	// The path of the API to download it.
	Path string `json:"path"`
	// Its size in bytes, uncompressed.
	SizeBytes int64 `json:"size_bytes"`
}

// ErrorDetail is part of [Problem].
type ErrorDetail struct {
	// Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id'
	Location string `json:"location,omitzero"`
	// Error message text
	Message string `json:"message,omitzero"`
	// The value at the given location
	Value any `json:"value,omitzero"`
}

// Event is the response of [Client.FollowEvents].
type Event struct {
	CreatedAt time.Time `json:"created_at"`
	Data      EventData `json:"data"`
	// Sequence number of the event; always increasing.
	ID int64 `json:"id"`
	// The id of the job.
	Job int64 `json:"job,omitzero"`
	// One of job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kind string `json:"kind"`
}

// EventData is part of [Event].
type EventData struct {
	// The limit that stopped the job, in words for people.
	Error string `json:"error,omitzero"`
	// The layer that set the limit. One of safety, plan, usage, job.
	Layer string `json:"layer,omitzero"`
	// The limit that is close or was reached. One of max_pages, max_requests,
	// max_time, max_depth, max_bytes, max_pages_per_host, patience,
	// max_concurrent_crawls, max_hosts, max_requests_per_second, retention.
	Limit string `json:"limit,omitzero"`
	// The value of the limit, in unit.
	Max float64 `json:"max,omitzero"`
	// The page limit of the job.
	MaxPages int64 `json:"max_pages,omitzero"`
	// Name of the job.
	Name string `json:"name,omitzero"`
	// The amount used, in unit.
	Observed float64 `json:"observed,omitzero"`
	// The warning threshold that was passed, in percent of the limit.
	Percent int64 `json:"percent,omitzero"`
	// Why the state changed, in words for people.
	Reason string `json:"reason,omitzero"`
	// The new state of the job. One of queued, running, paused, draining,
	// complete, partial, blocked, cancelled, failed.
	State string `json:"state,omitzero"`
	// The unit of max and observed; absent for a count. One of seconds, bytes.
	Unit string `json:"unit,omitzero"`
	// The previous state of the job. One of queued, running, paused, draining,
	// complete, partial, blocked, cancelled, failed.
	Was string `json:"was,omitzero"`
}

// EventList is the response of [Client.ListEvents].
type EventList struct {
	Events []Event `json:"events"`
	// The id of the last event; pass it as after to read on.
	Last int64 `json:"last"`
}

// Evidence is part of [Proof] and [Why].
type Evidence struct {
	At                time.Time `json:"at"`
	Confidence        string    `json:"confidence,omitzero"`
	CrawlDelaySeconds float64   `json:"crawl_delay_seconds,omitzero"`
	Group             string    `json:"group,omitzero"`
	Kind              string    `json:"kind"`
	Line              int64     `json:"line,omitzero"`
	Note              string    `json:"note,omitzero"`
	Rule              string    `json:"rule,omitzero"`
	Source            string    `json:"source,omitzero"`
	SourceAt          time.Time `json:"source_at,omitzero"`
}

// EvidenceList is the response of [Client.ListEvidence].
type EvidenceList struct {
	// Cursor of the next page; absent on the last page.
	NextCursor string  `json:"next_cursor,omitzero"`
	URLs       []Proof `json:"urls"`
}

// ExcerptLine is part of [RobotsExcerpt].
type ExcerptLine struct {
	Mark bool   `json:"mark,omitzero"`
	N    int64  `json:"n"`
	Text string `json:"text"`
}

// Export is the response of [Client.GetExport] and [Client.OrderExport].
type Export struct {
	CreatedAt time.Time `json:"created_at"`
	// The files that can be downloaded, once the export is done: all but the
	// folder of Markdown files.
	Downloads []Download `json:"downloads,omitzero"`
	// When it ended; absent until then.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// Error of the last failed attempt.
	Error string `json:"error,omitzero"`
	// Locations of the files, once the export is done.
	Files   []string `json:"files,omitzero"`
	Formats []string `json:"formats"`
	ID      int64    `json:"id"`
	Job     int64    `json:"job"`
	// waiting: queued, or waiting for a retry. failed: failed permanently. One of
	// waiting, running, done, failed.
	State string `json:"state"`
	// Number of URLs in each file, once the export is done.
	URLs int64 `json:"urls,omitzero"`
}

// ExportList is the response of [Client.ListExports].
type ExportList struct {
	Exports []Export `json:"exports"`
}

// ExportRequest is the request body of [Client.OrderExport].
type ExportRequest struct {
	// One or more output formats. One of jsonl, csv, sitemap, parquet, markdown.
	Formats []string `json:"formats"`
}

// Extension is the request body of [Client.ExtendJob].
type Extension struct {
	// The new limit of downloaded bytes, including those already downloaded; 0
	// means no limit.
	MaxBytes *int64 `json:"max_bytes,omitzero"`
	// The new page limit, including pages already fetched; 0 means no limit.
	MaxPages *int64 `json:"max_pages,omitzero"`
	// The new request limit, including requests already sent; 0 means no limit.
	MaxRequests *int64 `json:"max_requests,omitzero"`
	// The new limit of the running time, including the time the job has already
	// run; 0 means no limit.
	MaxTimeSeconds *float64 `json:"max_time_seconds,omitzero"`
}

// Host is part of [HostList], [JobHosts] and [Slow].
type Host struct {
	BaseSeconds       float64   `json:"base_seconds"`
	Cap               int64     `json:"cap"`
	Clean             int64     `json:"clean"`
	CrawlDelaySeconds float64   `json:"crawl_delay_seconds,omitzero"`
	DelaySeconds      float64   `json:"delay_seconds,omitzero"`
	Domain            string    `json:"domain,omitzero"`
	ETAGuessSeconds   float64   `json:"eta_guess_seconds,omitzero"`
	Failures          int64     `json:"failures,omitzero"`
	FloorSeconds      float64   `json:"floor_seconds,omitzero"`
	HeldUntil         time.Time `json:"held_until,omitzero"`
	Host              string    `json:"host"`
	InFlight          int64     `json:"in_flight"`
	Incidents         int64     `json:"incidents,omitzero"`
	Known             bool      `json:"known"`
	LastIncidentAt    time.Time `json:"last_incident_at,omitzero"`
	LastSentAt        time.Time `json:"last_sent_at,omitzero"`
	LearnedSeconds    float64   `json:"learned_seconds,omitzero"`
	More              bool      `json:"more,omitzero"`
	Noise             string    `json:"noise,omitzero"`
	PaceSeconds       float64   `json:"pace_seconds"`
	Paused            bool      `json:"paused,omitzero"`
	Queued            int64     `json:"queued"`
	Refusing          bool      `json:"refusing,omitzero"`
	Source            string    `json:"source"`
	State             string    `json:"state,omitzero"`
	Until             time.Time `json:"until,omitzero"`
	Waiting           int64     `json:"waiting"`
}

// HostChange is the response of [Client.ForgetHost], [Client.PauseHost],
// [Client.ResumeHost] and [Client.SetPaceOfHost].
type HostChange struct {
	// The state of the host after the order, in words for people.
	After string `json:"after"`
	// The state of the host before the order, in words for people.
	Before string `json:"before"`
	Host   string `json:"host"`
	Order  string `json:"order"`
	// The worker that owns the host and carried out the order.
	Worker int64 `json:"worker,omitzero"`
}

// HostList is the response of [Client.ListHosts].
type HostList struct {
	// Number of workers that answered; hosts of the others are missing from the
	// list.
	Answered int64 `json:"answered"`
	// Number of workers queried.
	Asked int64  `json:"asked"`
	Hosts []Host `json:"hosts"`
}

// HostName is the request body of [Client.ForgetHost], [Client.PauseHost] and
// [Client.ResumeHost].
type HostName struct {
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string `json:"host"`
}

// HostPace is the request body of [Client.SetPaceOfHost].
type HostPace struct {
	// Minimum interval between requests to the host; 0 removes it. Crawl-delay,
	// Retry-After and the learned pace still apply.
	DelaySeconds float64 `json:"delay_seconds"`
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string `json:"host"`
}

// HostStory is the response of [Client.GetHost].
type HostStory struct {
	BaseSeconds       float64    `json:"base_seconds"`
	Cap               int64      `json:"cap"`
	Clean             int64      `json:"clean"`
	CrawlDelaySeconds float64    `json:"crawl_delay_seconds,omitzero"`
	DelaySeconds      float64    `json:"delay_seconds,omitzero"`
	Domain            string     `json:"domain,omitzero"`
	ETAGuessSeconds   float64    `json:"eta_guess_seconds,omitzero"`
	Failures          int64      `json:"failures,omitzero"`
	FloorSeconds      float64    `json:"floor_seconds,omitzero"`
	HeldUntil         time.Time  `json:"held_until,omitzero"`
	Host              string     `json:"host"`
	InFlight          int64      `json:"in_flight"`
	Incidents         int64      `json:"incidents,omitzero"`
	Known             bool       `json:"known"`
	LastIncidentAt    time.Time  `json:"last_incident_at,omitzero"`
	LastSentAt        time.Time  `json:"last_sent_at,omitzero"`
	LearnedSeconds    float64    `json:"learned_seconds,omitzero"`
	More              bool       `json:"more,omitzero"`
	Noise             string     `json:"noise,omitzero"`
	PaceChanges       []PaceStep `json:"pace_changes"`
	PaceSeconds       float64    `json:"pace_seconds"`
	Paused            bool       `json:"paused,omitzero"`
	Queued            int64      `json:"queued"`
	Refusing          bool       `json:"refusing,omitzero"`
	Source            string     `json:"source"`
	State             string     `json:"state,omitzero"`
	Until             time.Time  `json:"until,omitzero"`
	Waiting           int64      `json:"waiting"`
}

// Incident is part of [Receipt].
type Incident struct {
	Answers              int64     `json:"answers"`
	At                   time.Time `json:"at"`
	NextRequestSeconds   float64   `json:"next_request_seconds,omitzero"`
	PaceFromSeconds      float64   `json:"pace_from_seconds,omitzero"`
	PaceToSeconds        float64   `json:"pace_to_seconds,omitzero"`
	RetryAfter           string    `json:"retry_after,omitzero"`
	RetryAfterSeconds    float64   `json:"retry_after_seconds,omitzero"`
	SentInsideRetryAfter int64     `json:"sent_inside_retry_after,omitzero"`
	Status               int64     `json:"status"`
	URL                  string    `json:"url"`
}

// Job is part of [JobList].
type Job struct {
	CreatedAt time.Time `json:"created_at"`
	// Minimum interval between requests to one host, set by set-pace; absent if
	// there is none.
	DelaySeconds float64   `json:"delay_seconds,omitzero"`
	EndedAt      time.Time `json:"ended_at,omitzero"`
	// The limit that stopped the job; absent if none did.
	Errors   []LimitError     `json:"errors,omitzero"`
	ID       int64            `json:"id"`
	Name     string           `json:"name"`
	Outcomes map[string]int64 `json:"outcomes,omitzero"`
	Pages    int64            `json:"pages"`
	// What the job waits for; absent unless it is queued, in lists, and in the
	// response that creates it.
	Queue  *QueuePlace `json:"queue,omitzero"`
	Reason string      `json:"reason,omitzero"`
	// The earlier job of the same schedule: pages that have not changed since end
	// as not_modified, with its content. Absent if there is none.
	Since     int64     `json:"since,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State   string `json:"state"`
	Success bool   `json:"success"`
	Tenant  string `json:"tenant,omitzero"`
	Waiting int64  `json:"waiting"`
}

// JobBackoff is part of [JobRequest] and [JobView].
type JobBackoff struct {
	// Maximum of this backoff.
	FailingMaxSeconds *float64 `json:"failing_max_seconds,omitzero"`
	// Initial backoff after a failure (5xx, network error); doubles with each
	// further one.
	FailingStartSeconds *float64 `json:"failing_start_seconds,omitzero"`
	// Maximum of this backoff.
	RefusingMaxSeconds *float64 `json:"refusing_max_seconds,omitzero"`
	// Initial backoff after a refusal (429, 503) without Retry-After; doubles with
	// each further one.
	RefusingStartSeconds *float64 `json:"refusing_start_seconds,omitzero"`
}

// JobHosts is the response of [Client.ListHostsOfJob].
type JobHosts struct {
	Hosts []Host `json:"hosts"`
	// Cursor of the next page; absent on the last page.
	NextCursor string `json:"next_cursor,omitzero"`
}

// JobLimits is the response of [Client.GetJobLimits].
type JobLimits struct {
	// The limits in force.
	Ceilings []Ceiling `json:"ceilings"`
	// The limit that stopped the job.
	Errors []LimitError `json:"errors"`
	// Limits that were nearly reached: at 80 and 95 %.
	Warnings []string `json:"warnings"`
}

// JobList is the response of [Client.ListJobs].
type JobList struct {
	Jobs []Job `json:"jobs"`
	// Cursor of the next page; absent on the last page.
	NextCursor string `json:"next_cursor,omitzero"`
}

// JobPace is part of [JobRequest] and [JobView].
type JobPace struct {
	// Minimum interval between requests to one host.
	DelaySeconds *float64 `json:"delay_seconds,omitzero"`
	// Maximum concurrent requests to one host.
	InFlight *int64 `json:"in_flight,omitzero"`
	// Jitter: maximum percentage added to each interval.
	Jitter *int64 `json:"jitter,omitzero"`
	// Random addition to the interval, at most this long.
	SpreadSeconds *float64 `json:"spread_seconds,omitzero"`
}

// JobPaceOrder is the request body of [Client.SetPaceOfJob].
type JobPaceOrder struct {
	// Minimum interval between requests to each host of the job; 0 removes it. It
	// never makes a job faster than originally requested.
	DelaySeconds float64 `json:"delay_seconds"`
}

// JobRequest is the request body of [Client.CreateJob].
type JobRequest struct {
	// Overrides the backoff of the preset.
	Backoff *JobBackoff `json:"backoff,omitzero"`
	// Cancel the crawl after this many consecutive 429 responses at the slowest
	// pace; 0 never cancels.
	CancelAfter *int64 `json:"cancel_after,omitzero"`
	// Also keep the main text of pages, in these forms; exports to JSONL and
	// Parquet have it. One of text, markdown.
	Content []string `json:"content,omitzero"`
	// Dry run: read robots.txt and sitemaps but fetch no pages. GET
	// /v1/jobs/{job}/plan returns the plan.
	DryRun *bool `json:"dry_run,omitzero"`
	// Skip URLs that match one of these patterns; takes precedence over include.
	Exclude []string `json:"exclude,omitzero"`
	// Also keep fields of pages, by these extraction rules: the text of a YAML
	// rules file. Exports to JSONL and Parquet have them.
	Extract *string `json:"extract,omitzero"`
	// Consecutive failures after which the job gives up a host.
	FailureThreshold *int64 `json:"failure_threshold,omitzero"`
	// Also fetch non-HTML files (images, archives, PDF), judged by extension.
	Files *bool `json:"files,omitzero"`
	// Crawl only URLs that match one of these patterns: a glob, or re: followed by
	// a regular expression (RE2).
	Include []string `json:"include,omitzero"`
	// Limits of the job. Values above what the server or the plan allows are
	// capped, not refused.
	Limits *Limits `json:"limits,omitzero"`
	// Also keep every link of every page, with its text; exports to Parquet have
	// them.
	Links *bool `json:"links,omitzero"`
	// Display name; default: the host of the first seed.
	Name *string `json:"name,omitzero"`
	// Overrides the pace of the preset.
	Pace *JobPace `json:"pace,omitzero"`
	// Politeness preset: pace, concurrency and backoff per host. One of polite,
	// audit, warm, map, owned.
	Preset *string `json:"preset,omitzero"`
	// Also keep what servers sent for each page, in the archive of the fleet. A
	// server without an archive refuses the job, and it fails if a worker has
	// none.
	Raw *bool `json:"raw,omitzero"`
	// Which URLs are in scope, relative to the seeds. One of host, domain, prefix,
	// list, any.
	Scope *string `json:"scope,omitzero"`
	// Additional in-scope hosts.
	ScopeHosts []string `json:"scope_hosts,omitzero"`
	// Where to start: URLs, or hosts such as example.com.
	Seeds []string `json:"seeds"`
	// auto: follow sitemaps and links. only: follow sitemaps, not links. off:
	// ignore sitemaps. One of auto, only, off.
	Sitemaps *string `json:"sitemaps,omitzero"`
}

// JobView is the response of [Client.CancelJob], [Client.CreateJob],
// [Client.DrainJob], [Client.ExtendJob], [Client.GetJob], [Client.PauseJob],
// [Client.ResumeJob] and [Client.SetPaceOfJob].
type JobView struct {
	// Overrides the backoff of the preset.
	Backoff *JobBackoff `json:"backoff,omitzero"`
	// Cancel the crawl after this many consecutive 429 responses at the slowest
	// pace; 0 never cancels.
	CancelAfter int64 `json:"cancel_after,omitzero"`
	// Also keep the main text of pages, in these forms; exports to JSONL and
	// Parquet have it. One of text, markdown.
	Content   []string  `json:"content,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	// Minimum interval between requests to one host, set by set-pace; absent if
	// there is none.
	DelaySeconds float64 `json:"delay_seconds,omitzero"`
	// Whether this is a dry run, which fetches no pages.
	DryRun  bool      `json:"dry_run,omitzero"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	// The limit that stopped the job; absent if none did.
	Errors []LimitError `json:"errors,omitzero"`
	// Skip URLs that match one of these patterns; takes precedence over include.
	Exclude []string `json:"exclude,omitzero"`
	// Also keep fields of pages, by these extraction rules: the text of a YAML
	// rules file. Exports to JSONL and Parquet have them.
	Extract string `json:"extract,omitzero"`
	// Consecutive failures after which the job gives up a host.
	FailureThreshold int64 `json:"failure_threshold,omitzero"`
	// Also fetch non-HTML files (images, archives, PDF), judged by extension.
	Files bool  `json:"files,omitzero"`
	ID    int64 `json:"id"`
	// Crawl only URLs that match one of these patterns: a glob, or re: followed by
	// a regular expression (RE2).
	Include []string `json:"include,omitzero"`
	// The limits that the job requests, as in the request; with those last set by
	// extend. GET /v1/jobs/{job}/limits returns the limits in force.
	Limits *Limits `json:"limits,omitzero"`
	// Also keep every link of every page, with its text; exports to Parquet have
	// them.
	Links    bool             `json:"links,omitzero"`
	Name     string           `json:"name"`
	Outcomes map[string]int64 `json:"outcomes,omitzero"`
	// Overrides the pace of the preset.
	Pace  *JobPace `json:"pace,omitzero"`
	Pages int64    `json:"pages"`
	// Politeness preset: pace, concurrency and backoff per host. One of polite,
	// audit, warm, map, owned.
	Preset string `json:"preset,omitzero"`
	// What the job waits for; absent unless it is queued, in lists, and in the
	// response that creates it.
	Queue *QueuePlace `json:"queue,omitzero"`
	// Also keep what servers sent for each page, in the archive of the fleet. A
	// server without an archive refuses the job, and it fails if a worker has
	// none.
	Raw    bool   `json:"raw,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Which URLs are in scope, relative to the seeds. One of host, domain, prefix,
	// list, any.
	Scope string `json:"scope,omitzero"`
	// Additional in-scope hosts.
	ScopeHosts []string `json:"scope_hosts,omitzero"`
	// The seeds as given in the request.
	Seeds []string `json:"seeds"`
	// The earlier job of the same schedule: pages that have not changed since end
	// as not_modified, with its content. Absent if there is none.
	Since int64 `json:"since,omitzero"`
	// auto: follow sitemaps and links. only: follow sitemaps, not links. off:
	// ignore sitemaps. One of auto, only, off.
	Sitemaps  string    `json:"sitemaps,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State   string `json:"state"`
	Success bool   `json:"success"`
	Tenant  string `json:"tenant,omitzero"`
	Waiting int64  `json:"waiting"`
}

// Left is part of [Slow].
type Left struct {
	AtLeastSeconds float64 `json:"at_least_seconds"`
	Forbidden      int64   `json:"forbidden,omitzero"`
	Host           string  `json:"host"`
	Hosts          int64   `json:"hosts"`
	Limit          string  `json:"limit,omitzero"`
	PaceSeconds    float64 `json:"pace_seconds"`
	Rest           float64 `json:"rest,omitzero"`
	Unsure         bool    `json:"unsure,omitzero"`
	URLs           int64   `json:"urls"`
	Waiting        int64   `json:"waiting"`
}

// LimitError is part of [JobLimits], [JobView], [Job] and [SimulatedLimits].
type LimitError struct {
	// The layer that set it. One of safety, plan, usage, job.
	Layer string `json:"layer"`
	// The limit. One of max_pages, max_requests, max_time, max_depth, max_bytes,
	// max_pages_per_host, patience, max_concurrent_crawls, max_hosts,
	// max_requests_per_second, retention.
	Limit string `json:"limit"`
	// Its value, in unit.
	Max float64 `json:"max"`
	// The amount used when it stopped the job, in unit.
	Observed float64 `json:"observed"`
	// The same in words for people.
	Text string `json:"text"`
	// The unit of max and observed; absent for a count. One of seconds, bytes.
	Unit string `json:"unit,omitzero"`
}

// LimitWish is the request body of [Client.SimulateLimits].
type LimitWish struct {
	// As in POST /v1/jobs.
	Limits *Limits `json:"limits,omitzero"`
	// Simulate with this plan instead of the tenant's. Operators only.
	Plan *string `json:"plan,omitzero"`
	// Some presets set limits. One of polite, audit, warm, map, owned.
	Preset *string `json:"preset,omitzero"`
	// Simulate for this tenant instead of your own. Operators only.
	Tenant *string `json:"tenant,omitzero"`
}

// Limits is part of [JobRequest], [JobView] and [LimitWish].
type Limits struct {
	// Maximum bytes downloaded, counted before decompression; 0 means no limit.
	MaxBytes *int64 `json:"max_bytes,omitzero"`
	// Maximum depth, in links from a seed; 0 means no limit.
	MaxDepth *int64 `json:"max_depth,omitzero"`
	// Maximum pages per crawl; 0 means no limit.
	MaxPages *int64 `json:"max_pages,omitzero"`
	// Maximum pages per host; 0 means no limit.
	MaxPagesPerHost *int64 `json:"max_pages_per_host,omitzero"`
	// Maximum requests per crawl, including robots.txt and sitemaps; 0 means no
	// limit.
	MaxRequests *int64 `json:"max_requests,omitzero"`
	// Maximum running time; 0 means no limit.
	MaxTimeSeconds *float64 `json:"max_time_seconds,omitzero"`
	// How long to wait for a held, failing or unreachable host before giving up on
	// it.
	PatienceSeconds *float64 `json:"patience_seconds,omitzero"`
}

// LinkRow is part of [Scraped].
type LinkRow struct {
	Anchor   string `json:"anchor"`
	Kind     string `json:"kind"`
	Nofollow bool   `json:"nofollow"`
	Position int64  `json:"position"`
	Rel      string `json:"rel,omitzero"`
	URL      string `json:"url"`
}

// LiveHost is part of [Receipt] and [Waiting].
type LiveHost struct {
	BaseSeconds       float64   `json:"base_seconds"`
	Cap               int64     `json:"cap"`
	Clean             int64     `json:"clean"`
	CrawlDelaySeconds float64   `json:"crawl_delay_seconds,omitzero"`
	DelaySeconds      float64   `json:"delay_seconds,omitzero"`
	Domain            string    `json:"domain,omitzero"`
	Failures          int64     `json:"failures,omitzero"`
	FloorSeconds      float64   `json:"floor_seconds,omitzero"`
	HeldUntil         time.Time `json:"held_until,omitzero"`
	Host              string    `json:"host"`
	InFlight          int64     `json:"in_flight"`
	Incidents         int64     `json:"incidents,omitzero"`
	LastIncidentAt    time.Time `json:"last_incident_at,omitzero"`
	LastSentAt        time.Time `json:"last_sent_at,omitzero"`
	LearnedSeconds    float64   `json:"learned_seconds,omitzero"`
	More              bool      `json:"more,omitzero"`
	Noise             string    `json:"noise,omitzero"`
	PaceSeconds       float64   `json:"pace_seconds"`
	Paused            bool      `json:"paused,omitzero"`
	Queued            int64     `json:"queued"`
	Refusing          bool      `json:"refusing,omitzero"`
	Source            string    `json:"source"`
	State             string    `json:"state,omitzero"`
	Until             time.Time `json:"until,omitzero"`
}

// LiveLayer is part of [Slow].
type LiveLayer struct {
	Limit         int64   `json:"limit,omitzero"`
	Name          string  `json:"name"`
	Setting       string  `json:"setting"`
	Use           int64   `json:"use"`
	WaitedSeconds float64 `json:"waited_seconds"`
	Waiting       int64   `json:"waiting"`
}

// LiveShare is part of [Slow].
type LiveShare struct {
	Hosts        int64   `json:"hosts"`
	Part         float64 `json:"part"`
	SpentSeconds float64 `json:"spent_seconds"`
	State        string  `json:"state"`
}

// Me is the response of [Client.GetMe].
type Me struct {
	// Whether the request came without a key, from this machine.
	Anonymous bool `json:"anonymous"`
	// When the key expires; absent if it never does.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// The public id of the key.
	Key string `json:"key,omitzero"`
	// The name of the key.
	Name string `json:"name,omitzero"`
	// The scope of the key. One of read, write, operator.
	Scope string `json:"scope"`
	// The tenant of the key; empty for jobs without a tenant.
	Tenant string `json:"tenant"`
}

// NearURL is part of [Why].
type NearURL struct {
	How string `json:"how"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Outcome string `json:"outcome"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	URL    string `json:"url"`
}

// OptOut is the response of [Client.AddOptOut].
type OptOut struct {
	// Who added it.
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
	// The domain name; it covers all its subdomains.
	Host string `json:"host"`
	// The domain name, as needed to remove the opt-out.
	ID string `json:"id"`
}

// OptOutList is the response of [Client.ListOptOuts].
type OptOutList struct {
	// Cursor of the next page; absent on the last page.
	NextCursor string   `json:"next_cursor,omitzero"`
	OptOuts    []OptOut `json:"opt_outs"`
}

// OptOutRequest is the request body of [Client.AddOptOut].
type OptOutRequest struct {
	// A domain name; it covers all its subdomains. Of a host or URL, only the name
	// is used.
	Host string `json:"host"`
}

// Order is part of [OrderList].
type Order struct {
	// The id of any other object it applied to: a webhook, schedule, key or plan.
	About string `json:"about,omitzero"`
	// The state after the order.
	After string `json:"after,omitzero"`
	// The state before the order.
	Before string `json:"before,omitzero"`
	// Who gave the order: an API key, or a user of the command line.
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
	Host      string    `json:"host,omitzero"`
	// Position in the log; always increasing.
	ID     int64  `json:"id"`
	Job    int64  `json:"job,omitzero"`
	Tenant string `json:"tenant,omitzero"`
	// The order, such as pause or set-pace.
	What   string `json:"what"`
	Worker int64  `json:"worker,omitzero"`
}

// OrderList is the response of [Client.ListOrders].
type OrderList struct {
	// Cursor of the next page; absent on the last page.
	NextCursor string  `json:"next_cursor,omitzero"`
	Orders     []Order `json:"orders"`
}

// OwnedHost is the response of [Client.CheckOwnedHost] and [Client.ClaimHost].
type OwnedHost struct {
	CreatedAt time.Time `json:"created_at"`
	// URL of a file on the host that has the token on its own line.
	File string `json:"file"`
	Host string `json:"host"`
	// The host, as in the path of the claim.
	ID string `json:"id"`
	// Whether ownership is verified.
	Owned bool `json:"owned"`
	// When ownership was verified; absent until then.
	OwnedAt time.Time `json:"owned_at,omitzero"`
	// How ownership was verified; absent until then. One of file, dns, operator.
	Proof string `json:"proof,omitzero"`
	// Alternatively, the name of a DNS TXT record that contains the token; absent
	// for an IP address.
	Record string `json:"record,omitzero"`
	// The token that proves ownership: publish it as file or record says.
	Token string `json:"token"`
}

// OwnedHostList is the response of [Client.ListOwnedHosts].
type OwnedHostList struct {
	OwnedHosts []OwnedHost `json:"owned_hosts"`
}

// OwnedHostRequest is the request body of [Client.ClaimHost].
type OwnedHostRequest struct {
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string `json:"host"`
	// The tenant that owns the host; default: your own. Only operators can name
	// another tenant; the host then needs no check.
	Tenant *string `json:"tenant,omitzero"`
}

// PaceStep is part of [HostStory] and [Receipt].
type PaceStep struct {
	At          time.Time `json:"at"`
	Cause       string    `json:"cause"`
	FromSeconds float64   `json:"from_seconds"`
	ToSeconds   float64   `json:"to_seconds"`
}

// PageList is the response of [Client.ListPages].
type PageList struct {
	// Cursor of the next page; absent on the last page. A page can be short or
	// empty and still have a next page.
	NextCursor string   `json:"next_cursor,omitzero"`
	Pages      []URLRow `json:"pages"`
}

// PassCheck is part of [Recheck].
type PassCheck struct {
	Gate string `json:"gate"`
	Pass string `json:"pass"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	Rule   string `json:"rule"`
}

// PlanHost is part of [PlanView].
type PlanHost struct {
	Blocked         string        `json:"blocked,omitzero"`
	Disallowed      int64         `json:"disallowed"`
	Domain          string        `json:"domain"`
	Failed          string        `json:"failed,omitzero"`
	HeldUntil       time.Time     `json:"held_until,omitzero"`
	Host            string        `json:"host"`
	InFlight        int64         `json:"in_flight"`
	IntervalSeconds float64       `json:"interval_seconds"`
	Links           int64         `json:"links"`
	Listed          int64         `json:"listed"`
	Moved           string        `json:"moved,omitzero"`
	Outside         int64         `json:"outside"`
	Owned           bool          `json:"owned,omitzero"`
	PaceSeconds     float64       `json:"pace_seconds"`
	PageBytes       int64         `json:"page_bytes,omitzero"`
	Pages           int64         `json:"pages"`
	PagesAsked      []PlanPage    `json:"pages_asked,omitzero"`
	Prefixes        []PlanPrefix  `json:"prefixes,omitzero"`
	Remembered      bool          `json:"remembered"`
	Repeated        int64         `json:"repeated"`
	Requests        int64         `json:"requests"`
	ResponseSeconds float64       `json:"response_seconds,omitzero"`
	Robots          PlanRobots    `json:"robots"`
	Sent            int64         `json:"sent"`
	Sitemaps        []PlanSitemap `json:"sitemaps,omitzero"`
	SitemapsUnread  int64         `json:"sitemaps_unread,omitzero"`
	SizeKnown       bool          `json:"size_known"`
	Source          string        `json:"source"`
	TakesSeconds    float64       `json:"takes_seconds"`
	Unlisted        int64         `json:"unlisted"`
}

// PlanLimit is part of [PlanView].
type PlanLimit struct {
	Layer string  `json:"layer"`
	Limit string  `json:"limit"`
	Max   float64 `json:"max"`
	Needs float64 `json:"needs"`
	Stops bool    `json:"stops"`
	Unit  string  `json:"unit,omitzero"`
	Used  float64 `json:"used"`
}

// PlanPage is part of [PlanHost].
type PlanPage struct {
	Bytes       int64   `json:"bytes"`
	Detail      string  `json:"detail,omitzero"`
	Outcome     string  `json:"outcome"`
	Status      int64   `json:"status,omitzero"`
	TookSeconds float64 `json:"took_seconds"`
	URL         string  `json:"url"`
}

// PlanPrefix is part of [PlanHost].
type PlanPrefix struct {
	Prefix string `json:"prefix"`
	URLs   int64  `json:"urls"`
}

// PlanRobots is part of [PlanHost].
type PlanRobots struct {
	Access            string   `json:"access,omitzero"`
	CrawlDelaySeconds float64  `json:"crawl_delay_seconds,omitzero"`
	Error             string   `json:"error,omitzero"`
	Ignored           bool     `json:"ignored,omitzero"`
	Line              int64    `json:"line,omitzero"`
	Reason            string   `json:"reason"`
	Rule              string   `json:"rule,omitzero"`
	SeedAllowed       bool     `json:"seed_allowed"`
	Sitemaps          []string `json:"sitemaps,omitzero"`
	Status            int64    `json:"status,omitzero"`
}

// PlanSitemap is part of [PlanHost].
type PlanSitemap struct {
	Entries int64  `json:"entries"`
	Error   string `json:"error,omitzero"`
	Form    string `json:"form,omitzero"`
	Status  int64  `json:"status,omitzero"`
	URL     string `json:"url"`
}

// PlanView is the response of [Client.GetJobPlan].
type PlanView struct {
	Bytes    int64       `json:"bytes"`
	Ceilings []PlanLimit `json:"ceilings"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	Ends      string     `json:"ends"`
	Hosts     []PlanHost `json:"hosts"`
	Job       int64      `json:"job"`
	Outside   int64      `json:"outside"`
	Pages     int64      `json:"pages"`
	Reason    string     `json:"reason,omitzero"`
	Requests  int64      `json:"requests"`
	Sent      int64      `json:"sent"`
	Sentence  string     `json:"sentence"`
	SizeKnown bool       `json:"size_known"`
	Slowest   string     `json:"slowest,omitzero"`
	// State of the dry run. Until it is complete, the plan shows what is known so
	// far. One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State        string   `json:"state"`
	StoppedBy    string   `json:"stopped_by,omitzero"`
	TakesSeconds float64  `json:"takes_seconds"`
	Unknown      []string `json:"unknown"`
}

// Problem is the error of a failed operation.
type Problem struct {
	// The type of problem, for programs: the last part of type. One of
	// malformed_body, missing_key, invalid_key, revoked_key, expired_key,
	// scope_too_narrow, operator_only, no_tenant, cross_origin, not_found,
	// content_not_kept, unknown_path, method_not_allowed, body_timeout,
	// wrong_state, conflict, too_many_objects, idempotency_key_reused,
	// not_a_dry_run, no_export_location, no_archive, no_worker, order_refused,
	// not_verified, body_too_large, unsupported_media_type, wrong_hostname,
	// invalid_value, invalid_cursor, host_not_owned, unknown_tenant, unknown_plan,
	// too_many_urls, rate_limited, quota_exhausted, checked_recently, internal,
	// unavailable, too_many_streams.
	Code string `json:"code"`
	// What is wrong with this request, in one sentence.
	Detail string `json:"detail"`
	// The errors in the request, one by one.
	Errors []ErrorDetail `json:"errors,omitzero"`
	// What to do next, in one sentence.
	Hint string `json:"hint"`
	// The HTTP status of the response.
	Status int64 `json:"status"`
	// The type of problem, in words for people.
	Title string `json:"title"`
	// The URI of the type of problem; docs/reference/problems.md lists them. One
	// of urn:headway:problem:malformed_body, urn:headway:problem:missing_key,
	// urn:headway:problem:invalid_key, urn:headway:problem:revoked_key,
	// urn:headway:problem:expired_key, urn:headway:problem:scope_too_narrow,
	// urn:headway:problem:operator_only, urn:headway:problem:no_tenant,
	// urn:headway:problem:cross_origin, urn:headway:problem:not_found,
	// urn:headway:problem:content_not_kept, urn:headway:problem:unknown_path,
	// urn:headway:problem:method_not_allowed, urn:headway:problem:body_timeout,
	// urn:headway:problem:wrong_state, urn:headway:problem:conflict,
	// urn:headway:problem:too_many_objects,
	// urn:headway:problem:idempotency_key_reused,
	// urn:headway:problem:not_a_dry_run, urn:headway:problem:no_export_location,
	// urn:headway:problem:no_archive, urn:headway:problem:no_worker,
	// urn:headway:problem:order_refused, urn:headway:problem:not_verified,
	// urn:headway:problem:body_too_large,
	// urn:headway:problem:unsupported_media_type,
	// urn:headway:problem:wrong_hostname, urn:headway:problem:invalid_value,
	// urn:headway:problem:invalid_cursor, urn:headway:problem:host_not_owned,
	// urn:headway:problem:unknown_tenant, urn:headway:problem:unknown_plan,
	// urn:headway:problem:too_many_urls, urn:headway:problem:rate_limited,
	// urn:headway:problem:quota_exhausted, urn:headway:problem:checked_recently,
	// urn:headway:problem:internal, urn:headway:problem:unavailable,
	// urn:headway:problem:too_many_streams.
	Type string `json:"type"`
}

// Proof is part of [EvidenceList].
type Proof struct {
	Detail   string     `json:"detail,omitzero"`
	Evidence []Evidence `json:"evidence"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Outcome string `json:"outcome"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	URL    string `json:"url"`
}

// QueuePlace is part of [JobView] and [Job].
type QueuePlace struct {
	// 1 for the job that is next; absent beyond 100, or while jobs of as many
	// tenants are queued. Tenants take turns, and jobs of tenants that use all
	// places of their plan count too, so a job may start sooner.
	Place int64 `json:"place,omitzero"`
	// Why it is queued: the fleet has no worker; a worker of an older version
	// still runs, and no job starts until it has left; its tenant runs as many
	// crawls as its plan allows; all places of the fleet are taken; a worker is
	// about to start it. One of no_worker, older_worker, plan_limit, fleet_limit,
	// starting.
	Reason string `json:"reason"`
	// The same in words for people.
	Text string `json:"text"`
}

// Receipt is the response of [Client.GetCourtesyOfJob] and
// [Client.GetCourtesy].
type Receipt struct {
	AllSent              int64           `json:"all_sent,omitzero"`
	BusiestMinute        int64           `json:"busiest_minute"`
	Bytes                int64           `json:"bytes"`
	CreatedAt            time.Time       `json:"created_at"`
	Disallowed           int64           `json:"disallowed"`
	From                 time.Time       `json:"from,omitzero"`
	Host                 string          `json:"host"`
	Incidents            []Incident      `json:"incidents,omitzero"`
	Instructions         []Step          `json:"instructions"`
	MedianGapSeconds     float64         `json:"median_gap_seconds,omitzero"`
	Notes                []string        `json:"notes"`
	Now                  *LiveHost       `json:"now,omitzero"`
	Orders               []ReceiptOrder  `json:"orders,omitzero"`
	PaceChanges          []PaceStep      `json:"pace_changes,omitzero"`
	Pages                int64           `json:"pages"`
	PeakConcurrency      int64           `json:"peak_concurrency"`
	RefusalList          []Refusal       `json:"refusal_list,omitzero"`
	Refusals             int64           `json:"refusals"`
	Repeated             int64           `json:"repeated"`
	Requests             int64           `json:"requests"`
	Robots               []RobotsVersion `json:"robots"`
	RobotsIgnored        int64           `json:"robots_ignored,omitzero"`
	RobotsNone           int64           `json:"robots_none,omitzero"`
	Running              bool            `json:"running"`
	SentInsideRetryAfter int64           `json:"sent_inside_retry_after"`
	SmallestGapAt        time.Time       `json:"smallest_gap_at,omitzero"`
	SmallestGapSeconds   float64         `json:"smallest_gap_seconds,omitzero"`
	Statuses             []StatusCount   `json:"statuses"`
	To                   time.Time       `json:"to,omitzero"`
	Unsent               int64           `json:"unsent,omitzero"`
	Who                  Who             `json:"who"`
}

// ReceiptOrder is part of [Receipt].
type ReceiptOrder struct {
	After  string    `json:"after"`
	At     time.Time `json:"at"`
	Before string    `json:"before"`
	Order  string    `json:"order"`
}

// Recheck is part of [Why].
type Recheck struct {
	CannotKnow []string    `json:"cannot_know"`
	Checks     []PassCheck `json:"checks"`
	Pass       string      `json:"pass"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
}

// Refusal is part of [Receipt].
type Refusal struct {
	At                time.Time `json:"at"`
	RetryAfter        string    `json:"retry_after,omitzero"`
	RetryAfterSeconds float64   `json:"retry_after_seconds,omitzero"`
	Status            int64     `json:"status"`
	URL               string    `json:"url"`
}

// RobotsExcerpt is part of [Why].
type RobotsExcerpt struct {
	Allowed           bool          `json:"allowed"`
	Confidence        string        `json:"confidence,omitzero"`
	CrawlDelaySeconds float64       `json:"crawl_delay_seconds,omitzero"`
	DecidedAt         time.Time     `json:"decided_at,omitzero"`
	FetchedAt         time.Time     `json:"fetched_at,omitzero"`
	Group             string        `json:"group,omitzero"`
	Line              int64         `json:"line,omitzero"`
	Lines             []ExcerptLine `json:"lines,omitzero"`
	Reason            string        `json:"reason"`
	Rule              string        `json:"rule,omitzero"`
	SHA256            string        `json:"sha256,omitzero"`
	URL               string        `json:"url"`
}

// RobotsVersion is part of [Receipt].
type RobotsVersion struct {
	Bytes           int64     `json:"bytes"`
	Decisions       int64     `json:"decisions"`
	Disallowed      int64     `json:"disallowed"`
	FirstFetchedAt  time.Time `json:"first_fetched_at"`
	LastConfirmedAt time.Time `json:"last_confirmed_at"`
	SHA256          string    `json:"sha256"`
}

// Safety is the response of [Client.ChangeSafety] and [Client.GetSafety].
type Safety struct {
	// Who made it.
	By string `json:"by"`
	// Minimum interval between two commits of a worker.
	CommitGapSeconds float64   `json:"commit_gap_seconds"`
	CreatedAt        time.Time `json:"created_at,omitzero"`
	// The version; each change adds one.
	ID int64 `json:"id"`
	// How long a worker keeps its hosts after its last heartbeat.
	LeaseSeconds float64 `json:"lease_seconds"`
	// The safety limits. A limit that is absent is not set.
	Safety SafetyLimits `json:"safety"`
}

// SafetyChange is the request body of [Client.ChangeSafety].
type SafetyChange struct {
	// Minimum interval between two commits of a worker.
	CommitGapSeconds *float64 `json:"commit_gap_seconds,omitzero"`
	// How long a worker keeps its hosts after its last heartbeat.
	LeaseSeconds *float64 `json:"lease_seconds,omitzero"`
	// Safety limits to change; 0 means no limit.
	Safety *SafetyLimits `json:"safety,omitzero"`
}

// SafetyHistory is the response of [Client.ListSafetyHistory].
type SafetyHistory struct {
	// Cursor of the next page; absent on the last page.
	NextCursor string   `json:"next_cursor,omitzero"`
	Versions   []Safety `json:"versions"`
}

// SafetyLimits is part of [SafetyChange] and [Safety].
type SafetyLimits struct {
	// Maximum bytes downloaded, counted before decompression; 0 means no limit.
	MaxBytes *int64 `json:"max_bytes,omitzero"`
	// Maximum concurrent crawls in the fleet; 0 means no limit.
	MaxConcurrentCrawls *int64 `json:"max_concurrent_crawls,omitzero"`
	// Maximum depth, in links from a seed; 0 means no limit.
	MaxDepth *int64 `json:"max_depth,omitzero"`
	// Maximum hosts per crawl, counting the seeds' hosts first; 0 means no limit.
	MaxHosts *int64 `json:"max_hosts,omitzero"`
	// Maximum pages per crawl; 0 means no limit.
	MaxPages *int64 `json:"max_pages,omitzero"`
	// Maximum pages per host; 0 means no limit.
	MaxPagesPerHost *int64 `json:"max_pages_per_host,omitzero"`
	// Maximum requests per crawl, including robots.txt and sitemaps; 0 means no
	// limit.
	MaxRequests *int64 `json:"max_requests,omitzero"`
	// Maximum requests per second per tenant, over all its jobs and workers; on
	// one machine, per crawl; 0 means no limit.
	MaxRequestsPerSecond *int64 `json:"max_requests_per_second,omitzero"`
	// Maximum running time; 0 means no limit.
	MaxTimeSeconds *float64 `json:"max_time_seconds,omitzero"`
	// How long to wait for a held, failing or unreachable host before giving up on
	// it; 0 means no limit.
	PatienceSeconds *float64 `json:"patience_seconds,omitzero"`
}

// Schedule is the response of [Client.ChangeSchedule], [Client.CreateSchedule],
// [Client.GetSchedule], [Client.PauseSchedule] and [Client.ResumeSchedule].
type Schedule struct {
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// Share of pages that changed between the last two compared runs.
	Changed   float64   `json:"changed,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	Cron      string    `json:"cron,omitzero"`
	// When the next job is created, if the previous one has ended by then.
	DueAt time.Time `json:"due_at"`
	ID    string    `json:"id"`
	// The request for each job of the schedule.
	Job JobRequest `json:"job"`
	// Number of jobs created.
	Jobs int64 `json:"jobs"`
	// The most recent job; absent before the first.
	LastJob int64 `json:"last_job,omitzero"`
	// Since when it is paused; absent while it is active.
	PausedAt time.Time `json:"paused_at,omitzero"`
}

// ScheduleChange is the request body of [Client.ChangeSchedule].
type ScheduleChange struct {
	// New adaptive interval; replaces the current interval or times.
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// New cron expression; replaces the current times or interval.
	Cron *string `json:"cron,omitzero"`
	// New request for its jobs; replaces the current one completely.
	Job *JobRequest `json:"job,omitzero"`
	// Whether the schedule is paused. Its existing jobs continue.
	Paused *bool `json:"paused,omitzero"`
}

// ScheduleList is the response of [Client.ListSchedules].
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
}

// ScheduleRequest is the request body of [Client.CreateSchedule].
type ScheduleRequest struct {
	// Instead of cron: start now and adapt the interval to how often pages change.
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// Cron expression: five fields, or a shorthand such as @daily. In UTC unless
	// it begins with a time zone such as CRON_TZ=Europe/Berlin. At most once a
	// minute.
	Cron *string `json:"cron,omitzero"`
	// The request for each job of the schedule.
	Job JobRequest `json:"job"`
}

// ScopeVerdict is part of [Why].
type ScopeVerdict struct {
	In bool `json:"in"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	Rule   string `json:"rule"`
}

// ScrapeRequest is the request body of [Client.Scrape].
type ScrapeRequest struct {
	// What to return of it; default: text and markdown. One of text, markdown,
	// links.
	As []string `json:"as,omitzero"`
	// How long to wait for the page, including time in the queue; default: 30.
	TimeoutSeconds *float64 `json:"timeout_seconds,omitzero"`
	// The page: a URL, or a host such as example.com.
	URL string `json:"url"`
}

// Scraped is the response of [Client.Scrape].
type Scraped struct {
	// The job that fetched the page.
	Job int64 `json:"job"`
	// The links from the page, at most 1,000.
	Links    []LinkRow `json:"links,omitzero"`
	Markdown string    `json:"markdown,omitzero"`
	// How the page ended; after a redirect, the page it leads to.
	Page *URLRow `json:"page,omitzero"`
	// The state of that job. One of queued, running, paused, draining, complete,
	// partial, blocked, cancelled, failed.
	State string `json:"state"`
	Text  string `json:"text,omitzero"`
}

// SimulatedLimits is the response of [Client.SimulateLimits].
type SimulatedLimits struct {
	// The limits that would be in force.
	Ceilings []Ceiling `json:"ceilings"`
	// What would keep the job from starting.
	Errors []LimitError `json:"errors"`
	// The plan used; absent if there is none.
	Plan   string `json:"plan,omitzero"`
	Tenant string `json:"tenant,omitzero"`
}

// Slow is the response of [Client.ExplainPaceOfJob].
type Slow struct {
	Change               string      `json:"change"`
	ElapsedSeconds       float64     `json:"elapsed_seconds"`
	Layers               []LiveLayer `json:"layers,omitzero"`
	Left                 *Left       `json:"left,omitzero"`
	MoreWorkersWouldHelp bool        `json:"more_workers_would_help"`
	Notes                []string    `json:"notes,omitzero"`
	Now                  *Verdict    `json:"now,omitzero"`
	Parts                []LiveShare `json:"parts"`
	Paused               int64       `json:"paused,omitzero"`
	Running              bool        `json:"running"`
	Sentence             string      `json:"sentence"`
	Setting              string      `json:"setting,omitzero"`
	Slowest              []Host      `json:"slowest,omitzero"`
	SoFar                Verdict     `json:"so_far"`
	State                string      `json:"state"`
	TailSeconds          float64     `json:"tail_seconds,omitzero"`
}

// StatusCount is part of [Receipt].
type StatusCount struct {
	N      int64 `json:"n"`
	Status int64 `json:"status"`
}

// Step is part of [Receipt].
type Step struct {
	Effect string `json:"effect"`
	Goal   string `json:"goal"`
	How    string `json:"how"`
}

// URLRow is part of [PageList] and [Scraped].
type URLRow struct {
	Depth   int64     `json:"depth"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	// One of seed, link, sitemap, redirect.
	Found   string `json:"found"`
	FoundOn string `json:"found_on,omitzero"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Outcome string `json:"outcome"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string    `json:"reason,omitzero"`
	SeenAt time.Time `json:"seen_at"`
	Status int64     `json:"status,omitzero"`
	URL    string    `json:"url"`
}

// Usage is the response of [Client.GetUsage].
type Usage struct {
	// Bytes of response bodies, as transferred.
	Bytes int64 `json:"bytes"`
	// The month, in UTC.
	Month string `json:"month"`
	// Monthly byte quota of the plan; absent if unlimited.
	MonthBytes int64 `json:"month_bytes,omitzero"`
	// Monthly page quota of the plan; absent if unlimited.
	MonthPages int64 `json:"month_pages,omitzero"`
	// Pages used, counted as page limits count them.
	Pages int64 `json:"pages"`
	// The plan of the tenant; absent if it has none.
	Plan string `json:"plan,omitzero"`
}

// Verdict is part of [Slow].
type Verdict struct {
	Change               string  `json:"change"`
	Hosts                int64   `json:"hosts,omitzero"`
	Meaning              string  `json:"meaning"`
	MoreWorkersWouldHelp bool    `json:"more_workers_would_help"`
	OwnLimit             bool    `json:"own_limit"`
	Part                 float64 `json:"part"`
	Setting              string  `json:"setting,omitzero"`
	State                string  `json:"state"`
}

// Waiting is part of [Why].
type Waiting struct {
	Ahead           int64     `json:"ahead,omitzero"`
	AheadAtLeast    bool      `json:"ahead_at_least,omitzero"`
	Host            *LiveHost `json:"host,omitzero"`
	InFlightSeconds float64   `json:"in_flight_seconds,omitzero"`
	Live            bool      `json:"live"`
	Note            string    `json:"note,omitzero"`
	Paused          bool      `json:"paused,omitzero"`
	Reason          string    `json:"reason"`
	TurnGuess       time.Time `json:"turn_guess,omitzero"`
	Until           time.Time `json:"until,omitzero"`
	Where           string    `json:"where,omitzero"`
}

// Webhook is the response of [Client.ChangeWebhook] and [Client.GetWebhook].
type Webhook struct {
	CreatedAt time.Time `json:"created_at"`
	// Since when the webhook is disabled; absent while it is enabled.
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	// Why the webhook is disabled.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Whether events are sent.
	Enabled bool   `json:"enabled"`
	ID      string `json:"id"`
	// Only events of these kinds are sent; an empty list sends all. One of
	// job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kinds []string `json:"kinds"`
	// Until when messages are also signed with the previous secret; absent if they
	// are not.
	OldSecretEndsAt time.Time `json:"old_secret_ends_at,omitzero"`
	URL             string    `json:"url"`
}

// WebhookChange is the request body of [Client.ChangeWebhook].
type WebhookChange struct {
	// Whether events are sent. Events that happen while the webhook is disabled
	// are not sent later.
	Enabled *bool `json:"enabled,omitzero"`
	// Send only events of these kinds; an empty list sends all. One of
	// job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kinds []string `json:"kinds,omitzero"`
	// An https URL without credentials.
	URL *string `json:"url,omitzero"`
}

// WebhookList is the response of [Client.ListWebhooks].
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookRequest is the request body of [Client.CreateWebhook].
type WebhookRequest struct {
	// Send only events of these kinds; default: all. One of job.created,
	// job.extended, limit.near, limit.reached, job.queued, job.running,
	// job.paused, job.draining, job.complete, job.partial, job.blocked,
	// job.cancelled, job.failed.
	Kinds []string `json:"kinds,omitzero"`
	// An https URL without credentials.
	URL string `json:"url"`
}

// WebhookSecret is the response of [Client.CreateWebhook] and
// [Client.RotateWebhook].
type WebhookSecret struct {
	CreatedAt time.Time `json:"created_at"`
	// Since when the webhook is disabled; absent while it is enabled.
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	// Why the webhook is disabled.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Whether events are sent.
	Enabled bool   `json:"enabled"`
	ID      string `json:"id"`
	// Only events of these kinds are sent; an empty list sends all. One of
	// job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kinds []string `json:"kinds"`
	// Until when messages are also signed with the previous secret; absent if they
	// are not.
	OldSecretEndsAt time.Time `json:"old_secret_ends_at,omitzero"`
	// The signing secret, for verifying signatures. It is not shown again.
	Secret string `json:"secret"`
	URL    string `json:"url"`
}

// Who is part of [Receipt].
type Who struct {
	Contact   string `json:"contact,omitzero"`
	Token     string `json:"token"`
	UserAgent string `json:"user_agent,omitzero"`
}

// Why is the response of [Client.ExplainURL].
type Why struct {
	Attempts       []Attempt       `json:"attempts,omitzero"`
	Budget         *Ceiling        `json:"budget,omitzero"`
	CanonicalSteps []CanonicalStep `json:"canonical_steps,omitzero"`
	CountedOnly    bool            `json:"counted_only,omitzero"`
	Crawl          WhyCrawl        `json:"crawl"`
	DecidedBy      string          `json:"decided_by,omitzero"`
	EndedAt        time.Time       `json:"ended_at,omitzero"`
	Evidence       []Evidence      `json:"evidence,omitzero"`
	Found          *Discovery      `json:"found,omitzero"`
	Near           []NearURL       `json:"near,omitzero"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Outcome string `json:"outcome,omitzero"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason         string         `json:"reason,omitzero"`
	Robots         *RobotsExcerpt `json:"robots,omitzero"`
	Rule           string         `json:"rule,omitzero"`
	Scope          *ScopeVerdict  `json:"scope,omitzero"`
	Seen           bool           `json:"seen"`
	SeenAt         time.Time      `json:"seen_at,omitzero"`
	Story          []string       `json:"story"`
	Typed          string         `json:"typed,omitzero"`
	URL            string         `json:"url"`
	Wait           *Waiting       `json:"wait,omitzero"`
	WouldItPassNow *Recheck       `json:"would_it_pass_now,omitzero"`
}

// WhyCrawl is part of [Why].
type WhyCrawl struct {
	Job     int64  `json:"job"`
	Reason  string `json:"reason,omitzero"`
	Running bool   `json:"running"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State string `json:"state"`
}

// The codes of a [Problem]; docs/reference/problems.md explains them.
const (
	CodeMalformedBody        = "malformed_body"
	CodeMissingKey           = "missing_key"
	CodeInvalidKey           = "invalid_key"
	CodeRevokedKey           = "revoked_key"
	CodeExpiredKey           = "expired_key"
	CodeScopeTooNarrow       = "scope_too_narrow"
	CodeOperatorOnly         = "operator_only"
	CodeNoTenant             = "no_tenant"
	CodeCrossOrigin          = "cross_origin"
	CodeNotFound             = "not_found"
	CodeContentNotKept       = "content_not_kept"
	CodeUnknownPath          = "unknown_path"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeBodyTimeout          = "body_timeout"
	CodeWrongState           = "wrong_state"
	CodeConflict             = "conflict"
	CodeTooManyObjects       = "too_many_objects"
	CodeIdempotencyKeyReused = "idempotency_key_reused"
	CodeNotADryRun           = "not_a_dry_run"
	CodeNoExportLocation     = "no_export_location"
	CodeNoArchive            = "no_archive"
	CodeNoWorker             = "no_worker"
	CodeOrderRefused         = "order_refused"
	CodeNotVerified          = "not_verified"
	CodeBodyTooLarge         = "body_too_large"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeWrongHostname        = "wrong_hostname"
	CodeInvalidValue         = "invalid_value"
	CodeInvalidCursor        = "invalid_cursor"
	CodeHostNotOwned         = "host_not_owned"
	CodeUnknownTenant        = "unknown_tenant"
	CodeUnknownPlan          = "unknown_plan"
	CodeTooManyURLs          = "too_many_urls"
	CodeRateLimited          = "rate_limited"
	CodeQuotaExhausted       = "quota_exhausted"
	CodeCheckedRecently      = "checked_recently"
	CodeInternal             = "internal"
	CodeUnavailable          = "unavailable"
	CodeTooManyStreams       = "too_many_streams"
)
