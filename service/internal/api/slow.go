package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/store"
)

// maxLookedHosts is how many hosts of a job are read for one response.
const maxLookedHosts = 10_000

func (a *API) registerSlow() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "explain-pace-of-job", Method: http.MethodGet, Path: "/v1/jobs/{job}/slow", Tags: []string{"jobs"}, Summary: "Explain where the time of a job goes, whether more workers would help, and what else would",
		Description: "Reports shares of host time that add up to 1: at any moment, each host with work is fetching, is waiting for exactly one reason, or is busy with other jobs (other_jobs). The shares of a job are stored every two seconds and kept with it; the current states of its hosts are queried from the workers while it runs.",
	}, func(ctx context.Context, in *OneJob) (*struct{ Body answer.Slow }, error) {
		j, err := a.findJob(ctx, in.Job)
		if err != nil {
			return nil, err
		}
		c, err := a.crawlOf(&j)
		if err != nil {
			return nil, err
		}
		var lacks []string
		c.Warn = func(text string) { lacks = append(lacks, text) }
		slow, err := c.Slow(ctx)
		slow.Notes = append(slow.Notes, lacks...)
		return &struct{ Body answer.Slow }{slow}, err
	}, NotFound)
}

// crawlOf is a job to inspect.
func (a *API) crawlOf(j *store.Job) (*answer.Crawl, error) {
	asked, err := a.askedOf(j)
	if err != nil {
		return nil, err
	}
	return &answer.Crawl{
		Store: a.store, Job: *j, Spec: asked, Fleet: true, Running: store.Active(j.State), Asker: ask.NewFleet(a.store), MaxHosts: maxLookedHosts,
	}, nil
}
