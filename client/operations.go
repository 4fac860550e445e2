// Code generated from docs/reference/openapi.json by client/internal/generate. DO NOT EDIT.

package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
)

// ListEventsParams are the parameters of [Client.ListEvents]. Zero values are
// not sent.
type ListEventsParams struct {
	// Only events of this job.
	Job int64
	// Only events after this id.
	After int64
	// Maximum number of results.
	Limit int64
}

// ListEvents is GET /v1/events. It needs a key with scope read.
//
// List events, oldest first. Events are kept for 30 days.
func (c *Client) ListEvents(ctx context.Context, params ListEventsParams) (*EventList, error) {
	r := request{method: "GET", path: "/v1/events"}
	r.number("job", params.Job)
	r.number("after", params.After)
	r.number("limit", params.Limit)
	return answer[EventList](ctx, c, r)
}

// AllEvents iterates over all pages of [Client.ListEvents]. It stops after the
// first error.
func (c *Client) AllEvents(ctx context.Context, params ListEventsParams) iter.Seq2[Event, error] {
	return pages(params.After, func(place int64) ([]Event, int64, error) {
		params.After = place
		page, err := c.ListEvents(ctx, params)
		if err != nil || len(page.Events) == 0 {
			return nil, place, err
		}
		return page.Events, page.Last, nil
	})
}

// FollowEventsParams are the parameters of [Client.FollowEvents]. Zero values
// are not sent.
type FollowEventsParams struct {
	// Only events of this job.
	Job int64
	// Start after this event id; 0 replays all stored events.
	After string
	// Start after this event id; takes precedence over after. Browsers send it
	// when they reconnect.
	LastEventID string
}

// FollowEvents is GET /v1/events/stream. It needs a key with scope read.
//
// Follow events as they happen. Server-sent events: id is the number of the
// event, event its kind, data the Event object. A client that reconnects with
// Last-Event-ID misses nothing: the stream starts with an id, before any event.
// Without Last-Event-ID or the parameter after, the stream starts with the next
// new event.
func (c *Client) FollowEvents(ctx context.Context, params FollowEventsParams) iter.Seq2[Event, error] {
	r := request{method: "GET", path: "/v1/events/stream"}
	r.number("job", params.Job)
	r.text("after", params.After)
	r.head("Last-Event-ID", params.LastEventID)
	return follow[Event](ctx, c, r)
}

// GetExport is GET /v1/exports/{export}. It needs a key with scope read.
//
// Get the status of an export. The status is kept for one day after an export
// ends, for one week if it failed.
func (c *Client) GetExport(ctx context.Context, export int64) (*Export, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/exports/%d", export)}
	return answer[Export](ctx, c, r)
}

// DownloadExport is GET /v1/exports/{export}/files/{file}. It needs a key with
// scope read.
//
// Download a file of an export. Supports Range and conditional requests, so
// that an interrupted download can be continued. A request without Range that
// accepts gzip gets the file compressed (Content-Encoding: gzip), unless its
// format is compressed already.
func (c *Client) DownloadExport(ctx context.Context, export int64, file string) (io.ReadCloser, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/exports/%d/files/%s", export, url.PathEscape(file))}
	return c.stream(ctx, r)
}

// ListHostsParams are the parameters of [Client.ListHosts]. Zero values are not
// sent.
type ListHostsParams struct {
	// Only this host.
	Host string
	// Maximum number of results.
	Limit int64
}

// ListHosts is GET /v1/hosts. It needs a key with scope operator.
//
// List the hosts that workers are scheduling now. Shows pace, what sets it,
// floor, hold and incidents, from the memory of the workers that own the hosts.
// Hosts are shared by all tenants.
func (c *Client) ListHosts(ctx context.Context, params ListHostsParams) (*HostList, error) {
	r := request{method: "GET", path: "/v1/hosts"}
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	return answer[HostList](ctx, c, r)
}

// GetCourtesyParams are the parameters of [Client.GetCourtesy]. Zero values are
// not sent.
type GetCourtesyParams struct {
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string
}

// GetCourtesy is GET /v1/hosts/courtesy. It needs a key with scope operator.
//
// Get the courtesy receipt of a host: how all jobs crawled it, and how to slow
// or stop the crawler. The receipt is written for the webmaster, from records
// made at the time. Values of query parameters that look secret are redacted.
// It covers the newest 1000 jobs and counts up to 500000 URLs; notes says if
// there are more.
func (c *Client) GetCourtesy(ctx context.Context, params GetCourtesyParams) (*Receipt, error) {
	r := request{method: "GET", path: "/v1/hosts/courtesy"}
	r.text("host", params.Host)
	return answer[Receipt](ctx, c, r)
}

// ForgetHost is POST /v1/hosts/forget. It needs a key with scope operator.
//
// Discard what was learned about a host.
func (c *Client) ForgetHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/forget", body: body}
	return answer[HostChange](ctx, c, r)
}

// GetHostParams are the parameters of [Client.GetHost]. Zero values are not
// sent.
type GetHostParams struct {
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string
}

// GetHost is GET /v1/hosts/one. It needs a key with scope operator.
//
// Get the state of one host and the history of its pace. Shows learned pace,
// floor, streaks, incidents and hold, from the worker that owns the host or, if
// there is none, from the database.
func (c *Client) GetHost(ctx context.Context, params GetHostParams) (*HostStory, error) {
	r := request{method: "GET", path: "/v1/hosts/one"}
	r.text("host", params.Host)
	return answer[HostStory](ctx, c, r)
}

// PauseHost is POST /v1/hosts/pause. It needs a key with scope operator.
//
// Pause a host: send it no further requests, for any job.
func (c *Client) PauseHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/pause", body: body}
	return answer[HostChange](ctx, c, r)
}

// ResumeHost is POST /v1/hosts/resume. It needs a key with scope operator.
//
// Resume a paused host.
func (c *Client) ResumeHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/resume", body: body}
	return answer[HostChange](ctx, c, r)
}

// SetPaceOfHost is POST /v1/hosts/set-pace. It needs a key with scope operator.
//
// Set the minimum interval between requests to a host.
func (c *Client) SetPaceOfHost(ctx context.Context, body HostPace) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/set-pace", body: body}
	return answer[HostChange](ctx, c, r)
}

// ListJobsParams are the parameters of [Client.ListJobs]. Zero values are not
// sent.
type ListJobsParams struct {
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
	// Only jobs in this state. One of queued, running, paused, draining, complete,
	// partial, blocked, cancelled, failed.
	State string
}

// ListJobs is GET /v1/jobs. It needs a key with scope read.
//
// List jobs, newest first. Each entry is the same as in the response for the
// single job, including counts, but without the requested seeds and settings.
func (c *Client) ListJobs(ctx context.Context, params ListJobsParams) (*JobList, error) {
	r := request{method: "GET", path: "/v1/jobs"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	r.text("state", params.State)
	return answer[JobList](ctx, c, r)
}

// AllJobs iterates over all pages of [Client.ListJobs]. It stops after the
// first error.
func (c *Client) AllJobs(ctx context.Context, params ListJobsParams) iter.Seq2[Job, error] {
	return pages(params.Cursor, func(place string) ([]Job, string, error) {
		params.Cursor = place
		page, err := c.ListJobs(ctx, params)
		if err != nil {
			return nil, place, err
		}
		return page.Jobs, page.NextCursor, nil
	})
}

// CreateJobParams are the parameters of [Client.CreateJob]. Zero values are not
// sent.
type CreateJobParams struct {
	// A unique text of your choice for each object you create, such as a UUID. For
	// one day, repeating the same request with the same key creates nothing new
	// and returns the same response.
	IdempotencyKey string
}

// CreateJob is POST /v1/jobs. It needs a key with scope write.
//
// Create a job. The job is queued until it can start. With an Idempotency-Key
// the request can be repeated for a day: it creates one job, and every repeat
// gets the same response.
func (c *Client) CreateJob(ctx context.Context, body JobRequest, params CreateJobParams) (*JobView, error) {
	r := request{method: "POST", path: "/v1/jobs", body: body}
	r.once(params.IdempotencyKey)
	return answer[JobView](ctx, c, r)
}

// GetJob is GET /v1/jobs/{job}. It needs a key with scope read.
//
// Get a job.
func (c *Client) GetJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d", job)}
	return answer[JobView](ctx, c, r)
}

// CancelJob is POST /v1/jobs/{job}/cancel. It needs a key with scope write.
//
// Cancel a job now; results so far are kept. Has no effect if the job is
// already in the requested state.
func (c *Client) CancelJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/cancel", job)}
	return answer[JobView](ctx, c, r)
}

// CompareJobsParams are the parameters of [Client.CompareJobs]. Zero values are
// not sent.
type CompareJobsParams struct {
	// The id of the earlier job.
	With int64
}

// CompareJobs is GET /v1/jobs/{job}/compare. It needs a key with scope read.
//
// Compare a job with an earlier one. Lists pages that are new, gone, changed or
// newly dead, up to 1000 URLs of each kind. Two jobs with more than 500000 URLs
// in total are refused: export both and compare the files.
func (c *Client) CompareJobs(ctx context.Context, job int64, params CompareJobsParams) (*Comparison, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/compare", job)}
	r.number("with", params.With)
	return answer[Comparison](ctx, c, r)
}

// GetContentParams are the parameters of [Client.GetContent]. Zero values are
// not sent.
type GetContentParams struct {
	// An absolute URL.
	URL string
	// What to get of the page. One of text, markdown, links, raw.
	As string
}

// GetContent is GET /v1/jobs/{job}/content. It needs a key with scope read.
//
// Get what a page says: its main text, Markdown or links, or what the server
// sent. The job must have kept it: settings content (text, markdown), links and
// raw. Text is text/plain, Markdown text/markdown, links are a JSON object with
// the links from the page. Raw is the body of the response, without content
// codings such as gzip, as a file to download.
func (c *Client) GetContent(ctx context.Context, job int64, params GetContentParams) (io.ReadCloser, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/content", job)}
	r.text("url", params.URL)
	r.text("as", params.As)
	return c.stream(ctx, r)
}

// GetCourtesyOfJobParams are the parameters of [Client.GetCourtesyOfJob]. Zero
// values are not sent.
type GetCourtesyOfJobParams struct {
	// Scheme and hostname, and the port if it is not the default of the scheme.
	Host string
}

// GetCourtesyOfJob is GET /v1/jobs/{job}/courtesy. It needs a key with scope
// read.
//
// Get the courtesy receipt of a host for one job. Counts only requests of this
// job.
func (c *Client) GetCourtesyOfJob(ctx context.Context, job int64, params GetCourtesyOfJobParams) (*Receipt, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/courtesy", job)}
	r.text("host", params.Host)
	return answer[Receipt](ctx, c, r)
}

// DrainJob is POST /v1/jobs/{job}/drain. It needs a key with scope write.
//
// Drain a job: finish requests in flight, then end it. Has no effect if the job
// is already in the requested state.
func (c *Client) DrainJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/drain", job)}
	return answer[JobView](ctx, c, r)
}

// ListEvidenceParams are the parameters of [Client.ListEvidence]. Zero values
// are not sent.
type ListEvidenceParams struct {
	// Only this URL.
	URL string
	// Only URLs of this host, such as https://example.com; include the port if it
	// is not the default of the scheme.
	Host string
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
}

// ListEvidence is GET /v1/jobs/{job}/evidence. It needs a key with scope read.
//
// List the evidence behind crawl decisions: the matching robots.txt rule and
// line, SHA-256 of the file, confidence and times. Covers one URL, the URLs of
// one host, or all, in storage order. Pending URLs have no evidence yet.
func (c *Client) ListEvidence(ctx context.Context, job int64, params ListEvidenceParams) (*EvidenceList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/evidence", job)}
	r.text("url", params.URL)
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[EvidenceList](ctx, c, r)
}

// AllEvidence iterates over all pages of [Client.ListEvidence]. It stops after
// the first error.
func (c *Client) AllEvidence(ctx context.Context, job int64, params ListEvidenceParams) iter.Seq2[Proof, error] {
	return pages(params.Cursor, func(place string) ([]Proof, string, error) {
		params.Cursor = place
		page, err := c.ListEvidence(ctx, job, params)
		if err != nil {
			return nil, place, err
		}
		return page.URLs, page.NextCursor, nil
	})
}

// ExportPagesParams are the parameters of [Client.ExportPages]. Zero values are
// not sent.
type ExportPagesParams struct {
	// Only URLs with this outcome; pending selects those still waiting. One of
	// fetched, not_modified, redirected, dead, server_error, throttled, blocked,
	// skipped, deferred, failed, pending.
	Outcome string
	// Only URLs skipped or failed for this reason. One of robots_disallow,
	// robots_unreachable, crawl_delay_too_long, out_of_scope, excluded,
	// duplicate_content, depth, trap_path, trap_query, non_document, nofollow,
	// private_address, bad_port, budget_bytes, budget_host, opted_out, dns,
	// connect, tls, timeout, too_large, truncated, bad_encoding, protocol, parse,
	// redirect_loop, host_parked, quarantined.
	Reason string
	// Only URLs of this host, such as https://example.com; include the port if it
	// is not the default of the scheme.
	Host string
	// Only URLs that begin with this: a URL, or a path starting with a slash.
	Prefix string
	// Only URLs with this HTTP status.
	Status int64
}

// ExportPages is GET /v1/jobs/{job}/export. It needs a key with scope read.
//
// Stream all URLs of a job as JSON lines. One object per line, as in the list
// of pages. A truncated stream ends without a final line feed.
func (c *Client) ExportPages(ctx context.Context, job int64, params ExportPagesParams) (io.ReadCloser, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/export", job)}
	r.text("outcome", params.Outcome)
	r.text("reason", params.Reason)
	r.text("host", params.Host)
	r.text("prefix", params.Prefix)
	r.number("status", params.Status)
	return c.stream(ctx, r)
}

// ListExports is GET /v1/jobs/{job}/exports. It needs a key with scope read.
//
// List the exports of a job, newest first. At most 100, as long as their status
// is kept: one day after an export ends, one week if it failed.
func (c *Client) ListExports(ctx context.Context, job int64) (*ExportList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/exports", job)}
	return answer[ExportList](ctx, c, r)
}

// OrderExportParams are the parameters of [Client.OrderExport]. Zero values are
// not sent.
type OrderExportParams struct {
	// A unique text of your choice for each object you create, such as a UUID. For
	// one day, repeating the same request with the same key creates nothing new
	// and returns the same response.
	IdempotencyKey string
}

// OrderExport is POST /v1/jobs/{job}/exports. It needs a key with scope write.
//
// Export a job as files to the export location of the service. The operator
// configures the export location. While an export of the same formats is
// unfinished, the request returns that export; once it has ended, a new request
// writes the files again.
func (c *Client) OrderExport(ctx context.Context, job int64, body ExportRequest, params OrderExportParams) (*Export, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/exports", job), body: body}
	r.once(params.IdempotencyKey)
	return answer[Export](ctx, c, r)
}

// ExtendJob is POST /v1/jobs/{job}/extend. It needs a key with scope write.
//
// Raise limits of a job, and continue one that a limit stopped. Sets new limits
// and makes deferred URLs pending again; a job that ended partial is queued
// again. Values above what the safety limits or the plan allow are capped, not
// refused: GET /v1/jobs/{job}/limits returns the limits in force.
func (c *Client) ExtendJob(ctx context.Context, job int64, body Extension) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/extend", job), body: body}
	return answer[JobView](ctx, c, r)
}

// ListHostsOfJobParams are the parameters of [Client.ListHostsOfJob]. Zero
// values are not sent.
type ListHostsOfJobParams struct {
	// Only this host.
	Host string
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
}

// ListHostsOfJob is GET /v1/jobs/{job}/hosts. It needs a key with scope read.
//
// List the hosts of a job from the database: pace, what sets it, incidents,
// queue. Pace and incidents belong to the host and include those caused by
// other jobs.
func (c *Client) ListHostsOfJob(ctx context.Context, job int64, params ListHostsOfJobParams) (*JobHosts, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/hosts", job)}
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[JobHosts](ctx, c, r)
}

// AllHostsOfJob iterates over all pages of [Client.ListHostsOfJob]. It stops
// after the first error.
func (c *Client) AllHostsOfJob(ctx context.Context, job int64, params ListHostsOfJobParams) iter.Seq2[Host, error] {
	return pages(params.Cursor, func(place string) ([]Host, string, error) {
		params.Cursor = place
		page, err := c.ListHostsOfJob(ctx, job, params)
		if err != nil {
			return nil, place, err
		}
		return page.Hosts, page.NextCursor, nil
	})
}

// GetJobLimits is GET /v1/jobs/{job}/limits. It needs a key with scope read.
//
// Get the limits of a job and the layer that set each. The strictest value
// among the layers safety, plan, usage and job applies. Before a job starts,
// these are the requested limits.
func (c *Client) GetJobLimits(ctx context.Context, job int64) (*JobLimits, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/limits", job)}
	return answer[JobLimits](ctx, c, r)
}

// ListPagesParams are the parameters of [Client.ListPages]. Zero values are not
// sent.
type ListPagesParams struct {
	// Only URLs with this outcome; pending selects those still waiting. One of
	// fetched, not_modified, redirected, dead, server_error, throttled, blocked,
	// skipped, deferred, failed, pending.
	Outcome string
	// Only URLs skipped or failed for this reason. One of robots_disallow,
	// robots_unreachable, crawl_delay_too_long, out_of_scope, excluded,
	// duplicate_content, depth, trap_path, trap_query, non_document, nofollow,
	// private_address, bad_port, budget_bytes, budget_host, opted_out, dns,
	// connect, tls, timeout, too_large, truncated, bad_encoding, protocol, parse,
	// redirect_loop, host_parked, quarantined.
	Reason string
	// Only URLs of this host, such as https://example.com; include the port if it
	// is not the default of the scheme.
	Host string
	// Only URLs that begin with this: a URL, or a path starting with a slash.
	Prefix string
	// Only URLs with this HTTP status.
	Status int64
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
}

// ListPages is GET /v1/jobs/{job}/pages. It needs a key with scope read.
//
// List the URLs of a job with their outcomes. Every URL the job has seen is
// listed once, except URLs out of scope, which are kept only as counts.
func (c *Client) ListPages(ctx context.Context, job int64, params ListPagesParams) (*PageList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/pages", job)}
	r.text("outcome", params.Outcome)
	r.text("reason", params.Reason)
	r.text("host", params.Host)
	r.text("prefix", params.Prefix)
	r.number("status", params.Status)
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[PageList](ctx, c, r)
}

// AllPages iterates over all pages of [Client.ListPages]. It stops after the
// first error.
func (c *Client) AllPages(ctx context.Context, job int64, params ListPagesParams) iter.Seq2[URLRow, error] {
	return pages(params.Cursor, func(place string) ([]URLRow, string, error) {
		params.Cursor = place
		page, err := c.ListPages(ctx, job, params)
		if err != nil {
			return nil, place, err
		}
		return page.Pages, page.NextCursor, nil
	})
}

// PauseJob is POST /v1/jobs/{job}/pause. It needs a key with scope write.
//
// Pause a job: send no further requests; it keeps its place among the running
// jobs. Has no effect if the job is already in the requested state.
func (c *Client) PauseJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/pause", job)}
	return answer[JobView](ctx, c, r)
}

// GetJobPlan is GET /v1/jobs/{job}/plan. It needs a key with scope read.
//
// Get the plan of a dry run: how the crawl would go. A job created with dry_run
// reads robots.txt and sitemaps but fetches no pages. The plan lists what it
// found: what robots.txt allows, what the sitemaps contain, the pace for each
// host, the estimated duration, and the limit that would stop the crawl.
func (c *Client) GetJobPlan(ctx context.Context, job int64) (*PlanView, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/plan", job)}
	return answer[PlanView](ctx, c, r)
}

// GetReport is GET /v1/jobs/{job}/report. It needs a key with scope read.
//
// Get a report of a job as one HTML page. Plots, and tables of pages that need
// attention, as from headway report. Of a job that runs, it shows what was
// recorded so far. A job with more than 500000 URLs is refused: export it
// instead.
func (c *Client) GetReport(ctx context.Context, job int64) (io.ReadCloser, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/report", job)}
	return c.stream(ctx, r)
}

// ResumeJob is POST /v1/jobs/{job}/resume. It needs a key with scope write.
//
// Resume a paused job. Has no effect if the job is already in the requested
// state.
func (c *Client) ResumeJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/resume", job)}
	return answer[JobView](ctx, c, r)
}

// SetPaceOfJob is POST /v1/jobs/{job}/set-pace. It needs a key with scope
// write.
//
// Slow down a job, starting with its next request. A host that several jobs
// crawl gets requests at the slowest pace among those jobs; other hosts keep
// their pace.
func (c *Client) SetPaceOfJob(ctx context.Context, job int64, body JobPaceOrder) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/set-pace", job), body: body}
	return answer[JobView](ctx, c, r)
}

// ExplainPaceOfJob is GET /v1/jobs/{job}/slow. It needs a key with scope read.
//
// Explain where the time of a job goes, whether more workers would help, and
// what else would. Reports shares of host time that add up to 1: at any moment,
// each host with work is fetching, is waiting for exactly one reason, or is
// busy with other jobs (other_jobs). The shares of a job are stored every two
// seconds and kept with it; the current states of its hosts are queried from
// the workers while it runs.
func (c *Client) ExplainPaceOfJob(ctx context.Context, job int64) (*Slow, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/slow", job)}
	return answer[Slow](ctx, c, r)
}

// ExplainURLParams are the parameters of [Client.ExplainURL]. Zero values are
// not sent.
type ExplainURLParams struct {
	// An absolute URL.
	URL string
}

// ExplainURL is GET /v1/jobs/{job}/why. It needs a key with scope read.
//
// Explain the outcome of a URL, or why the job does not have it, with the
// evidence. For a pending URL, the worker that owns its host is queried for the
// wait reason.
func (c *Client) ExplainURL(ctx context.Context, job int64, params ExplainURLParams) (*Why, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/why", job)}
	r.text("url", params.URL)
	return answer[Why](ctx, c, r)
}

// SimulateLimits is POST /v1/limits/simulate. It needs a key with scope read.
//
// Simulate the limits a job would get and the layer that would set each. Uses
// the same rules as for real jobs, with the remaining quota of this month and
// the safety limits of the fleet. Nothing is created.
func (c *Client) SimulateLimits(ctx context.Context, body LimitWish) (*SimulatedLimits, error) {
	r := request{method: "POST", path: "/v1/limits/simulate", body: body}
	return answer[SimulatedLimits](ctx, c, r)
}

// GetMe is GET /v1/me. It needs a key with scope read.
//
// Get the tenant and scope of the API key.
func (c *Client) GetMe(ctx context.Context) (*Me, error) {
	r := request{method: "GET", path: "/v1/me"}
	return answer[Me](ctx, c, r)
}

// DropOptOutParams are the parameters of [Client.DropOptOut]. Zero values are
// not sent.
type DropOptOutParams struct {
	// The name exactly as listed.
	Host string
}

// DropOptOut is DELETE /v1/opt-outs. It needs a key with scope operator.
//
// Remove an opt-out. URLs that were skipped stay skipped; jobs created from now
// on may crawl the host again. Repeating the request changes nothing and
// returns 404.
func (c *Client) DropOptOut(ctx context.Context, params DropOptOutParams) error {
	r := request{method: "DELETE", path: "/v1/opt-outs"}
	r.text("host", params.Host)
	return c.carryOut(ctx, r)
}

// ListOptOutsParams are the parameters of [Client.ListOptOuts]. Zero values are
// not sent.
type ListOptOutsParams struct {
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
}

// ListOptOuts is GET /v1/opt-outs. It needs a key with scope operator.
//
// List the opt-outs: hosts and domains that must not be crawled.
func (c *Client) ListOptOuts(ctx context.Context, params ListOptOutsParams) (*OptOutList, error) {
	r := request{method: "GET", path: "/v1/opt-outs"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[OptOutList](ctx, c, r)
}

// AllOptOuts iterates over all pages of [Client.ListOptOuts]. It stops after
// the first error.
func (c *Client) AllOptOuts(ctx context.Context, params ListOptOutsParams) iter.Seq2[OptOut, error] {
	return pages(params.Cursor, func(place string) ([]OptOut, string, error) {
		params.Cursor = place
		page, err := c.ListOptOuts(ctx, params)
		if err != nil {
			return nil, place, err
		}
		return page.OptOuts, page.NextCursor, nil
	})
}

// AddOptOut is POST /v1/opt-outs. It needs a key with scope operator.
//
// Add an opt-out: never crawl a host or domain, for any job. Within moments of
// the response, running workers send no further requests there, not even for
// robots.txt; pending URLs there end as skipped: opted_out. The request can be
// repeated without an Idempotency-Key: a name already on the list is unchanged
// and gets the same response. The maximum is 100000 opt-outs.
func (c *Client) AddOptOut(ctx context.Context, body OptOutRequest) (*OptOut, error) {
	r := request{method: "POST", path: "/v1/opt-outs", body: body}
	return answer[OptOut](ctx, c, r)
}

// ListOrdersParams are the parameters of [Client.ListOrders]. Zero values are
// not sent.
type ListOrdersParams struct {
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
	// Only orders for this job.
	Job int64
	// Only orders for this host. Only operators can read these.
	Host string
}

// ListOrders is GET /v1/orders. It needs a key with scope read.
//
// List the control log: who ordered what, with the state before and after.
// Lists orders for objects of your tenant, regardless of who gave them.
// Operators see all orders, including those to hosts and workers, which all
// tenants share.
func (c *Client) ListOrders(ctx context.Context, params ListOrdersParams) (*OrderList, error) {
	r := request{method: "GET", path: "/v1/orders"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	r.number("job", params.Job)
	r.text("host", params.Host)
	return answer[OrderList](ctx, c, r)
}

// AllOrders iterates over all pages of [Client.ListOrders]. It stops after the
// first error.
func (c *Client) AllOrders(ctx context.Context, params ListOrdersParams) iter.Seq2[Order, error] {
	return pages(params.Cursor, func(place string) ([]Order, string, error) {
		params.Cursor = place
		page, err := c.ListOrders(ctx, params)
		if err != nil {
			return nil, place, err
		}
		return page.Orders, page.NextCursor, nil
	})
}

// ListOwnedHostsParams are the parameters of [Client.ListOwnedHosts]. Zero
// values are not sent.
type ListOwnedHostsParams struct {
	// Tenant to list; default: your own. Other tenants are for operators only.
	Tenant string
}

// ListOwnedHosts is GET /v1/owned-hosts. It needs a key with scope read.
//
// List the hosts you have claimed.
func (c *Client) ListOwnedHosts(ctx context.Context, params ListOwnedHostsParams) (*OwnedHostList, error) {
	r := request{method: "GET", path: "/v1/owned-hosts"}
	r.text("tenant", params.Tenant)
	return answer[OwnedHostList](ctx, c, r)
}

// ClaimHost is POST /v1/owned-hosts. It needs a key with scope write.
//
// Claim a host as your own and get the token that proves it. The presets owned
// and warm, and a pace below 200 ms, need an owned host. The request can be
// repeated without an Idempotency-Key: a claimed host keeps its token, a
// verified host stays verified, and the response is the same. The maximum is
// 1000 hosts per tenant.
func (c *Client) ClaimHost(ctx context.Context, body OwnedHostRequest) (*OwnedHost, error) {
	r := request{method: "POST", path: "/v1/owned-hosts", body: body}
	return answer[OwnedHost](ctx, c, r)
}

// DropOwnedHostParams are the parameters of [Client.DropOwnedHost]. Zero values
// are not sent.
type DropOwnedHostParams struct {
	// Tenant to list; default: your own. Other tenants are for operators only.
	Tenant string
}

// DropOwnedHost is DELETE /v1/owned-hosts/{owned_host}. It needs a key with
// scope write.
//
// Remove a claimed host. Running jobs continue unchanged; jobs started from now
// on no longer treat the host as owned. Repeating the request changes nothing
// and returns 404.
func (c *Client) DropOwnedHost(ctx context.Context, owned_host string, params DropOwnedHostParams) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/owned-hosts/%s", url.PathEscape(owned_host))}
	r.text("tenant", params.Tenant)
	return c.carryOut(ctx, r)
}

// CheckOwnedHost is POST /v1/owned-hosts/{owned_host}/check. It needs a key
// with scope write.
//
// Verify a claimed host: look for its token in the DNS record and in the file.
// Each domain is checked at most once every 10 seconds. Redirects are not
// followed. A verified host is not checked again.
func (c *Client) CheckOwnedHost(ctx context.Context, owned_host string) (*OwnedHost, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/owned-hosts/%s/check", url.PathEscape(owned_host))}
	return answer[OwnedHost](ctx, c, r)
}

// GetSafety is GET /v1/safety. It needs a key with scope operator.
//
// Get the safety limits and other settings of the fleet.
func (c *Client) GetSafety(ctx context.Context) (*Safety, error) {
	r := request{method: "GET", path: "/v1/safety"}
	return answer[Safety](ctx, c, r)
}

// ChangeSafety is PATCH /v1/safety. It needs a key with scope operator.
//
// Change safety limits or other settings of the fleet. No plan, job, key of
// another scope or worker can exceed the safety limits. Workers follow within 5
// seconds, running jobs too. Each change is a new version, recorded in the
// control log.
func (c *Client) ChangeSafety(ctx context.Context, body SafetyChange) (*Safety, error) {
	r := request{method: "PATCH", path: "/v1/safety", body: body}
	return answer[Safety](ctx, c, r)
}

// ListSafetyHistoryParams are the parameters of [Client.ListSafetyHistory].
// Zero values are not sent.
type ListSafetyHistoryParams struct {
	// Maximum number of results. A page can hold fewer, even none, and still have
	// a next page.
	Limit int64
	// The next_cursor of the previous page.
	Cursor string
}

// ListSafetyHistory is GET /v1/safety/history. It needs a key with scope
// operator.
//
// List the versions of the settings of the fleet, newest first.
func (c *Client) ListSafetyHistory(ctx context.Context, params ListSafetyHistoryParams) (*SafetyHistory, error) {
	r := request{method: "GET", path: "/v1/safety/history"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[SafetyHistory](ctx, c, r)
}

// AllSafetyHistory iterates over all pages of [Client.ListSafetyHistory]. It
// stops after the first error.
func (c *Client) AllSafetyHistory(ctx context.Context, params ListSafetyHistoryParams) iter.Seq2[Safety, error] {
	return pages(params.Cursor, func(place string) ([]Safety, string, error) {
		params.Cursor = place
		page, err := c.ListSafetyHistory(ctx, params)
		if err != nil {
			return nil, place, err
		}
		return page.Versions, page.NextCursor, nil
	})
}

// ListSchedules is GET /v1/schedules. It needs a key with scope read.
//
// List schedules, oldest first.
func (c *Client) ListSchedules(ctx context.Context) (*ScheduleList, error) {
	r := request{method: "GET", path: "/v1/schedules"}
	return answer[ScheduleList](ctx, c, r)
}

// CreateScheduleParams are the parameters of [Client.CreateSchedule]. Zero
// values are not sent.
type CreateScheduleParams struct {
	// A unique text of your choice for each object you create, such as a UUID. For
	// one day, repeating the same request with the same key creates nothing new
	// and returns the same response.
	IdempotencyKey string
}

// CreateSchedule is POST /v1/schedules. It needs a key with scope write.
//
// Create a schedule. After missed times, one job is created to catch up. No job
// is created while the previous one is unfinished. The maximum is 1000
// schedules per tenant.
func (c *Client) CreateSchedule(ctx context.Context, body ScheduleRequest, params CreateScheduleParams) (*Schedule, error) {
	r := request{method: "POST", path: "/v1/schedules", body: body}
	r.once(params.IdempotencyKey)
	return answer[Schedule](ctx, c, r)
}

// DeleteSchedule is DELETE /v1/schedules/{schedule}. It needs a key with scope
// write.
//
// Delete a schedule; its jobs are kept.
func (c *Client) DeleteSchedule(ctx context.Context, schedule string) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule))}
	return c.carryOut(ctx, r)
}

// GetSchedule is GET /v1/schedules/{schedule}. It needs a key with scope read.
//
// Get a schedule.
func (c *Client) GetSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// ChangeSchedule is PATCH /v1/schedules/{schedule}. It needs a key with scope
// write.
//
// Update a schedule: its times or its job; pause or resume it. Existing jobs
// continue unchanged. After a change of times or a pause, the schedule is next
// due at the next matching time; an interval counts from the last job.
func (c *Client) ChangeSchedule(ctx context.Context, schedule string, body ScheduleChange) (*Schedule, error) {
	r := request{method: "PATCH", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule)), body: body}
	return answer[Schedule](ctx, c, r)
}

// PauseSchedule is POST /v1/schedules/{schedule}/pause. It needs a key with
// scope write.
//
// Pause a schedule: create no further jobs; existing jobs continue.
func (c *Client) PauseSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/schedules/%s/pause", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// ResumeSchedule is POST /v1/schedules/{schedule}/resume. It needs a key with
// scope write.
//
// Resume a paused schedule. It is next due at its next matching time, or after
// its interval.
func (c *Client) ResumeSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/schedules/%s/resume", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// Scrape is POST /v1/scrape. It needs a key with scope write.
//
// Fetch one page now and return what it says. This is a crawl of one page: it
// needs a place among the running jobs and a page of the quota, obeys
// robots.txt, and waits for the pace of the host. Its job is kept like any
// other. If the page was not fetched in time, the response is 202 with the job
// and its state; GET /v1/jobs/{job}/content has the page later.
func (c *Client) Scrape(ctx context.Context, body ScrapeRequest) (*Scraped, error) {
	r := request{method: "POST", path: "/v1/scrape", body: body}
	return answer[Scraped](ctx, c, r)
}

// GetUsageParams are the parameters of [Client.GetUsage]. Zero values are not
// sent.
type GetUsageParams struct {
	// Default: the current month, in UTC.
	Month string
}

// GetUsage is GET /v1/usage. It needs a key with scope read.
//
// Get the usage of a month and the quota of the plan.
func (c *Client) GetUsage(ctx context.Context, params GetUsageParams) (*Usage, error) {
	r := request{method: "GET", path: "/v1/usage"}
	r.text("month", params.Month)
	return answer[Usage](ctx, c, r)
}

// ListWebhooks is GET /v1/webhooks. It needs a key with scope read.
//
// List webhooks, oldest first.
func (c *Client) ListWebhooks(ctx context.Context) (*WebhookList, error) {
	r := request{method: "GET", path: "/v1/webhooks"}
	return answer[WebhookList](ctx, c, r)
}

// CreateWebhookParams are the parameters of [Client.CreateWebhook]. Zero values
// are not sent.
type CreateWebhookParams struct {
	// A unique text of your choice for each object you create, such as a UUID. For
	// one day, repeating the same request with the same key creates nothing new
	// and returns the same response.
	IdempotencyKey string
}

// CreateWebhook is POST /v1/webhooks. It needs a key with scope write.
//
// Create a webhook: send events to a URL. New events are sent from now on,
// signed with the secret in the response, which is not shown again. The maximum
// is 50 webhooks per tenant.
func (c *Client) CreateWebhook(ctx context.Context, body WebhookRequest, params CreateWebhookParams) (*WebhookSecret, error) {
	r := request{method: "POST", path: "/v1/webhooks", body: body}
	r.once(params.IdempotencyKey)
	return answer[WebhookSecret](ctx, c, r)
}

// DeleteWebhook is DELETE /v1/webhooks/{webhook}. It needs a key with scope
// write.
//
// Delete a webhook and its undelivered events.
func (c *Client) DeleteWebhook(ctx context.Context, webhook string) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook))}
	return c.carryOut(ctx, r)
}

// GetWebhook is GET /v1/webhooks/{webhook}. It needs a key with scope read.
//
// Get a webhook.
func (c *Client) GetWebhook(ctx context.Context, webhook string) (*Webhook, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook))}
	return answer[Webhook](ctx, c, r)
}

// ChangeWebhook is PATCH /v1/webhooks/{webhook}. It needs a key with scope
// write.
//
// Update, disable or enable a webhook.
func (c *Client) ChangeWebhook(ctx context.Context, webhook string, body WebhookChange) (*Webhook, error) {
	r := request{method: "PATCH", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook)), body: body}
	return answer[Webhook](ctx, c, r)
}

// ListDeliveriesParams are the parameters of [Client.ListDeliveries]. Zero
// values are not sent.
type ListDeliveriesParams struct {
	// Maximum number of results.
	Limit int64
}

// ListDeliveries is GET /v1/webhooks/{webhook}/deliveries. It needs a key with
// scope read.
//
// List the latest deliveries of a webhook, newest first. Deliveries are kept
// for one day after they end, for one week if they were given up.
func (c *Client) ListDeliveries(ctx context.Context, webhook string, params ListDeliveriesParams) (*DeliveryList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/webhooks/%s/deliveries", url.PathEscape(webhook))}
	r.number("limit", params.Limit)
	return answer[DeliveryList](ctx, c, r)
}

// RotateWebhook is POST /v1/webhooks/{webhook}/rotate. It needs a key with
// scope write.
//
// Rotate the signing secret of a webhook. For one day, messages are signed with
// both the old and the new secret, so that the receiver has time to switch.
func (c *Client) RotateWebhook(ctx context.Context, webhook string) (*WebhookSecret, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/webhooks/%s/rotate", url.PathEscape(webhook))}
	return answer[WebhookSecret](ctx, c, r)
}
