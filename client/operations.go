// Code generated from docs/reference/openapi.json by client/internal/generate. DO NOT EDIT.

package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
)

// ListEventsParams are the parameters of [Client.ListEvents]. What is zero is
// not sent.
type ListEventsParams struct {
	// Only those of this job.
	Job int64
	// Only those after this one.
	After int64
	// How many to return at most.
	Limit int64
}

// ListEvents is GET /v1/events: list events, the oldest first. It needs a key
// with the scope read.
//
// Events are kept for 30 days.
func (c *Client) ListEvents(ctx context.Context, params ListEventsParams) (*EventList, error) {
	r := request{method: "GET", path: "/v1/events"}
	r.number("job", params.Job)
	r.number("after", params.After)
	r.number("limit", params.Limit)
	return answer[EventList](ctx, c, r)
}

// AllEvents goes through all pages of [Client.ListEvents]. An error is the last
// it yields.
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

// FollowEventsParams are the parameters of [Client.FollowEvents]. What is zero
// is not sent.
type FollowEventsParams struct {
	// Only those of this job.
	Job int64
	// Begin after this event; 0 for all that are kept.
	After string
	// Begin after this event; stronger than after. Browsers send it by themselves.
	LastEventID string
}

// FollowEvents is GET /v1/events/stream: follow events as they happen. It needs
// a key with the scope read.
//
// Server-sent events: the field id is the number of the event, event its kind,
// data the object. A client that comes again with Last-Event-ID misses nothing:
// the stream begins with an id, before any event. Without it, or after, the
// stream begins with what happens next.
func (c *Client) FollowEvents(ctx context.Context, params FollowEventsParams) iter.Seq2[Event, error] {
	r := request{method: "GET", path: "/v1/events/stream"}
	r.number("job", params.Job)
	r.text("after", params.After)
	r.head("Last-Event-ID", params.LastEventID)
	return follow[Event](ctx, c, r)
}

// GetExport is GET /v1/exports/{export}: tell how an export stands. It needs a
// key with the scope read.
//
// Those that ended are kept for a day, for a week if they failed.
func (c *Client) GetExport(ctx context.Context, export int64) (*Export, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/exports/%d", export)}
	return answer[Export](ctx, c, r)
}

// ListHostsParams are the parameters of [Client.ListHosts]. What is zero is not
// sent.
type ListHostsParams struct {
	// Only this one.
	Host string
	// How many to return at most.
	Limit int64
}

// ListHosts is GET /v1/hosts: tell how the hosts stand that workers have in
// memory. It needs a key with the scope operator.
//
// Pace, what sets it, floor, hold and incidents, as their owners say. Hosts are
// shared by all tenants.
func (c *Client) ListHosts(ctx context.Context, params ListHostsParams) (*HostList, error) {
	r := request{method: "GET", path: "/v1/hosts"}
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	return answer[HostList](ctx, c, r)
}

// GetCourtesyParams are the parameters of [Client.GetCourtesy]. What is zero is
// not sent.
type GetCourtesyParams struct {
	// Scheme, name and port if it is not the scheme's.
	Host string
}

// GetCourtesy is GET /v1/hosts/courtesy: write a receipt for a webmaster: how a
// host was treated, for whatever job, and how to slow or stop us. It needs a
// key with the scope operator.
//
// All of it comes from what was recorded when it happened. Values of
// secret-looking query parameters are left out. The newest 1000 jobs are looked
// at, and up to 500000 URLs are counted; where there are more, notes says so.
func (c *Client) GetCourtesy(ctx context.Context, params GetCourtesyParams) (*Receipt, error) {
	r := request{method: "GET", path: "/v1/hosts/courtesy"}
	r.text("host", params.Host)
	return answer[Receipt](ctx, c, r)
}

// ForgetHost is POST /v1/hosts/forget: forget what was learned of a host. It
// needs a key with the scope operator.
func (c *Client) ForgetHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/forget", body: body}
	return answer[HostChange](ctx, c, r)
}

// GetHostParams are the parameters of [Client.GetHost]. What is zero is not
// sent.
type GetHostParams struct {
	// Scheme, name and port if it is not the scheme's.
	Host string
}

// GetHost is GET /v1/hosts/one: tell how one host stands, and how its pace came
// about. It needs a key with the scope operator.
//
// By the word of the worker that owns it, or as it is stored: learned pace,
// floor, streaks, incidents, hold.
func (c *Client) GetHost(ctx context.Context, params GetHostParams) (*HostStory, error) {
	r := request{method: "GET", path: "/v1/hosts/one"}
	r.text("host", params.Host)
	return answer[HostStory](ctx, c, r)
}

// PauseHost is POST /v1/hosts/pause: send nothing more to a host, for any job.
// It needs a key with the scope operator.
func (c *Client) PauseHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/pause", body: body}
	return answer[HostChange](ctx, c, r)
}

// ResumeHost is POST /v1/hosts/resume: go on with a host that was paused. It
// needs a key with the scope operator.
func (c *Client) ResumeHost(ctx context.Context, body HostName) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/resume", body: body}
	return answer[HostChange](ctx, c, r)
}

// SetPaceOfHost is POST /v1/hosts/set-pace: keep at least an interval between
// requests to a host. It needs a key with the scope operator.
func (c *Client) SetPaceOfHost(ctx context.Context, body HostPace) (*HostChange, error) {
	r := request{method: "POST", path: "/v1/hosts/set-pace", body: body}
	return answer[HostChange](ctx, c, r)
}

// ListJobsParams are the parameters of [Client.ListJobs]. What is zero is not
// sent.
type ListJobsParams struct {
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
	// Only jobs in this state. One of queued, running, paused, draining, complete,
	// partial, blocked, cancelled, failed.
	State string
}

// ListJobs is GET /v1/jobs: list jobs, the newest first. It needs a key with
// the scope read.
//
// Each stands as its own answer tells it, counts included; what was asked for
// is left out.
func (c *Client) ListJobs(ctx context.Context, params ListJobsParams) (*JobList, error) {
	r := request{method: "GET", path: "/v1/jobs"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	r.text("state", params.State)
	return answer[JobList](ctx, c, r)
}

// AllJobs goes through all pages of [Client.ListJobs]. An error is the last it
// yields.
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

// CreateJobParams are the parameters of [Client.CreateJob]. What is zero is not
// sent.
type CreateJobParams struct {
	// Any text of your own that is new for each thing you create, such as a UUID.
	// For a day the same request with the same key creates nothing more and has
	// the same answer.
	IdempotencyKey string
}

// CreateJob is POST /v1/jobs: ask for a crawl. It needs a key with the scope
// write.
//
// The job waits in the queue until there is a place for it. With an
// Idempotency-Key the request can be sent again, for a day: it creates one job
// and is answered with the same words.
func (c *Client) CreateJob(ctx context.Context, body JobRequest, params CreateJobParams) (*JobView, error) {
	r := request{method: "POST", path: "/v1/jobs", body: body}
	r.once(params.IdempotencyKey)
	return answer[JobView](ctx, c, r)
}

// GetJob is GET /v1/jobs/{job}: tell how a job stands. It needs a key with the
// scope read.
func (c *Client) GetJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d", job)}
	return answer[JobView](ctx, c, r)
}

// CancelJob is POST /v1/jobs/{job}/cancel: end a job at once; what was fetched
// is kept. It needs a key with the scope write.
//
// A job that is so already stays as it is.
func (c *Client) CancelJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/cancel", job)}
	return answer[JobView](ctx, c, r)
}

// CompareJobsParams are the parameters of [Client.CompareJobs]. What is zero is
// not sent.
type CompareJobsParams struct {
	// The number of the earlier job.
	With int64
}

// CompareJobs is GET /v1/jobs/{job}/compare: tell what changed since another
// job. It needs a key with the scope read.
//
// Pages that are new, gone, changed or newly dead, at most 1000 of each kind by
// name. Two jobs of more than 500000 URLs together are refused: export them and
// compare outside.
func (c *Client) CompareJobs(ctx context.Context, job int64, params CompareJobsParams) (*Comparison, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/compare", job)}
	r.number("with", params.With)
	return answer[Comparison](ctx, c, r)
}

// GetCourtesyOfJobParams are the parameters of [Client.GetCourtesyOfJob]. What
// is zero is not sent.
type GetCourtesyOfJobParams struct {
	// Scheme, name and port if it is not the scheme's.
	Host string
}

// GetCourtesyOfJob is GET /v1/jobs/{job}/courtesy: write a receipt for a
// webmaster of what one job did to a host. It needs a key with the scope read.
//
// Only requests of this job are counted.
func (c *Client) GetCourtesyOfJob(ctx context.Context, job int64, params GetCourtesyOfJobParams) (*Receipt, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/courtesy", job)}
	r.text("host", params.Host)
	return answer[Receipt](ctx, c, r)
}

// DrainJob is POST /v1/jobs/{job}/drain: let what is in flight finish and end
// the job there. It needs a key with the scope write.
//
// A job that is so already stays as it is.
func (c *Client) DrainJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/drain", job)}
	return answer[JobView](ctx, c, r)
}

// ListEvidenceParams are the parameters of [Client.ListEvidence]. What is zero
// is not sent.
type ListEvidenceParams struct {
	// Only of this URL.
	URL string
	// Only of this host: scheme, name and port, such as https://example.com.
	Host string
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
}

// ListEvidence is GET /v1/jobs/{job}/evidence: list the facts behind decisions:
// the rule of robots.txt with its line, the file's SHA-256, confidence and
// times. It needs a key with the scope read.
//
// Of one URL, of those of a host, or of all, in the order they are stored. URLs
// that wait have none yet.
func (c *Client) ListEvidence(ctx context.Context, job int64, params ListEvidenceParams) (*EvidenceList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/evidence", job)}
	r.text("url", params.URL)
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[EvidenceList](ctx, c, r)
}

// AllEvidence goes through all pages of [Client.ListEvidence]. An error is the
// last it yields.
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

// ExportPagesParams are the parameters of [Client.ExportPages]. What is zero is
// not sent.
type ExportPagesParams struct {
	// Only those that ended so; pending are those that wait. One of fetched,
	// not_modified, redirected, dead, server_error, throttled, blocked, skipped,
	// deferred, failed, pending.
	Outcome string
	// Only those that were skipped or failed for this reason. One of
	// robots_disallow, robots_unreachable, crawl_delay_too_long, out_of_scope,
	// excluded, duplicate_content, depth, trap_path, trap_query, non_document,
	// nofollow, private_address, bad_port, budget_bytes, budget_host, opted_out,
	// dns, connect, tls, timeout, too_large, truncated, bad_encoding, protocol,
	// parse, redirect_loop, host_parked, quarantined.
	Reason string
	// Only those of this host: scheme, name and port, such as https://example.com.
	Host string
	// Only those that begin with this: a URL, or a path with its slash.
	Prefix string
	// Only those that were answered with this status.
	Status int64
}

// ExportPages is GET /v1/jobs/{job}/export: read all URLs of a job as lines of
// JSON. It needs a key with the scope read.
//
// One object a line, as in the list of pages. The stream ends with the last
// line; one that is cut short lacks the line feed of its last.
func (c *Client) ExportPages(ctx context.Context, job int64, params ExportPagesParams) (io.ReadCloser, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/export", job)}
	r.text("outcome", params.Outcome)
	r.text("reason", params.Reason)
	r.text("host", params.Host)
	r.text("prefix", params.Prefix)
	r.number("status", params.Status)
	return c.stream(ctx, r)
}

// OrderExportParams are the parameters of [Client.OrderExport]. What is zero is
// not sent.
type OrderExportParams struct {
	// Any text of your own that is new for each thing you create, such as a UUID.
	// For a day the same request with the same key creates nothing more and has
	// the same answer.
	IdempotencyKey string
}

// OrderExport is POST /v1/jobs/{job}/exports: have files of a job written to
// the place of the service. It needs a key with the scope write.
//
// The operator says where that is. One that was ordered and has not ended is
// not made twice; one ordered later writes the same files anew.
func (c *Client) OrderExport(ctx context.Context, job int64, body ExportRequest, params OrderExportParams) (*Export, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/exports", job), body: body}
	r.once(params.IdempotencyKey)
	return answer[Export](ctx, c, r)
}

// ExtendJob is POST /v1/jobs/{job}/extend: go on with a job that a page limit
// stopped. It needs a key with the scope write.
//
// Sets a new page limit and puts URLs that were deferred back to waiting; a job
// that ended partial is queued again.
func (c *Client) ExtendJob(ctx context.Context, job int64, body Extension) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/extend", job), body: body}
	return answer[JobView](ctx, c, r)
}

// ListHostsOfJobParams are the parameters of [Client.ListHostsOfJob]. What is
// zero is not sent.
type ListHostsOfJobParams struct {
	// Only this one.
	Host string
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
}

// ListHostsOfJob is GET /v1/jobs/{job}/hosts: list the hosts of a job as they
// are stored: pace, what sets it, incidents, queue. It needs a key with the
// scope read.
//
// Pace and incidents are the host's, whatever job they come from.
func (c *Client) ListHostsOfJob(ctx context.Context, job int64, params ListHostsOfJobParams) (*JobHosts, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/hosts", job)}
	r.text("host", params.Host)
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[JobHosts](ctx, c, r)
}

// AllHostsOfJob goes through all pages of [Client.ListHostsOfJob]. An error is
// the last it yields.
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

// GetJobLimits is GET /v1/jobs/{job}/limits: tell what limits a job, and which
// layer set each limit. It needs a key with the scope read.
//
// The strictest of safety, plan, usage and job counts. Before a job has a place
// it has the limits that it asks for.
func (c *Client) GetJobLimits(ctx context.Context, job int64) (*JobLimits, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/limits", job)}
	return answer[JobLimits](ctx, c, r)
}

// ListPagesParams are the parameters of [Client.ListPages]. What is zero is not
// sent.
type ListPagesParams struct {
	// Only those that ended so; pending are those that wait. One of fetched,
	// not_modified, redirected, dead, server_error, throttled, blocked, skipped,
	// deferred, failed, pending.
	Outcome string
	// Only those that were skipped or failed for this reason. One of
	// robots_disallow, robots_unreachable, crawl_delay_too_long, out_of_scope,
	// excluded, duplicate_content, depth, trap_path, trap_query, non_document,
	// nofollow, private_address, bad_port, budget_bytes, budget_host, opted_out,
	// dns, connect, tls, timeout, too_large, truncated, bad_encoding, protocol,
	// parse, redirect_loop, host_parked, quarantined.
	Reason string
	// Only those of this host: scheme, name and port, such as https://example.com.
	Host string
	// Only those that begin with this: a URL, or a path with its slash.
	Prefix string
	// Only those that were answered with this status.
	Status int64
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
}

// ListPages is GET /v1/jobs/{job}/pages: list the URLs of a job by how they
// stand. It needs a key with the scope read.
//
// Every URL the job has seen is in it once, but those out of scope, which are
// kept as counts.
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

// AllPages goes through all pages of [Client.ListPages]. An error is the last
// it yields.
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

// PauseJob is POST /v1/jobs/{job}/pause: start no further request of a job; it
// keeps its place. It needs a key with the scope write.
//
// A job that is so already stays as it is.
func (c *Client) PauseJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/pause", job)}
	return answer[JobView](ctx, c, r)
}

// GetJobPlan is GET /v1/jobs/{job}/plan: tell how a crawl would go, by a dry
// run of it. It needs a key with the scope read.
//
// A job that was created with dry_run reads robots.txt and sitemaps and fetches
// no page. The plan is what it found: what robots.txt allows, what sitemaps
// list, at which pace hosts would be asked, how long that takes as a guess, and
// which limit would stop it.
func (c *Client) GetJobPlan(ctx context.Context, job int64) (*PlanView, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/plan", job)}
	return answer[PlanView](ctx, c, r)
}

// ResumeJob is POST /v1/jobs/{job}/resume: go on with a job that was paused. It
// needs a key with the scope write.
//
// A job that is so already stays as it is.
func (c *Client) ResumeJob(ctx context.Context, job int64) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/resume", job)}
	return answer[JobView](ctx, c, r)
}

// SetPaceOfJob is POST /v1/jobs/{job}/set-pace: slow a job down, from its next
// request on. It needs a key with the scope write.
//
// Hosts that other jobs crawl, too, are asked by all of them at the slowest
// pace among those jobs; other hosts keep theirs.
func (c *Client) SetPaceOfJob(ctx context.Context, job int64, body JobPaceOrder) (*JobView, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/jobs/%d/set-pace", job), body: body}
	return answer[JobView](ctx, c, r)
}

// ExplainPaceOfJob is GET /v1/jobs/{job}/slow: tell where the time of a job
// goes, whether more workers would help, and what would. It needs a key with
// the scope read.
//
// In shares of host-time, which add up to 1: each host with work is at every
// instant fetching or waiting for exactly one thing. The workers are asked
// while the job runs; of one that has ended how its time was spent is not kept.
func (c *Client) ExplainPaceOfJob(ctx context.Context, job int64) (*Slow, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/slow", job)}
	return answer[Slow](ctx, c, r)
}

// ExplainURLParams are the parameters of [Client.ExplainURL]. What is zero is
// not sent.
type ExplainURLParams struct {
	// A whole URL.
	URL string
}

// ExplainURL is GET /v1/jobs/{job}/why: tell how a URL of a job ended, or why
// it is missing, with the evidence. It needs a key with the scope read.
//
// Of a URL that waits, the worker that owns its host is asked what for.
func (c *Client) ExplainURL(ctx context.Context, job int64, params ExplainURLParams) (*Why, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/jobs/%d/why", job)}
	r.text("url", params.URL)
	return answer[Why](ctx, c, r)
}

// SimulateLimits is POST /v1/limits/simulate: tell which limits a job would
// get, and which layer would set each. It needs a key with the scope read.
//
// By the rule that jobs get theirs by, with what is left of this month and the
// safety layer of this server's settings. Nothing is created.
func (c *Client) SimulateLimits(ctx context.Context, body LimitWish) (*SimulatedLimits, error) {
	r := request{method: "POST", path: "/v1/limits/simulate", body: body}
	return answer[SimulatedLimits](ctx, c, r)
}

// GetMe is GET /v1/me: tell who a key speaks for. It needs a key with the scope
// read.
func (c *Client) GetMe(ctx context.Context) (*Me, error) {
	r := request{method: "GET", path: "/v1/me"}
	return answer[Me](ctx, c, r)
}

// DropOptOutParams are the parameters of [Client.DropOptOut]. What is zero is
// not sent.
type DropOptOutParams struct {
	// The name, as the list has it.
	Host string
}

// DropOptOut is DELETE /v1/opt-outs: take a name off the list. It needs a key
// with the scope operator.
//
// What was skipped stays so; jobs that are asked for from now on may go there.
// Sent again it changes nothing, and is answered with 404.
func (c *Client) DropOptOut(ctx context.Context, params DropOptOutParams) error {
	r := request{method: "DELETE", path: "/v1/opt-outs"}
	r.text("host", params.Host)
	return c.carryOut(ctx, r)
}

// ListOptOutsParams are the parameters of [Client.ListOptOuts]. What is zero is
// not sent.
type ListOptOutsParams struct {
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
}

// ListOptOuts is GET /v1/opt-outs: list the hosts and domains that asked not to
// be crawled. It needs a key with the scope operator.
func (c *Client) ListOptOuts(ctx context.Context, params ListOptOutsParams) (*OptOutList, error) {
	r := request{method: "GET", path: "/v1/opt-outs"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	return answer[OptOutList](ctx, c, r)
}

// AllOptOuts goes through all pages of [Client.ListOptOuts]. An error is the
// last it yields.
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

// AddOptOut is POST /v1/opt-outs: never crawl a host or domain, for any job. It
// needs a key with the scope operator.
//
// Workers that run begin no request there from a moment after the answer on,
// not even for robots.txt; what waits there ends as skipped: opted_out. A name
// that is on the list stays as it is, so the request may be sent again: it has
// the same answer, changes nothing and needs no Idempotency-Key. There are at
// most 100000.
func (c *Client) AddOptOut(ctx context.Context, body OptOutRequest) (*OptOut, error) {
	r := request{method: "POST", path: "/v1/opt-outs", body: body}
	return answer[OptOut](ctx, c, r)
}

// ListOrdersParams are the parameters of [Client.ListOrders]. What is zero is
// not sent.
type ListOrdersParams struct {
	// How many to return at most. A page may hold fewer, even none, and still have
	// a next one.
	Limit int64
	// The next_cursor of the page before.
	Cursor string
	// Only those about this job.
	Job int64
	// Only those about this host, which are of interest to operators alone.
	Host string
}

// ListOrders is GET /v1/orders: read the log of orders: who, what, before,
// after. It needs a key with the scope read.
//
// Orders about what is the tenant's, whoever gave them. Operators read all of
// them, those to hosts and workers, which all tenants share, included.
func (c *Client) ListOrders(ctx context.Context, params ListOrdersParams) (*OrderList, error) {
	r := request{method: "GET", path: "/v1/orders"}
	r.number("limit", params.Limit)
	r.text("cursor", params.Cursor)
	r.number("job", params.Job)
	r.text("host", params.Host)
	return answer[OrderList](ctx, c, r)
}

// AllOrders goes through all pages of [Client.ListOrders]. An error is the last
// it yields.
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

// ListOwnedHostsParams are the parameters of [Client.ListOwnedHosts]. What is
// zero is not sent.
type ListOwnedHostsParams struct {
	// Whose; by default the caller's tenant. Only operators may name another.
	Tenant string
}

// ListOwnedHosts is GET /v1/owned-hosts: list the hosts you say are your own.
// It needs a key with the scope read.
func (c *Client) ListOwnedHosts(ctx context.Context, params ListOwnedHostsParams) (*OwnedHostList, error) {
	r := request{method: "GET", path: "/v1/owned-hosts"}
	r.text("tenant", params.Tenant)
	return answer[OwnedHostList](ctx, c, r)
}

// ClaimHost is POST /v1/owned-hosts: say that a host is your own, and get the
// token that proves it. It needs a key with the scope write.
//
// The presets owned and warm, and a pace below 200 ms, are for owned hosts. A
// host that was claimed before keeps its token, and one that is known to be
// owned stays so: the request may be sent again, has the same answer and needs
// no Idempotency-Key. A tenant has at most 1000.
func (c *Client) ClaimHost(ctx context.Context, body OwnedHostRequest) (*OwnedHost, error) {
	r := request{method: "POST", path: "/v1/owned-hosts", body: body}
	return answer[OwnedHost](ctx, c, r)
}

// DropOwnedHostParams are the parameters of [Client.DropOwnedHost]. What is
// zero is not sent.
type DropOwnedHostParams struct {
	// Whose; by default the caller's tenant. Only operators may name another.
	Tenant string
}

// DropOwnedHost is DELETE /v1/owned-hosts/{owned_host}: say that a host is no
// longer your own. It needs a key with the scope write.
//
// Jobs that run go on as they began; those that start from now on treat it as
// anybody's. Sent again it changes nothing, and is answered with 404.
func (c *Client) DropOwnedHost(ctx context.Context, owned_host string, params DropOwnedHostParams) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/owned-hosts/%s", url.PathEscape(owned_host))}
	r.text("tenant", params.Tenant)
	return c.carryOut(ctx, r)
}

// CheckOwnedHost is POST /v1/owned-hosts/{owned_host}/check: look for the token
// of a host, in the record and in the file. It needs a key with the scope
// write.
//
// A domain is looked at once in 10 seconds at most. Redirects are not followed.
// A host that was found to be yours is not asked again.
func (c *Client) CheckOwnedHost(ctx context.Context, owned_host string) (*OwnedHost, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/owned-hosts/%s/check", url.PathEscape(owned_host))}
	return answer[OwnedHost](ctx, c, r)
}

// ListSchedules is GET /v1/schedules: list schedules, the oldest first. It
// needs a key with the scope read.
func (c *Client) ListSchedules(ctx context.Context) (*ScheduleList, error) {
	r := request{method: "GET", path: "/v1/schedules"}
	return answer[ScheduleList](ctx, c, r)
}

// CreateScheduleParams are the parameters of [Client.CreateSchedule]. What is
// zero is not sent.
type CreateScheduleParams struct {
	// Any text of your own that is new for each thing you create, such as a UUID.
	// For a day the same request with the same key creates nothing more and has
	// the same answer.
	IdempotencyKey string
}

// CreateSchedule is POST /v1/schedules: ask for a crawl again and again. It
// needs a key with the scope write.
//
// Times that were missed are made up for once. No job is made while the one
// before has not ended. A tenant has at most 1000.
func (c *Client) CreateSchedule(ctx context.Context, body ScheduleRequest, params CreateScheduleParams) (*Schedule, error) {
	r := request{method: "POST", path: "/v1/schedules", body: body}
	r.once(params.IdempotencyKey)
	return answer[Schedule](ctx, c, r)
}

// DeleteSchedule is DELETE /v1/schedules/{schedule}: forget a schedule; the
// jobs it made stay. It needs a key with the scope write.
func (c *Client) DeleteSchedule(ctx context.Context, schedule string) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule))}
	return c.carryOut(ctx, r)
}

// GetSchedule is GET /v1/schedules/{schedule}: tell how a schedule stands. It
// needs a key with the scope read.
func (c *Client) GetSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// ChangeSchedule is PATCH /v1/schedules/{schedule}: change when and what a
// schedule crawls, pause it or go on. It needs a key with the scope write.
//
// A job that it has made goes on as it was asked for. After a change of its
// times, or a pause, it is due at the next of them; an interval counts from the
// last job.
func (c *Client) ChangeSchedule(ctx context.Context, schedule string, body ScheduleChange) (*Schedule, error) {
	r := request{method: "PATCH", path: fmt.Sprintf("/v1/schedules/%s", url.PathEscape(schedule)), body: body}
	return answer[Schedule](ctx, c, r)
}

// PauseSchedule is POST /v1/schedules/{schedule}/pause: make no jobs of a
// schedule; those it made go on. It needs a key with the scope write.
func (c *Client) PauseSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/schedules/%s/pause", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// ResumeSchedule is POST /v1/schedules/{schedule}/resume: go on with a schedule
// that was paused. It needs a key with the scope write.
//
// It is due at the next of its times, or after its interval.
func (c *Client) ResumeSchedule(ctx context.Context, schedule string) (*Schedule, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/schedules/%s/resume", url.PathEscape(schedule))}
	return answer[Schedule](ctx, c, r)
}

// GetUsageParams are the parameters of [Client.GetUsage]. What is zero is not
// sent.
type GetUsageParams struct {
	// By default the one that is now, in UTC.
	Month string
}

// GetUsage is GET /v1/usage: tell what was used in a month, and what the plan
// allows. It needs a key with the scope read.
func (c *Client) GetUsage(ctx context.Context, params GetUsageParams) (*Usage, error) {
	r := request{method: "GET", path: "/v1/usage"}
	r.text("month", params.Month)
	return answer[Usage](ctx, c, r)
}

// ListWebhooks is GET /v1/webhooks: list webhooks, the oldest first. It needs a
// key with the scope read.
func (c *Client) ListWebhooks(ctx context.Context) (*WebhookList, error) {
	r := request{method: "GET", path: "/v1/webhooks"}
	return answer[WebhookList](ctx, c, r)
}

// CreateWebhookParams are the parameters of [Client.CreateWebhook]. What is
// zero is not sent.
type CreateWebhookParams struct {
	// Any text of your own that is new for each thing you create, such as a UUID.
	// For a day the same request with the same key creates nothing more and has
	// the same answer.
	IdempotencyKey string
}

// CreateWebhook is POST /v1/webhooks: have events sent to an address. It needs
// a key with the scope write.
//
// It is sent what happens from now on, signed with the secret of the answer,
// which is not shown again. A tenant has at most 50.
func (c *Client) CreateWebhook(ctx context.Context, body WebhookRequest, params CreateWebhookParams) (*WebhookSecret, error) {
	r := request{method: "POST", path: "/v1/webhooks", body: body}
	r.once(params.IdempotencyKey)
	return answer[WebhookSecret](ctx, c, r)
}

// DeleteWebhook is DELETE /v1/webhooks/{webhook}: forget a webhook and what was
// not sent to it. It needs a key with the scope write.
func (c *Client) DeleteWebhook(ctx context.Context, webhook string) error {
	r := request{method: "DELETE", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook))}
	return c.carryOut(ctx, r)
}

// GetWebhook is GET /v1/webhooks/{webhook}: tell how a webhook stands. It needs
// a key with the scope read.
func (c *Client) GetWebhook(ctx context.Context, webhook string) (*Webhook, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook))}
	return answer[Webhook](ctx, c, r)
}

// ChangeWebhook is PATCH /v1/webhooks/{webhook}: change a webhook, turn it off
// or on. It needs a key with the scope write.
func (c *Client) ChangeWebhook(ctx context.Context, webhook string, body WebhookChange) (*Webhook, error) {
	r := request{method: "PATCH", path: fmt.Sprintf("/v1/webhooks/%s", url.PathEscape(webhook)), body: body}
	return answer[Webhook](ctx, c, r)
}

// ListDeliveriesParams are the parameters of [Client.ListDeliveries]. What is
// zero is not sent.
type ListDeliveriesParams struct {
	// How many to return at most.
	Limit int64
}

// ListDeliveries is GET /v1/webhooks/{webhook}/deliveries: list the latest
// deliveries of a webhook, the newest first. It needs a key with the scope
// read.
//
// Those that ended are kept for a day, for a week if they were given up.
func (c *Client) ListDeliveries(ctx context.Context, webhook string, params ListDeliveriesParams) (*DeliveryList, error) {
	r := request{method: "GET", path: fmt.Sprintf("/v1/webhooks/%s/deliveries", url.PathEscape(webhook))}
	r.number("limit", params.Limit)
	return answer[DeliveryList](ctx, c, r)
}

// RotateWebhook is POST /v1/webhooks/{webhook}/rotate: give a webhook a new
// secret. It needs a key with the scope write.
//
// The old one signs beside it for a day, so that the receiver has time to learn
// the new one.
func (c *Client) RotateWebhook(ctx context.Context, webhook string) (*WebhookSecret, error) {
	r := request{method: "POST", path: fmt.Sprintf("/v1/webhooks/%s/rotate", url.PathEscape(webhook))}
	return answer[WebhookSecret](ctx, c, r)
}
