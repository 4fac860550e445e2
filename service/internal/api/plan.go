package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/internal/jobspec"
	"headway/job"
	"headway/store"
)

// PlanView is the plan of a crawl, made by a dry run.
type PlanView struct {
	Job    job.ID    `json:"job"`
	State  job.State `json:"state" doc:"State of the dry run. Until it is complete, the plan shows what is known so far."`
	Reason string    `json:"reason,omitempty"`
	answer.Plan
}

func (a *API) registerPlan() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-job-plan", Method: http.MethodGet, Path: "/v1/jobs/{job}/plan", Tags: []string{"jobs"}, Summary: "Get the plan of a dry run: how the crawl would go",
		Description: "A job created with dry_run reads robots.txt and sitemaps but fetches no pages. The plan lists what it found: what robots.txt allows, what the sitemaps contain, the pace for each host, the estimated duration, and the limit that would stop the crawl.",
	}, a.getPlan, NotFound, NotADryRun)
}

func (a *API) getPlan(ctx context.Context, in *OneJob) (*struct{ Body PlanView }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return nil, err
	}
	if !spec.DryRun {
		return nil, newProblem(NotADryRun, fmt.Sprintf("job %d is a crawl, not a dry run", j.ID))
	}
	c, err := a.crawlOf(&j)
	if err != nil {
		return nil, err
	}
	plan, err := c.Plan(ctx, time.Now().UTC())
	return &struct{ Body PlanView }{PlanView{Job: j.ID, State: j.State, Reason: j.Reason, Plan: plan}}, err
}
