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

// PlanView is how a crawl would go, by a dry run of it.
type PlanView struct {
	Job    job.ID    `json:"job"`
	State  job.State `json:"state" doc:"Of the dry run. Before it is complete the plan is what is known so far."`
	Reason string    `json:"reason,omitempty"`
	answer.Plan
}

func (a *API) registerPlan() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-job-plan", Method: http.MethodGet, Path: "/v1/jobs/{job}/plan", Tags: []string{"jobs"}, Summary: "Tell how a crawl would go, by a dry run of it",
		Description: "A job that was created with dry_run reads robots.txt and sitemaps and fetches no page. The plan is what it found: what robots.txt allows, what sitemaps list, at which pace hosts would be asked, how long that takes as a guess, and which limit would stop it.",
	}, a.getPlan, http.StatusNotFound, http.StatusConflict)
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
		return nil, problem(http.StatusConflict, fmt.Sprintf("job %d is a crawl, not a dry run", j.ID), "POST /v1/jobs with dry_run asks for a plan")
	}
	c, err := a.crawlOf(&j)
	if err != nil {
		return nil, err
	}
	plan, err := c.Plan(ctx, time.Now().UTC())
	return &struct{ Body PlanView }{PlanView{Job: j.ID, State: j.State, Reason: j.Reason, Plan: plan}}, err
}
