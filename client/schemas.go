// Code generated from docs/reference/openapi.json by client/internal/generate. DO NOT EDIT.

package client

import "time"

// Adaptive is part of [ScheduleChange], [ScheduleRequest] and [Schedule].
type Adaptive struct {
	// The interval to begin with; later, as it stands.
	EveryMS int64 `json:"every_ms"`
	// The shortest it may become.
	LeastMS int64 `json:"least_ms"`
	// The longest it may become.
	MostMS int64 `json:"most_ms"`
}

// Attempt is part of [Why].
type Attempt struct {
	Bytes       int64  `json:"bytes,omitzero"`
	ConnectMS   int64  `json:"connect_ms"`
	ContentType string `json:"content_type,omitzero"`
	Detail      string `json:"detail,omitzero"`
	DNSMS       int64  `json:"dns_ms"`
	FirstByteMS int64  `json:"first_byte_ms"`
	Location    string `json:"location,omitzero"`
	N           int64  `json:"n"`
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
	Sent             time.Time `json:"sent,omitzero"`
	Status           int64     `json:"status,omitzero"`
	TLSMS            int64     `json:"tls_ms"`
	TotalMS          int64     `json:"total_ms"`
}

// CanonicalStep is part of [Why].
type CanonicalStep struct {
	After  string `json:"after"`
	Before string `json:"before"`
	Reason string `json:"reason"`
}

// Ceiling is part of [Why].
type Ceiling struct {
	// One of safety, plan, usage, job.
	Layer string `json:"layer"`
	// One of max_pages, max_requests, max_time, max_depth, max_bytes,
	// max_pages_per_host, patience, max_concurrent_crawls, max_hosts,
	// max_requests_per_second, retention.
	Limit string `json:"limit"`
	Max   int64  `json:"max"`
	Text  string `json:"text"`
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
	After   string `json:"after,omitzero"`
	AfterMS int64  `json:"after_ms,omitzero"`
	// One of fetched, not_modified, redirected, dead, server_error, throttled,
	// blocked, skipped, deferred, failed, pending.
	Before   string `json:"before,omitzero"`
	BeforeMS int64  `json:"before_ms,omitzero"`
	FoundOn  string `json:"found_on,omitzero"`
	// One of robots_disallow, robots_unreachable, crawl_delay_too_long,
	// out_of_scope, excluded, duplicate_content, depth, trap_path, trap_query,
	// non_document, nofollow, private_address, bad_port, budget_bytes,
	// budget_host, opted_out, dns, connect, tls, timeout, too_large, truncated,
	// bad_encoding, protocol, parse, redirect_loop, host_parked, quarantined.
	Reason string `json:"reason,omitzero"`
	Status int64  `json:"status,omitzero"`
	URL    string `json:"url"`
}

// Comparison is the answer of [Client.CompareJobs].
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
	Ended time.Time `json:"ended,omitzero"`
	Pages int64     `json:"pages"`
	Seen  int64     `json:"seen"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State string `json:"state"`
}

// Delivery is part of [DeliveryList].
type Delivery struct {
	// Attempts that have begun.
	Attempts int64 `json:"attempts"`
	// Missing while it has not ended.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// What was wrong with the last attempt that failed.
	Error string `json:"error,omitzero"`
	// The webhook-id of all its attempts.
	ID string `json:"id"`
	// One of job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kind   string    `json:"kind"`
	MadeAt time.Time `json:"made_at"`
	// When the next attempt is due; missing where there is none.
	NextAt time.Time `json:"next_at,omitzero"`
	// dropped is one whose webhook was off or gone, given_up one whose last
	// attempt failed. One of waiting, sending, delivered, dropped, given_up.
	State string `json:"state"`
}

// DeliveryList is the answer of [Client.ListDeliveries].
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

// ErrorDetail is part of [Problem].
type ErrorDetail struct {
	// Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id'
	Location string `json:"location,omitzero"`
	// Error message text
	Message string `json:"message,omitzero"`
	// The value at the given location
	Value any `json:"value,omitzero"`
}

// Event is the answer of [Client.FollowEvents].
type Event struct {
	At   time.Time `json:"at"`
	Data EventData `json:"data"`
	// Its place among all events. It only grows.
	ID  int64 `json:"id"`
	Job int64 `json:"job,omitzero"`
	// One of job.created, job.extended, limit.near, limit.reached, job.queued,
	// job.running, job.paused, job.draining, job.complete, job.partial,
	// job.blocked, job.cancelled, job.failed.
	Kind string `json:"kind"`
}

// EventData is part of [Event].
type EventData struct {
	// Who set it. One of safety, plan, usage, job.
	Layer string `json:"layer,omitzero"`
	// The limit that came near or was reached. One of max_pages, max_requests,
	// max_time, max_depth, max_bytes, max_pages_per_host, patience,
	// max_concurrent_crawls, max_hosts, max_requests_per_second, retention.
	Limit string `json:"limit,omitzero"`
	// The limit; of times in nanoseconds.
	Max int64 `json:"max,omitzero"`
	// The page limit of the job.
	MaxPages int64 `json:"max_pages,omitzero"`
	// Of the job.
	Name string `json:"name,omitzero"`
	// Where the count stood, likewise.
	Observed int64 `json:"observed,omitzero"`
	// The mark that was passed.
	Percent int64 `json:"percent,omitzero"`
	// Why, for people.
	Reason string `json:"reason,omitzero"`
	// The state the job came into. One of queued, running, paused, draining,
	// complete, partial, blocked, cancelled, failed.
	State string `json:"state,omitzero"`
	// The state before. One of queued, running, paused, draining, complete,
	// partial, blocked, cancelled, failed.
	Was string `json:"was,omitzero"`
}

// EventList is the answer of [Client.ListEvents].
type EventList struct {
	Events []Event `json:"events"`
	// The number to go on after.
	Last int64 `json:"last"`
}

// Evidence is part of [Proof] and [Why].
type Evidence struct {
	At           time.Time `json:"at"`
	Confidence   string    `json:"confidence,omitzero"`
	CrawlDelayMS int64     `json:"crawl_delay_ms,omitzero"`
	Group        string    `json:"group,omitzero"`
	Kind         string    `json:"kind"`
	Line         int64     `json:"line,omitzero"`
	Note         string    `json:"note,omitzero"`
	Rule         string    `json:"rule,omitzero"`
	Source       string    `json:"source,omitzero"`
	SourceAt     time.Time `json:"source_at,omitzero"`
}

// EvidenceList is the answer of [Client.ListEvidence].
type EvidenceList struct {
	// The cursor of the next page; missing after the last.
	NextCursor string  `json:"next_cursor,omitzero"`
	URLs       []Proof `json:"urls"`
}

// ExcerptLine is part of [RobotsExcerpt].
type ExcerptLine struct {
	Mark bool   `json:"mark,omitzero"`
	N    int64  `json:"n"`
	Text string `json:"text"`
}

// Export is the answer of [Client.GetExport] and [Client.OrderExport].
type Export struct {
	AskedAt time.Time `json:"asked_at"`
	// Missing while it has not ended.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// What was wrong with the last attempt that failed.
	Error string `json:"error,omitzero"`
	// Where they are, once they are there.
	Files   []string `json:"files,omitzero"`
	Formats []string `json:"formats"`
	ID      int64    `json:"id"`
	Job     int64    `json:"job"`
	// waiting is for its turn or for another attempt; failed is for good. One of
	// waiting, running, done, failed.
	State string `json:"state"`
	// How many are in each file, once they are there.
	URLs int64 `json:"urls,omitzero"`
}

// ExportRequest is what [Client.OrderExport] asks for.
type ExportRequest struct {
	// One or more. One of jsonl, csv, sitemap, parquet.
	Formats []string `json:"formats"`
}

// Extension is what [Client.ExtendJob] asks for.
type Extension struct {
	// Pages of the crawl, those it has included; 0 is no limit.
	MaxPages int64 `json:"max_pages"`
}

// Host is part of [HostList], [JobHosts] and [Slow].
type Host struct {
	AskedMS      int64     `json:"asked_ms,omitzero"`
	BaseMS       int64     `json:"base_ms"`
	Cap          int64     `json:"cap"`
	Clean        int64     `json:"clean"`
	CrawlDelayMS int64     `json:"crawl_delay_ms,omitzero"`
	Domain       string    `json:"domain,omitzero"`
	ETAGuessMS   int64     `json:"eta_guess_ms,omitzero"`
	Failures     int64     `json:"failures,omitzero"`
	FloorMS      int64     `json:"floor_ms,omitzero"`
	HeldUntil    time.Time `json:"held_until,omitzero"`
	Host         string    `json:"host"`
	InFlight     int64     `json:"in_flight"`
	Incidents    int64     `json:"incidents,omitzero"`
	Known        bool      `json:"known"`
	LastIncident time.Time `json:"last_incident,omitzero"`
	LastSent     time.Time `json:"last_sent,omitzero"`
	LearnedMS    int64     `json:"learned_ms,omitzero"`
	More         bool      `json:"more,omitzero"`
	Noise        string    `json:"noise,omitzero"`
	PaceMS       int64     `json:"pace_ms"`
	Paused       bool      `json:"paused,omitzero"`
	Queued       int64     `json:"queued"`
	Refusing     bool      `json:"refusing,omitzero"`
	Source       string    `json:"source"`
	State        string    `json:"state,omitzero"`
	Until        time.Time `json:"until,omitzero"`
	Waiting      int64     `json:"waiting"`
}

// HostChange is the answer of [Client.ForgetHost], [Client.PauseHost],
// [Client.ResumeHost] and [Client.SetPaceOfHost].
type HostChange struct {
	// How it stands now, likewise.
	After string `json:"after"`
	// How the host stood before, for people.
	Before string `json:"before"`
	Host   string `json:"host"`
	Order  string `json:"order"`
	// The worker that owns the host and carried it out.
	Worker int64 `json:"worker,omitzero"`
}

// HostList is the answer of [Client.ListHosts].
type HostList struct {
	// Workers that answered; the hosts of the others are missing.
	Answered int64 `json:"answered"`
	// Workers that were asked.
	Asked int64  `json:"asked"`
	Hosts []Host `json:"hosts"`
}

// HostName is what [Client.ForgetHost], [Client.PauseHost] and
// [Client.ResumeHost] asks for.
type HostName struct {
	// Scheme, name and port if it is not the scheme's.
	Host string `json:"host"`
}

// HostPace is what [Client.SetPaceOfHost] asks for.
type HostPace struct {
	// The least interval between two requests; 0 lifts it. What the host itself
	// asks for still holds.
	DelayMS int64 `json:"delay_ms"`
	// Scheme, name and port if it is not the scheme's.
	Host string `json:"host"`
}

// HostStory is the answer of [Client.GetHost].
type HostStory struct {
	AskedMS      int64      `json:"asked_ms,omitzero"`
	BaseMS       int64      `json:"base_ms"`
	Cap          int64      `json:"cap"`
	Clean        int64      `json:"clean"`
	CrawlDelayMS int64      `json:"crawl_delay_ms,omitzero"`
	Domain       string     `json:"domain,omitzero"`
	ETAGuessMS   int64      `json:"eta_guess_ms,omitzero"`
	Failures     int64      `json:"failures,omitzero"`
	FloorMS      int64      `json:"floor_ms,omitzero"`
	HeldUntil    time.Time  `json:"held_until,omitzero"`
	Host         string     `json:"host"`
	InFlight     int64      `json:"in_flight"`
	Incidents    int64      `json:"incidents,omitzero"`
	Known        bool       `json:"known"`
	LastIncident time.Time  `json:"last_incident,omitzero"`
	LastSent     time.Time  `json:"last_sent,omitzero"`
	LearnedMS    int64      `json:"learned_ms,omitzero"`
	More         bool       `json:"more,omitzero"`
	Noise        string     `json:"noise,omitzero"`
	PaceChanges  []PaceStep `json:"pace_changes"`
	PaceMS       int64      `json:"pace_ms"`
	Paused       bool       `json:"paused,omitzero"`
	Queued       int64      `json:"queued"`
	Refusing     bool       `json:"refusing,omitzero"`
	Source       string     `json:"source"`
	State        string     `json:"state,omitzero"`
	Until        time.Time  `json:"until,omitzero"`
	Waiting      int64      `json:"waiting"`
}

// Incident is part of [Receipt].
type Incident struct {
	Answers              int64     `json:"answers"`
	AskedMS              int64     `json:"asked_ms,omitzero"`
	At                   time.Time `json:"at"`
	NextRequestMS        int64     `json:"next_request_ms,omitzero"`
	PaceFromMS           int64     `json:"pace_from_ms,omitzero"`
	PaceToMS             int64     `json:"pace_to_ms,omitzero"`
	RetryAfter           string    `json:"retry_after,omitzero"`
	SentInsideRetryAfter int64     `json:"sent_inside_retry_after,omitzero"`
	Status               int64     `json:"status"`
	URL                  string    `json:"url"`
}

// Job is part of [JobList].
type Job struct {
	Created  time.Time        `json:"created"`
	Ended    time.Time        `json:"ended,omitzero"`
	Job      int64            `json:"job"`
	MaxPages int64            `json:"max_pages,omitzero"`
	Name     string           `json:"name"`
	Outcomes map[string]int64 `json:"outcomes,omitzero"`
	// The least interval between two requests to a host that was ordered since;
	// missing where none was.
	PaceMS  int64     `json:"pace_ms,omitzero"`
	Pages   int64     `json:"pages"`
	Reason  string    `json:"reason,omitzero"`
	Started time.Time `json:"started,omitzero"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State   string `json:"state"`
	Success bool   `json:"success"`
	Tenant  string `json:"tenant,omitzero"`
	Waiting int64  `json:"waiting"`
}

// JobBackoff is part of [JobRequest].
type JobBackoff struct {
	// Longest such hold.
	FailingMaxMS *int64 `json:"failing_max_ms,omitzero"`
	// First hold of a host that fails; it doubles.
	FailingStartMS *int64 `json:"failing_start_ms,omitzero"`
	// Longest such hold.
	RefusingMaxMS *int64 `json:"refusing_max_ms,omitzero"`
	// First hold of a host that refuses without saying for how long; it doubles.
	RefusingStartMS *int64 `json:"refusing_start_ms,omitzero"`
}

// JobCeilings is part of [JobRequest] and [LimitWish].
type JobCeilings struct {
	// Bytes of bodies as sent.
	MaxBytes *int64 `json:"max_bytes,omitzero"`
	// Links from a seed.
	MaxDepth *int64 `json:"max_depth,omitzero"`
	// Pages of the crawl.
	MaxPages *int64 `json:"max_pages,omitzero"`
	// Pages of each host.
	MaxPagesPerHost *int64 `json:"max_pages_per_host,omitzero"`
	// Requests of the crawl, robots.txt and sitemaps included.
	MaxRequests *int64 `json:"max_requests,omitzero"`
	// Running time of the crawl.
	MaxTimeMS *int64 `json:"max_time_ms,omitzero"`
	// How long to wait for a host that is held, failing or unreadable before it is
	// given up.
	PatienceMS *int64 `json:"patience_ms,omitzero"`
}

// JobHosts is the answer of [Client.ListHostsOfJob].
type JobHosts struct {
	Hosts []Host `json:"hosts"`
	// The cursor of the next page; missing after the last.
	NextCursor string `json:"next_cursor,omitzero"`
}

// JobLimit is part of [JobLimits] and [SimulatedLimits].
type JobLimit struct {
	// One of safety, plan, usage, job.
	Layer string `json:"layer"`
	Max   int64  `json:"max"`
	// One of max_pages, max_requests, max_time, max_depth, max_bytes,
	// max_pages_per_host, patience, max_concurrent_crawls, max_hosts,
	// max_requests_per_second, retention.
	Name      string `json:"name"`
	Requested int64  `json:"requested,omitzero"`
	Text      string `json:"text"`
	Unit      string `json:"unit,omitzero"`
}

// JobLimits is the answer of [Client.GetJobLimits].
type JobLimits struct {
	Errors   []string   `json:"errors"`
	Limits   []JobLimit `json:"limits"`
	Warnings []string   `json:"warnings"`
}

// JobList is the answer of [Client.ListJobs].
type JobList struct {
	Jobs []Job `json:"jobs"`
	// The cursor of the next page; missing after the last.
	NextCursor string `json:"next_cursor,omitzero"`
}

// JobPace is part of [JobRequest].
type JobPace struct {
	// Between two requests to a host that does not complain.
	DelayMS *int64 `json:"delay_ms,omitzero"`
	// Requests to a host under way at once.
	InFlight *int64 `json:"in_flight,omitzero"`
	// Percent that an interval is lengthened by at most.
	Jitter *int64 `json:"jitter,omitzero"`
	// Random part on top of it.
	SpreadMS *int64 `json:"spread_ms,omitzero"`
}

// JobPaceOrder is what [Client.SetPaceOfJob] asks for.
type JobPaceOrder struct {
	// The least interval between two requests to a host of the job; 0 lifts it. It
	// never makes a job faster than it was asked for.
	DelayMS int64 `json:"delay_ms"`
}

// JobRequest is what [Client.CreateJob] asks for.
type JobRequest struct {
	// In place of the preset's holds.
	Backoff *JobBackoff `json:"backoff,omitzero"`
	// Cancel the crawl after this many 429 in a row at the slowest pace; 0 is
	// never.
	CancelAfter *int64 `json:"cancel_after,omitzero"`
	// Read robots.txt and sitemaps, and fetch no page: GET /v1/jobs/{job}/plan
	// tells how the crawl would go.
	DryRun *bool `json:"dry_run,omitzero"`
	// No URLs that match one of these; stronger than include.
	Exclude []string `json:"exclude,omitzero"`
	// Failures in a row after which a host is given up.
	FailureThreshold *int64 `json:"failure_threshold,omitzero"`
	// Also fetch what is no page by its name.
	Files *bool `json:"files,omitzero"`
	// Only URLs that match one of these: globs, or re: and a regular expression.
	Include []string `json:"include,omitzero"`
	// When to stop. More than the server or the plan allows is capped, not
	// refused.
	Limits *JobCeilings `json:"limits,omitzero"`
	// For people; by default the host of the first seed.
	Name *string `json:"name,omitzero"`
	// In place of the preset's pace.
	Pace *JobPace `json:"pace,omitzero"`
	// How to treat hosts. One of polite, audit, warm, map, owned.
	Preset *string `json:"preset,omitzero"`
	// Which hosts belong to the crawl, seen from the seeds. One of host, domain,
	// prefix, list, any.
	Scope *string `json:"scope,omitzero"`
	// Hosts that belong to the crawl besides.
	ScopeHosts []string `json:"scope_hosts,omitzero"`
	// Where to begin: URLs, or hosts such as example.com.
	Seeds []string `json:"seeds"`
	// Read sitemaps beside links, instead of them, or not at all. One of auto,
	// only, off.
	Sitemaps *string `json:"sitemaps,omitzero"`
}

// JobView is the answer of [Client.CancelJob], [Client.CreateJob],
// [Client.DrainJob], [Client.ExtendJob], [Client.GetJob], [Client.PauseJob],
// [Client.ResumeJob] and [Client.SetPaceOfJob].
type JobView struct {
	Created time.Time `json:"created"`
	// No page is fetched.
	DryRun   bool             `json:"dry_run,omitzero"`
	Ended    time.Time        `json:"ended,omitzero"`
	Job      int64            `json:"job"`
	MaxPages int64            `json:"max_pages,omitzero"`
	Name     string           `json:"name"`
	Outcomes map[string]int64 `json:"outcomes,omitzero"`
	// The least interval between two requests to a host that was ordered since;
	// missing where none was.
	PaceMS int64  `json:"pace_ms,omitzero"`
	Pages  int64  `json:"pages"`
	Reason string `json:"reason,omitzero"`
	// As they were written.
	Seeds []string `json:"seeds"`
	// What was asked for, by the keys of the settings of Headway.
	Settings map[string][]string `json:"settings,omitzero"`
	Started  time.Time           `json:"started,omitzero"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	State   string `json:"state"`
	Success bool   `json:"success"`
	Tenant  string `json:"tenant,omitzero"`
	Waiting int64  `json:"waiting"`
}

// Left is part of [Slow].
type Left struct {
	AtLeastMS int64  `json:"at_least_ms"`
	Forbidden int64  `json:"forbidden,omitzero"`
	Host      string `json:"host"`
	Hosts     int64  `json:"hosts"`
	Limit     string `json:"limit,omitzero"`
	PaceMS    int64  `json:"pace_ms"`
	Rest      int64  `json:"rest,omitzero"`
	Unsure    bool   `json:"unsure,omitzero"`
	URLs      int64  `json:"urls"`
	Waiting   int64  `json:"waiting"`
}

// LimitWish is what [Client.SimulateLimits] asks for.
type LimitWish struct {
	// As POST /v1/jobs takes them.
	Limits *JobCeilings `json:"limits,omitzero"`
	// As if the tenant had this plan. Operators only.
	Plan *string `json:"plan,omitzero"`
	// Some presets bring limits along. One of polite, audit, warm, map, owned.
	Preset *string `json:"preset,omitzero"`
	// For another tenant. Operators only.
	Tenant *string `json:"tenant,omitzero"`
}

// LiveHost is part of [Receipt] and [Waiting].
type LiveHost struct {
	AskedMS      int64     `json:"asked_ms,omitzero"`
	BaseMS       int64     `json:"base_ms"`
	Cap          int64     `json:"cap"`
	Clean        int64     `json:"clean"`
	CrawlDelayMS int64     `json:"crawl_delay_ms,omitzero"`
	Domain       string    `json:"domain,omitzero"`
	Failures     int64     `json:"failures,omitzero"`
	FloorMS      int64     `json:"floor_ms,omitzero"`
	HeldUntil    time.Time `json:"held_until,omitzero"`
	Host         string    `json:"host"`
	InFlight     int64     `json:"in_flight"`
	Incidents    int64     `json:"incidents,omitzero"`
	LastIncident time.Time `json:"last_incident,omitzero"`
	LastSent     time.Time `json:"last_sent,omitzero"`
	LearnedMS    int64     `json:"learned_ms,omitzero"`
	More         bool      `json:"more,omitzero"`
	Noise        string    `json:"noise,omitzero"`
	PaceMS       int64     `json:"pace_ms"`
	Paused       bool      `json:"paused,omitzero"`
	Queued       int64     `json:"queued"`
	Refusing     bool      `json:"refusing,omitzero"`
	Source       string    `json:"source"`
	State        string    `json:"state,omitzero"`
	Until        time.Time `json:"until,omitzero"`
}

// LiveLayer is part of [Slow].
type LiveLayer struct {
	Limit    int64  `json:"limit,omitzero"`
	Name     string `json:"name"`
	Setting  string `json:"setting"`
	Use      int64  `json:"use"`
	WaitedMS int64  `json:"waited_ms"`
	Waiting  int64  `json:"waiting"`
}

// LiveShare is part of [Slow].
type LiveShare struct {
	Hosts   int64   `json:"hosts"`
	Part    float64 `json:"part"`
	SpentMS int64   `json:"spent_ms"`
	State   string  `json:"state"`
}

// Me is the answer of [Client.GetMe].
type Me struct {
	// The request came without a key, from this machine.
	Anonymous bool `json:"anonymous"`
	// When the key ends; missing for never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// The public part of the key.
	Key string `json:"key,omitzero"`
	// What the key is called.
	Name string `json:"name,omitzero"`
	// What the key opens. One of read, write, operator.
	Scope string `json:"scope"`
	// For whom the key speaks; empty for jobs that are nobody's.
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

// OptOut is the answer of [Client.AddOptOut].
type OptOut struct {
	// When it was put on the list.
	At time.Time `json:"at"`
	// Who put it there.
	By string `json:"by"`
	// The name, which stands for itself and all names below it.
	Host string `json:"host"`
}

// OptOutList is the answer of [Client.ListOptOuts].
type OptOutList struct {
	// The cursor of the next page; missing after the last.
	NextCursor string   `json:"next_cursor,omitzero"`
	OptOuts    []OptOut `json:"opt_outs"`
}

// OptOutRequest is what [Client.AddOptOut] asks for.
type OptOutRequest struct {
	// A name, which stands for itself and all names below it; a host or URL stands
	// for its name.
	Host string `json:"host"`
}

// Order is part of [OrderList].
type Order struct {
	// The id of something else it was about: a webhook, a schedule, a key, a plan.
	About string `json:"about,omitzero"`
	// How it stood after.
	After string    `json:"after,omitzero"`
	At    time.Time `json:"at"`
	// How it stood before.
	Before string `json:"before,omitzero"`
	// Who ordered it: a key, or a user of the command line.
	By   string `json:"by"`
	Host string `json:"host,omitzero"`
	// Its place in the log. It only grows.
	ID     int64  `json:"id"`
	Job    int64  `json:"job,omitzero"`
	Tenant string `json:"tenant,omitzero"`
	// What was ordered.
	What   string `json:"what"`
	Worker int64  `json:"worker,omitzero"`
}

// OrderList is the answer of [Client.ListOrders].
type OrderList struct {
	// The cursor of the next page; missing after the last.
	NextCursor string  `json:"next_cursor,omitzero"`
	Orders     []Order `json:"orders"`
}

// OwnedHost is the answer of [Client.CheckOwnedHost] and [Client.ClaimHost].
type OwnedHost struct {
	AskedAt time.Time `json:"asked_at"`
	// A file of the host with the token on a line of its own.
	File string `json:"file"`
	Host string `json:"host"`
	// Whether it is known to be the tenant's.
	Owned bool `json:"owned"`
	// Since when it is known; missing while it is not.
	OwnedAt time.Time `json:"owned_at,omitzero"`
	// How that is known; missing while it is not. One of file, dns, operator.
	Proof string `json:"proof,omitzero"`
	// Or a TXT record that is the token; missing for an address.
	Record string `json:"record,omitzero"`
	// What proves it: put it where file or record say.
	Token string `json:"token"`
}

// OwnedHostList is the answer of [Client.ListOwnedHosts].
type OwnedHostList struct {
	OwnedHosts []OwnedHost `json:"owned_hosts"`
}

// OwnedHostRequest is what [Client.ClaimHost] asks for.
type OwnedHostRequest struct {
	// Scheme, name and port if it is not the scheme's.
	Host string `json:"host"`
	// Whose it is; by default the caller's tenant. Only operators may name
	// another, and it needs no check then.
	Tenant *string `json:"tenant,omitzero"`
}

// PaceStep is part of [HostStory] and [Receipt].
type PaceStep struct {
	At     time.Time `json:"at"`
	Cause  string    `json:"cause"`
	FromMS int64     `json:"from_ms"`
	ToMS   int64     `json:"to_ms"`
}

// PageList is the answer of [Client.ListPages].
type PageList struct {
	// The cursor of the next page; missing after the last. A page may be short,
	// even empty, and have a next one.
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
	Blocked        string        `json:"blocked,omitzero"`
	Disallowed     int64         `json:"disallowed"`
	Domain         string        `json:"domain"`
	Failed         string        `json:"failed,omitzero"`
	HeldUntil      time.Time     `json:"held_until,omitzero"`
	Host           string        `json:"host"`
	InFlight       int64         `json:"in_flight"`
	IntervalMS     int64         `json:"interval_ms"`
	Links          int64         `json:"links"`
	Listed         int64         `json:"listed"`
	Moved          string        `json:"moved,omitzero"`
	Outside        int64         `json:"outside"`
	Owned          bool          `json:"owned,omitzero"`
	PaceMS         int64         `json:"pace_ms"`
	PageBytes      int64         `json:"page_bytes,omitzero"`
	Pages          int64         `json:"pages"`
	PagesAsked     []PlanPage    `json:"pages_asked,omitzero"`
	Prefixes       []PlanPrefix  `json:"prefixes,omitzero"`
	Remembered     bool          `json:"remembered"`
	Repeated       int64         `json:"repeated"`
	Requests       int64         `json:"requests"`
	ResponseMS     int64         `json:"response_ms,omitzero"`
	Robots         PlanRobots    `json:"robots"`
	Sent           int64         `json:"sent"`
	Sitemaps       []PlanSitemap `json:"sitemaps,omitzero"`
	SitemapsUnread int64         `json:"sitemaps_unread,omitzero"`
	SizeKnown      bool          `json:"size_known"`
	Source         string        `json:"source"`
	TakesMS        int64         `json:"takes_ms"`
	Unlisted       int64         `json:"unlisted"`
}

// PlanLimit is part of [PlanView].
type PlanLimit struct {
	Layer string `json:"layer"`
	Max   int64  `json:"max"`
	Name  string `json:"name"`
	Needs int64  `json:"needs"`
	Stops bool   `json:"stops"`
	Unit  string `json:"unit,omitzero"`
	Used  int64  `json:"used"`
}

// PlanPage is part of [PlanHost].
type PlanPage struct {
	Bytes   int64  `json:"bytes"`
	Detail  string `json:"detail,omitzero"`
	Outcome string `json:"outcome"`
	Status  int64  `json:"status,omitzero"`
	TookMS  int64  `json:"took_ms"`
	URL     string `json:"url"`
}

// PlanPrefix is part of [PlanHost].
type PlanPrefix struct {
	Prefix string `json:"prefix"`
	URLs   int64  `json:"urls"`
}

// PlanRobots is part of [PlanHost].
type PlanRobots struct {
	Access       string   `json:"access,omitzero"`
	CrawlDelayMS int64    `json:"crawl_delay_ms,omitzero"`
	Error        string   `json:"error,omitzero"`
	Ignored      bool     `json:"ignored,omitzero"`
	Line         int64    `json:"line,omitzero"`
	Reason       string   `json:"reason"`
	Rule         string   `json:"rule,omitzero"`
	SeedAllowed  bool     `json:"seed_allowed"`
	Sitemaps     []string `json:"sitemaps,omitzero"`
	Status       int64    `json:"status,omitzero"`
}

// PlanSitemap is part of [PlanHost].
type PlanSitemap struct {
	Entries int64  `json:"entries"`
	Error   string `json:"error,omitzero"`
	Form    string `json:"form,omitzero"`
	Status  int64  `json:"status,omitzero"`
	URL     string `json:"url"`
}

// PlanView is the answer of [Client.GetJobPlan].
type PlanView struct {
	Bytes int64 `json:"bytes"`
	// One of queued, running, paused, draining, complete, partial, blocked,
	// cancelled, failed.
	Ends      string      `json:"ends"`
	Hosts     []PlanHost  `json:"hosts"`
	Job       int64       `json:"job"`
	Limits    []PlanLimit `json:"limits"`
	Outside   int64       `json:"outside"`
	Pages     int64       `json:"pages"`
	Reason    string      `json:"reason,omitzero"`
	Requests  int64       `json:"requests"`
	Sent      int64       `json:"sent"`
	Sentence  string      `json:"sentence"`
	SizeKnown bool        `json:"size_known"`
	Slowest   string      `json:"slowest,omitzero"`
	// Of the dry run. Before it is complete the plan is what is known so far. One
	// of queued, running, paused, draining, complete, partial, blocked, cancelled,
	// failed.
	State     string   `json:"state"`
	StoppedBy string   `json:"stopped_by,omitzero"`
	TakesMS   int64    `json:"takes_ms"`
	Unknown   []string `json:"unknown"`
}

// Problem is how an operation fails.
type Problem struct {
	// What kind of problem it is. One of invalid, unauthorised, forbidden,
	// not_found, not_allowed, conflict, too_large, too_many, unavailable,
	// internal.
	Code string `json:"code"`
	// What is wrong with this request, in a sentence.
	Detail string `json:"detail"`
	// The faults of the request, one by one.
	Errors []ErrorDetail `json:"errors,omitzero"`
	// What to do next, in a sentence.
	Hint string `json:"hint"`
	// The status of the answer.
	Status int64 `json:"status"`
	// The status in words.
	Title string `json:"title"`
	// Always about:blank; the code tells problems apart.
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

// Receipt is the answer of [Client.GetCourtesyOfJob] and [Client.GetCourtesy].
type Receipt struct {
	AllSent              int64           `json:"all_sent,omitzero"`
	BusiestMinute        int64           `json:"busiest_minute"`
	Bytes                int64           `json:"bytes"`
	Disallowed           int64           `json:"disallowed"`
	From                 time.Time       `json:"from,omitzero"`
	Host                 string          `json:"host"`
	Incidents            []Incident      `json:"incidents,omitzero"`
	Instructions         []Step          `json:"instructions"`
	MadeAt               time.Time       `json:"made_at"`
	MedianGapMS          int64           `json:"median_gap_ms,omitzero"`
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
	SmallestGapMS        int64           `json:"smallest_gap_ms,omitzero"`
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
	AskedMS    int64     `json:"asked_ms,omitzero"`
	At         time.Time `json:"at"`
	RetryAfter string    `json:"retry_after,omitzero"`
	Status     int64     `json:"status"`
	URL        string    `json:"url"`
}

// RobotsExcerpt is part of [Why].
type RobotsExcerpt struct {
	Allowed      bool          `json:"allowed"`
	Confidence   string        `json:"confidence,omitzero"`
	CrawlDelayMS int64         `json:"crawl_delay_ms,omitzero"`
	DecidedAt    time.Time     `json:"decided_at,omitzero"`
	FetchedAt    time.Time     `json:"fetched_at,omitzero"`
	Group        string        `json:"group,omitzero"`
	Line         int64         `json:"line,omitzero"`
	Lines        []ExcerptLine `json:"lines,omitzero"`
	Reason       string        `json:"reason"`
	Rule         string        `json:"rule,omitzero"`
	SHA256       string        `json:"sha256,omitzero"`
	URL          string        `json:"url"`
}

// RobotsVersion is part of [Receipt].
type RobotsVersion struct {
	Bytes         int64     `json:"bytes"`
	Decisions     int64     `json:"decisions"`
	Disallowed    int64     `json:"disallowed"`
	FirstFetched  time.Time `json:"first_fetched"`
	LastConfirmed time.Time `json:"last_confirmed"`
	SHA256        string    `json:"sha256"`
}

// Schedule is the answer of [Client.ChangeSchedule], [Client.CreateSchedule],
// [Client.GetSchedule], [Client.PauseSchedule] and [Client.ResumeSchedule].
type Schedule struct {
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// The share of pages that had changed when two runs were last compared.
	Changed   float64   `json:"changed,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	Cron      string    `json:"cron,omitzero"`
	// When the next job is made, if the one before has ended by then.
	DueAt time.Time `json:"due_at"`
	ID    string    `json:"id"`
	// How many it has made.
	Jobs int64 `json:"jobs"`
	// The latest; missing before the first.
	LastJob int64 `json:"last_job,omitzero"`
	// Of its jobs.
	Name string `json:"name"`
	// Since when it makes no jobs; missing while it does.
	PausedAt time.Time `json:"paused_at,omitzero"`
	// As they were written.
	Seeds []string `json:"seeds"`
	// What its jobs ask for, by the keys of the settings of Headway.
	Settings map[string][]string `json:"settings,omitzero"`
}

// ScheduleChange is what [Client.ChangeSchedule] asks for.
type ScheduleChange struct {
	// An interval in place of the one it has, or of its times.
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// Times in place of those it has, or of its interval.
	Cron *string `json:"cron,omitzero"`
	// What its jobs ask for from now on; all of it is replaced.
	Job *JobRequest `json:"job,omitzero"`
	// Whether it makes no jobs. Those it made go on.
	Paused *bool `json:"paused,omitzero"`
}

// ScheduleList is the answer of [Client.ListSchedules].
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
}

// ScheduleRequest is what [Client.CreateSchedule] asks for.
type ScheduleRequest struct {
	// In place of cron: begin at once and follow what changes.
	Adaptive *Adaptive `json:"adaptive,omitzero"`
	// Five fields, or a word such as @daily; in UTC, unless it begins with
	// CRON_TZ=Europe/Berlin or the like. At most every minute.
	Cron *string `json:"cron,omitzero"`
	// What each of its jobs asks for.
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

// SimulatedLimits is the answer of [Client.SimulateLimits].
type SimulatedLimits struct {
	// What would keep the job from a place.
	Errors []string   `json:"errors"`
	Limits []JobLimit `json:"limits"`
	// Missing for none.
	Plan   string `json:"plan,omitzero"`
	Tenant string `json:"tenant,omitzero"`
}

// Slow is the answer of [Client.ExplainPaceOfJob].
type Slow struct {
	Change               string      `json:"change"`
	ElapsedMS            int64       `json:"elapsed_ms"`
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
	TailMS               int64       `json:"tail_ms,omitzero"`
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

// URLRow is part of [PageList].
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

// Usage is the answer of [Client.GetUsage].
type Usage struct {
	// Bytes of bodies as sent.
	Bytes int64 `json:"bytes"`
	// In UTC.
	Month string `json:"month"`
	// Bytes that the plan allows in a month; missing for no limit.
	MonthBytes int64 `json:"month_bytes,omitzero"`
	// Pages that the plan allows in a month; missing for no limit.
	MonthPages int64 `json:"month_pages,omitzero"`
	// Pages as page limits count them.
	Pages int64 `json:"pages"`
	// The plan of the tenant; missing for none.
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
	Ahead        int64     `json:"ahead,omitzero"`
	AheadAtLeast bool      `json:"ahead_at_least,omitzero"`
	Host         *LiveHost `json:"host,omitzero"`
	InFlightMS   int64     `json:"in_flight_ms,omitzero"`
	Live         bool      `json:"live"`
	Note         string    `json:"note,omitzero"`
	Paused       bool      `json:"paused,omitzero"`
	Reason       string    `json:"reason"`
	TurnGuess    time.Time `json:"turn_guess,omitzero"`
	Until        time.Time `json:"until,omitzero"`
	Where        string    `json:"where,omitzero"`
}

// Webhook is the answer of [Client.ChangeWebhook] and [Client.GetWebhook].
type Webhook struct {
	CreatedAt time.Time `json:"created_at"`
	// Since when nothing is sent; missing while something is.
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	// Why nothing is sent.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Whether events are sent.
	Enabled bool   `json:"enabled"`
	ID      string `json:"id"`
	// Only events of these kinds; none for all. One of job.created, job.extended,
	// limit.near, limit.reached, job.queued, job.running, job.paused,
	// job.draining, job.complete, job.partial, job.blocked, job.cancelled,
	// job.failed.
	Kinds []string `json:"kinds"`
	// Until when the secret that was replaced signs, too; missing where it does
	// not.
	OldSecretEnds time.Time `json:"old_secret_ends,omitzero"`
	URL           string    `json:"url"`
}

// WebhookChange is what [Client.ChangeWebhook] asks for.
type WebhookChange struct {
	// Whether events are sent. What happens while they are not is not sent later.
	Enabled *bool `json:"enabled,omitzero"`
	// Only events of these kinds; an empty list is all. One of job.created,
	// job.extended, limit.near, limit.reached, job.queued, job.running,
	// job.paused, job.draining, job.complete, job.partial, job.blocked,
	// job.cancelled, job.failed.
	Kinds []string `json:"kinds,omitzero"`
	// An address of https, without credentials.
	URL *string `json:"url,omitzero"`
}

// WebhookList is the answer of [Client.ListWebhooks].
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookRequest is what [Client.CreateWebhook] asks for.
type WebhookRequest struct {
	// Only events of these kinds; by default all. One of job.created,
	// job.extended, limit.near, limit.reached, job.queued, job.running,
	// job.paused, job.draining, job.complete, job.partial, job.blocked,
	// job.cancelled, job.failed.
	Kinds []string `json:"kinds,omitzero"`
	// An address of https, without credentials.
	URL string `json:"url"`
}

// WebhookSecret is the answer of [Client.CreateWebhook] and
// [Client.RotateWebhook].
type WebhookSecret struct {
	CreatedAt time.Time `json:"created_at"`
	// Since when nothing is sent; missing while something is.
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	// Why nothing is sent.
	DisabledReason string `json:"disabled_reason,omitzero"`
	// Whether events are sent.
	Enabled bool   `json:"enabled"`
	ID      string `json:"id"`
	// Only events of these kinds; none for all. One of job.created, job.extended,
	// limit.near, limit.reached, job.queued, job.running, job.paused,
	// job.draining, job.complete, job.partial, job.blocked, job.cancelled,
	// job.failed.
	Kinds []string `json:"kinds"`
	// Until when the secret that was replaced signs, too; missing where it does
	// not.
	OldSecretEnds time.Time `json:"old_secret_ends,omitzero"`
	// What the receiver verifies signatures with. It is not shown again.
	Secret string `json:"secret"`
	URL    string `json:"url"`
}

// Who is part of [Receipt].
type Who struct {
	Contact   string `json:"contact,omitzero"`
	Token     string `json:"token"`
	UserAgent string `json:"user_agent,omitzero"`
}

// Why is the answer of [Client.ExplainURL].
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
