package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/internal/jobspec"
	"headway/job"
	"headway/store"
	"headway/weburl"
)

// askTime is how long to wait for the owner of a host. If it does not answer, the
// stored state is used.
const askTime = 2 * time.Second

func (a *API) registerWhy() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "explain-url", Method: http.MethodGet, Path: "/v1/jobs/{job}/why", Tags: []string{"pages"}, Summary: "Explain the outcome of a URL, or why the job does not have it, with the evidence",
		Description: "For a pending URL, the worker that owns its host is queried for the wait reason.",
	}, a.explainURL, NotFound)
}

// whyInput names a URL.
type whyInput struct {
	OneJob
	URL string `query:"url" required:"true" minLength:"1" maxLength:"8192" doc:"An absolute URL." example:"https://example.com/cart"`
}

func (a *API) explainURL(ctx context.Context, in *whyInput) (*struct{ Body answer.Why }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	u, steps, err := weburl.Explain(in.URL, weburl.URL{})
	if err != nil {
		return nil, badURL(err)
	}
	q := answer.WhyQuestion{Text: in.URL, URL: u, Steps: steps, Store: a.store, Job: j, Now: time.Now().UTC()}
	if q.Spec, err = a.askedOf(&j); err != nil {
		return nil, err
	}
	out, err := a.store.CoveringOptOut(ctx, u.Hostname())
	if err != nil {
		return nil, err
	}
	q.OptedOut = func(weburl.URL) string { return out }
	if store.Active(j.State) {
		q.Running = a.runningURL(j.ID)
	}
	w, err := answer.ExplainWhy(ctx, q)
	if err != nil {
		return nil, err
	}
	return &struct{ Body answer.Why }{*w}, nil
}

// askedOf is the request of a job, with the settings of the server where it
// says nothing.
func (a *API) askedOf(j *store.Job) (answer.CrawlSpec, error) {
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	set, err := a.settings(spec.Settings)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	return spec.Asked(set, j)
}

// runningURL queries the owner of a URL for its state.
func (a *API) runningURL(id job.ID) func(context.Context, weburl.URL) (*ask.URL, error) {
	return func(ctx context.Context, u weburl.URL) (*ask.URL, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		answered, err := ask.NewFleet(a.store).Ask(ctx, ask.Question{Kind: ask.KindURL, Job: id, URL: u.String()})
		if errors.Is(err, ask.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil //nolint:nilnil // no owner at the moment: the stored state is used
		}
		return answered.URL, err
	}
}
