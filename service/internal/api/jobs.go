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
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/store"
)

// maxCompare is how many URLs two jobs may have together to be compared while
// somebody waits.
const maxCompare = 500_000

// maxCompared is how many URLs of each kind of change are named.
const maxCompared = 1000

// OneJob names a job in a path.
type OneJob struct {
	Job int64 `path:"job" minimum:"1" doc:"The number of the job." example:"1"`
}

// JobAnswer is how a job stands.
type JobAnswer struct {
	Body JobView
}

// JobView is a job and what was asked for.
type JobView struct {
	answer.Job
	Seeds    []string            `json:"seeds" doc:"As they were written."`
	Settings map[string][]string `json:"settings,omitempty" doc:"What was asked for, by the keys of the settings of Headway."`
	DryRun   bool                `json:"dry_run,omitempty" doc:"No page is fetched."`
}

func (v JobView) place() string { return pathOf(v.Job.Job) }

// JobList is a page of jobs, the newest first.
type JobList struct {
	Jobs       []answer.Job `json:"jobs" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"The cursor of the next page; missing after the last."`
}

// Extension is a new page limit.
type Extension struct {
	MaxPages int64 `json:"max_pages" minimum:"0" doc:"Pages of the crawl, those it has included; 0 is no limit."`
}

func (a *API) registerJobs() {
	tags := []string{"jobs"}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "create-job", Method: http.MethodPost, Path: "/v1/jobs", Tags: tags, DefaultStatus: http.StatusCreated, Summary: "Ask for a crawl",
		Description: "The job waits in the queue until there is a place for it. With an Idempotency-Key the request can be sent again, for a day: it creates one job and is answered with the same words.",
	}, once(a, "", a.createJob), http.StatusConflict) // without a name, as when only jobs were created once
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Tags: tags, Summary: "List jobs, the newest first",
		Description: "Each stands as its own answer tells it, counts included; what was asked for is left out.",
	}, a.listJobs)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/v1/jobs/{job}", Tags: tags, Summary: "Tell how a job stands",
	}, func(ctx context.Context, in *OneJob) (*JobAnswer, error) {
		j, err := a.findJob(ctx, in.Job)
		if err != nil {
			return nil, err
		}
		return a.showJob(ctx, &j)
	}, http.StatusNotFound)
	for _, o := range []struct {
		name, summary string
		from          []job.State // empty for any from which it is possible
		to            job.State
	}{
		{"pause", "Start no further request of a job; it keeps its place", []job.State{job.Running}, job.Paused},
		{"resume", "Go on with a job that was paused", []job.State{job.Paused}, job.Running},
		{"drain", "Let what is in flight finish and end the job there", nil, job.Draining},
		{"cancel", "End a job at once; what was fetched is kept", nil, job.Cancelled},
	} {
		register(a, store.ScopeWrite, huma.Operation{
			OperationID: o.name + "-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/" + o.name, Tags: tags, Summary: o.summary,
			Description: "A job that is so already stays as it is.",
		}, func(ctx context.Context, in *OneJob) (*JobAnswer, error) {
			return a.orderJob(ctx, in.Job, o.name, o.from, o.to)
		}, http.StatusNotFound, http.StatusConflict)
	}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "extend-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/extend", Tags: tags, Summary: "Go on with a job that a page limit stopped",
		Description: "Sets a new page limit and puts URLs that were deferred back to waiting; a job that ended partial is queued again.",
	}, a.extendJob, http.StatusNotFound, http.StatusConflict)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "set-pace-of-job", Method: http.MethodPost, Path: "/v1/jobs/{job}/set-pace", Tags: tags, Summary: "Slow a job down, from its next request on",
		Description: "Hosts that other jobs crawl, too, are asked by all of them at the slowest pace among those jobs; other hosts keep theirs.",
	}, a.setPace, http.StatusNotFound, http.StatusConflict)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "compare-jobs", Method: http.MethodGet, Path: "/v1/jobs/{job}/compare", Tags: tags, Summary: "Tell what changed since another job",
		Description: fmt.Sprintf("Pages that are new, gone, changed or newly dead, at most %d of each kind by name. Two jobs of more than %d URLs together are refused: export them and compare outside.", maxCompared, maxCompare),
	}, a.compareJobs, http.StatusNotFound)
}

// findJob reads a job of the caller's tenant. That of another is not there.
func (a *API) findJob(ctx context.Context, n int64) (store.Job, error) {
	j, err := a.store.Job(ctx, job.ID(n))
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Tenant != callerOf(ctx).tenant() {
		return store.Job{}, problem(http.StatusNotFound, fmt.Sprintf("there is no job %d", n), "GET /v1/jobs lists the jobs")
	}
	return j, err
}

func (a *API) showJob(ctx context.Context, j *store.Job) (*JobAnswer, error) {
	counted, err := answer.ReadJob(ctx, a.store, j)
	if err != nil {
		return nil, err
	}
	view, err := viewOf(counted, j.Spec)
	return &JobAnswer{view}, err
}

// viewOf adds what was asked for.
func viewOf(counted answer.Job, text []byte) (JobView, error) {
	spec, err := jobspec.Read(text)
	return JobView{Job: counted, Seeds: spec.Seeds, Settings: spec.Settings, DryRun: spec.DryRun}, err
}

// readSettings reads what is asked for now, and may be nonsense.
func (a *API) readSettings(asked config.Asked) (*config.Settings, error) {
	set, err := a.settings(asked)
	if bad, ok := errors.AsType[*config.Error](err); ok {
		return nil, problem(http.StatusUnprocessableEntity, bad.Error(), bad.Hint())
	}
	return set, err
}

// newJob reads a request for a job, which is not yet created.
func (a *API) newJob(ctx context.Context, r *JobRequest) (store.Job, error) {
	spec := r.spec()
	set, err := a.readSettings(spec.Settings)
	if err != nil {
		return store.Job{}, err
	}
	request := jobspec.Request{Spec: spec, Tenant: callerOf(ctx).tenant(), Name: r.Name}
	j, err := request.Job(set)
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
	j.CreatedAt = store.Stored(time.Now())
	if j.ID, err = a.store.CreateJob(ctx, j); err != nil {
		return view, err
	}
	return viewOf(answer.NewJob(&j, store.Counts{}), j.Spec)
}

// pathOf is where a job is.
func pathOf(id job.ID) string { return "/v1/jobs/" + strconv.FormatInt(int64(id), 10) }

// listInput asks for jobs.
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

// orderTries is how often an order is given to a job that changes meanwhile.
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
			err = fmt.Errorf("a job that is %s cannot become %s", j.State, to)
		}
		if err != nil {
			return nil, problem(http.StatusConflict, err.Error(), fmt.Sprintf("GET %s tells how it stands", pathOf(j.ID)))
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
	err = a.store.Extend(ctx, time.Now(), j.ID, in.Body.MaxPages)
	if errors.Is(err, store.ErrConflict) {
		hint := fmt.Sprintf("GET %s tells the pages it has and its limit", pathOf(j.ID))
		if j.State == job.Cancelled {
			hint = "create another job: one that was cancelled does not go on"
		}
		return nil, problem(http.StatusConflict, err.Error(), hint)
	}
	if err != nil {
		return nil, err
	}
	is, before := j.State, j.MaxPages
	if j, err = a.findJob(ctx, in.Job); err != nil {
		return nil, err
	}
	err = a.orderedJob(ctx, &j, "extend", fmt.Sprintf("%d pages", before), fmt.Sprintf("%d pages", j.MaxPages), func(ctx context.Context) error {
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
	DelayMS int64 `json:"delay_ms" minimum:"0" maximum:"60000" doc:"The least interval between two requests to a host of the job; 0 lifts it. It never makes a job faster than it was asked for."`
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
	pace := fromMillis(in.Body.DelayMS)
	err = a.orderedJob(ctx, &j, "set-pace", j.Pace.String(), pace.String(), func(ctx context.Context) error {
		return a.store.SetPace(ctx, time.Now(), j.ID, pace)
	})
	if errors.Is(err, store.ErrConflict) {
		return nil, problem(http.StatusConflict, "the job has ended", "create another with the pace you want")
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
	With int64 `query:"with" required:"true" minimum:"1" doc:"The number of the earlier job."`
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
		return nil, problem(http.StatusUnprocessableEntity, fmt.Sprintf("the two jobs have %d URLs", urls), fmt.Sprintf("up to %d are compared here; export both and compare them outside", maxCompare))
	}
	c, err := answer.Compare(ctx, answer.Side{Reader: a.store, Job: job.ID(in.With)}, answer.Side{Reader: a.store, Job: job.ID(in.Job)}, maxCompared, nil)
	if err != nil {
		return nil, err
	}
	return &struct{ Body answer.Comparison }{*c}, nil
}
