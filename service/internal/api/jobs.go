package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// maxCompare is how many URLs two jobs may have in total to be compared within
// one request.
const maxCompare = 500_000

// maxCompared is how many URLs of each kind of change are named.
const maxCompared = 1000

// OneJob names a job in a path.
type OneJob struct {
	Job int64 `path:"job" minimum:"1" doc:"The id of the job." example:"1"`
}

// JobAnswer is the response with a job.
type JobAnswer struct {
	Body JobView
}

// JobView is a job with its requested seeds and settings.
type JobView struct {
	answer.Job
	Seeds []string `json:"seeds" nullable:"false" doc:"The seeds as given in the request."`
	JobSettings
	Limits limit.Fields `json:"limits,omitempty" doc:"The limits that the job requests, as in the request; with those last set by extend. GET /v1/jobs/{job}/limits returns the limits in force."`
	DryRun bool         `json:"dry_run,omitempty" doc:"Whether this is a dry run, which fetches no pages."`
}

func (v JobView) location() string { return pathOf(v.ID) }

// JobList is a page of jobs, newest first.
type JobList struct {
	Jobs       []answer.Job `json:"jobs" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// Extension is new limits of a job. Those that are absent stay as they are.
type Extension struct {
	MaxPages    *int64       `json:"max_pages,omitempty" minimum:"0" maximum:"9007199254740992" doc:"The new page limit, including pages already fetched; 0 means no limit."`
	MaxRequests *int64       `json:"max_requests,omitempty" minimum:"0" maximum:"9007199254740992" doc:"The new request limit, including requests already sent; 0 means no limit."`
	MaxBytes    *int64       `json:"max_bytes,omitempty" minimum:"0" maximum:"9007199254740992" doc:"The new limit of downloaded bytes, including those already downloaded; 0 means no limit."`
	MaxTime     *ask.Seconds `json:"max_time_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"The new limit of the running time, including the time the job has already run; 0 means no limit."`
}

// limits are those that were given.
func (e *Extension) limits() store.Extension {
	to := store.Extension{}
	for n, amount := range map[limit.Name]*int64{limit.Pages: e.MaxPages, limit.Requests: e.MaxRequests, limit.Bytes: e.MaxBytes} {
		if amount != nil {
			to[n] = *amount
		}
	}
	if e.MaxTime != nil {
		to[limit.Time] = int64(e.MaxTime.Duration())
	}
	return to
}

func (a *API) registerJobs() {
	tags := []string{"jobs"}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "create-job", Method: http.MethodPost, Path: "/v1/jobs", Tags: tags, DefaultStatus: http.StatusCreated, Summary: "Create a job",
		Description: "The job is queued until it can start. With an Idempotency-Key the request can be repeated for a day: it creates one job, and every repeat gets the same response.",
	}, once(a, "create-job", a.createJob), NoArchive, HostNotOwned, UnknownTenant, QuotaExhausted)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Tags: tags, Summary: "List jobs, newest first",
		Description: "Each entry is the same as in the response for the single job, including counts, but without the requested seeds and settings.",
	}, a.listJobs)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{job}", Tags: tags, Summary: "Get a job",
	}, func(ctx context.Context, in *OneJob) (*JobAnswer, error) {
		j, err := a.findJob(ctx, in.Job)
		if err != nil {
			return nil, err
		}
		return a.showJob(ctx, &j)
	}, NotFound)
	for _, o := range []struct {
		name, summary string
		from          []job.State // empty for any from which it is possible
		to            job.State
	}{
		{"pause", "Pause a job: send no further requests; it keeps its place among the running jobs", []job.State{job.Running}, job.Paused},
		{"resume", "Resume a paused job", []job.State{job.Paused}, job.Running},
		{"drain", "Drain a job: finish requests in flight, then end it", nil, job.Draining},
		{"cancel", "Cancel a job now; results so far are kept", nil, job.Cancelled},
	} {
		register(a, store.ScopeWrite, huma.Operation{
			OperationID: o.name + "-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/" + o.name, Tags: tags, Summary: o.summary,
			Description: "Has no effect if the job is already in the requested state.",
		}, func(ctx context.Context, in *OneJob) (*JobAnswer, error) {
			return a.orderJob(ctx, in.Job, o.name, o.from, o.to)
		}, NotFound, WrongState, Conflict)
	}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "extend-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/extend", Tags: tags, Summary: "Raise limits of a job, and continue one that a limit stopped",
		Description: "Sets new limits and makes deferred URLs pending again; a job that ended partial is queued again. Values above what the safety limits or the plan allow are capped, not refused: GET /v1/jobs/{job}/limits returns the limits in force.",
	}, a.extendJob, NotFound, WrongState, Conflict)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "set-pace-of-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/set-pace", Tags: tags, Summary: "Slow down a job, starting with its next request",
		Description: "A host that several jobs crawl gets requests at the slowest pace among those jobs; other hosts keep their pace.",
	}, a.setPace, NotFound, WrongState, Conflict)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "compare-jobs", Method: http.MethodGet, Path: "/v1/jobs/{job}/compare", Tags: tags, Summary: "Compare a job with an earlier one",
		Description: fmt.Sprintf("Lists pages that are new, gone, changed or newly dead, up to %d URLs of each kind. Two jobs with more than %d URLs in total are refused: export both and compare the files.", maxCompared, maxCompare),
	}, a.compareJobs, NotFound, TooManyURLs)
}

// findJob reads a job of the caller's tenant; a job of another tenant is not found.
func (a *API) findJob(ctx context.Context, n int64) (store.Job, error) {
	j, err := a.store.Job(ctx, job.ID(n))
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Tenant != callerOf(ctx).tenant() {
		return store.Job{}, problem(NotFound, fmt.Sprintf("job not found: %d", n), "list the jobs with GET /v1/jobs")
	}
	return j, err
}

func (a *API) showJob(ctx context.Context, j *store.Job) (*JobAnswer, error) {
	counted, err := answer.ReadJob(ctx, a.store, j)
	if err != nil {
		return nil, err
	}
	view, err := a.viewOf(counted, j)
	return &JobAnswer{view}, err
}

// viewOf adds what was requested.
func (a *API) viewOf(counted answer.Job, j *store.Job) (JobView, error) {
	r, err := a.requestOf(j.Spec, j)
	return JobView{Job: counted, Seeds: r.Seeds, JobSettings: r.JobSettings, Limits: r.Limits, DryRun: r.DryRun}, err
}

// readSettings reads the settings of a request, which may be invalid.
func (a *API) readSettings(asked config.Asked) (*config.Settings, error) {
	set, err := a.settings(asked)
	if bad, ok := errors.AsType[*config.Error](err); ok {
		return nil, problem(InvalidValue, bad.Error(), bad.Hint())
	}
	return set, err
}

// newJob makes a job of a request, without storing it.
func (a *API) newJob(ctx context.Context, r *JobRequest) (store.Job, error) {
	spec := r.spec()
	set, err := a.readSettings(spec.Settings)
	if err != nil {
		return store.Job{}, err
	}
	if set.Raw && !spec.DryRun && a.archive == nil {
		return store.Job{}, newProblem(NoArchive, "this server has no archive, which a job with raw needs")
	}
	request := jobspec.Request{Spec: spec, Tenant: callerOf(ctx).tenant(), Name: r.Name}
	j, err := request.Job(set)
	if err == nil {
		err = a.mustKnow(ctx, request.Tenant)
	}
	if err == nil {
		err = a.mustOwn(ctx, &spec, set, request.Tenant)
	}
	return j, err
}

func (a *API) createJob(ctx context.Context, in *Creating[JobRequest]) (view JobView, err error) {
	j, err := a.newJob(ctx, &in.Body)
	if err != nil {
		return view, err
	}
	now := time.Now()
	if err := a.checkQuota(ctx, now, &j, in.Body.DryRun); err != nil {
		return view, err
	}
	j.CreatedAt = store.Stored(now)
	if j.ID, err = a.store.CreateJob(ctx, j); err != nil {
		return view, err
	}
	return a.viewOf(answer.NewJob(&j, store.Counts{}), &j)
}

// checkQuota refuses a crawl of a tenant that has used up a monthly quota. A dry run needs
// none.
func (a *API) checkQuota(ctx context.Context, now time.Time, j *store.Job, dry bool) error {
	if dry {
		return nil
	}
	err := jobspec.CheckQuota(ctx, a.store, now, j.Tenant)
	if over, ok := errors.AsType[*jobspec.QuotaError](err); ok {
		return problem(QuotaExhausted, over.Error(), over.Hint()).retryAfter(over.RenewsAt.Sub(now))
	}
	return err
}

// pathOf is the path of a job.
func pathOf(id job.ID) string { return "/v1/jobs/" + strconv.FormatInt(int64(id), 10) }

// listInput selects jobs.
type listInput struct {
	Paging
	State job.State `query:"state" doc:"Only jobs in this state."`
}

func (a *API) listJobs(ctx context.Context, in *listInput) (*struct{ Body JobList }, error) {
	tenant := callerOf(ctx).tenant()
	list := listName("jobs", tenant, string(in.State))
	place, err := a.openCursor(list, in.Cursor)
	if err != nil {
		return nil, err
	}
	q := store.JobQuery{Tenant: tenant, State: in.State, Max: in.Limit + 1}
	if place != "" {
		before, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, err
		}
		q.Before = job.ID(before)
	}
	found, err := a.store.FindJobs(ctx, q)
	if err != nil {
		return nil, err
	}
	out := new(struct{ Body JobList })
	if len(found) > in.Limit {
		found = found[:in.Limit]
		out.Body.NextCursor = a.sealCursor(list, strconv.FormatInt(int64(found[in.Limit-1].ID), 10))
	}
	out.Body.Jobs, err = answer.ReadJobs(ctx, a.store, found)
	return out, err
}

// orderTries is how often an order is tried on a job that changes meanwhile.
const orderTries = 3

// orderJob moves a job to another state.
func (a *API) orderJob(ctx context.Context, n int64, what string, from []job.State, to job.State) (*JobAnswer, error) {
	for try := 1; ; try++ {
		j, err := a.findJob(ctx, n)
		if err != nil {
			return nil, err
		}
		if j.State == to {
			return a.showJob(ctx, &j)
		}
		err = job.Check(j.State, to)
		if len(from) > 0 && j.State != from[0] {
			err = fmt.Errorf("a job in state %s cannot change to %s", j.State, to)
		}
		if err != nil {
			return nil, problem(WrongState, err.Error(), fmt.Sprintf("check its state with GET %s", pathOf(j.ID)))
		}
		err = a.orderedJob(ctx, &j, what, string(j.State), string(to), func(ctx context.Context) error {
			return a.store.SetState(ctx, time.Now(), j.ID, j.State, to, "by "+callerOf(ctx).name())
		})
		if errors.Is(err, store.ErrConflict) && try < orderTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		if j, err = a.findJob(ctx, n); err != nil {
			return nil, err
		}
		return a.showJob(ctx, &j)
	}
}

// extendInput is a new limit for a job.
type extendInput struct {
	OneJob
	Body Extension
}

func (a *API) extendJob(ctx context.Context, in *extendInput) (*JobAnswer, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	to := in.Body.limits()
	if len(to) == 0 {
		return nil, problem(InvalidValue, "no limit given", "give at least one of max_pages, max_requests, max_bytes and max_time_seconds")
	}
	err = a.store.ExtendLimits(ctx, time.Now(), j.ID, to)
	if errors.Is(err, store.ErrConflict) {
		hint := fmt.Sprintf("check its limits with GET %s/limits", pathOf(j.ID))
		if j.State == job.Cancelled {
			hint = "create a new job: a cancelled job cannot continue"
		}
		return nil, problem(WrongState, err.Error(), hint)
	}
	if err != nil {
		return nil, err
	}
	is, before := j.State, j.Limits()
	if j, err = a.findJob(ctx, in.Job); err != nil {
		return nil, err
	}
	err = a.orderedJob(ctx, &j, "extend", to.Describe(before), to.Describe(j.Limits()), func(ctx context.Context) error {
		if is != job.Partial {
			return nil
		}
		return a.store.SetState(ctx, time.Now(), j.ID, job.Partial, job.Queued, "extended")
	})
	if err != nil {
		return nil, err
	}
	if j, err = a.findJob(ctx, in.Job); err != nil {
		return nil, err
	}
	return a.showJob(ctx, &j)
}

// JobPaceOrder is a pace for a job.
type JobPaceOrder struct {
	Delay ask.Seconds `json:"delay_seconds" minimum:"0" maximum:"60" doc:"Minimum interval between requests to each host of the job; 0 removes it. It never makes a job faster than originally requested."`
}

// paceInput slows a job.
type paceInput struct {
	OneJob
	Body JobPaceOrder
}

func (a *API) setPace(ctx context.Context, in *paceInput) (*JobAnswer, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	pace := in.Body.Delay.Duration()
	err = a.orderedJob(ctx, &j, "set-pace", j.Pace.String(), pace.String(), func(ctx context.Context) error {
		return a.store.SetPace(ctx, time.Now(), j.ID, pace)
	})
	if errors.Is(err, store.ErrConflict) {
		return nil, problem(WrongState, "the job has ended", "create a new job with the pace you want")
	}
	if err != nil {
		return nil, err
	}
	if j, err = a.findJob(ctx, in.Job); err != nil {
		return nil, err
	}
	return a.showJob(ctx, &j)
}

// compareInput names two jobs.
type compareInput struct {
	OneJob
	With int64 `query:"with" required:"true" minimum:"1" doc:"The id of the earlier job."`
}

func (a *API) compareJobs(ctx context.Context, in *compareInput) (*struct{ Body answer.Comparison }, error) {
	var urls int64
	for _, n := range []int64{in.Job, in.With} {
		j, err := a.findJob(ctx, n)
		if err != nil {
			return nil, err
		}
		counts, err := a.store.Counts(ctx, j.ID)
		if err != nil {
			return nil, err
		}
		urls += counts.Seen()
	}
	if urls > maxCompare {
		return nil, problem(TooManyURLs, fmt.Sprintf("cannot compare jobs with %d URLs in total", urls), fmt.Sprintf("the maximum is %d; export both jobs and compare the files", maxCompare))
	}
	c, err := answer.Compare(ctx, answer.Side{Reader: a.store, Job: job.ID(in.With)}, answer.Side{Reader: a.store, Job: job.ID(in.Job)}, maxCompared, nil)
	if err != nil {
		return nil, err
	}
	return &struct{ Body answer.Comparison }{*c}, nil
}
