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

// askTime is how long the owner of a host is waited for. What is stored has to do
// where it does not answer.
const askTime = 2 * time.Second

func (a *API) registerWhy() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "explain-url", Method: http.MethodGet, Path: "/v1/jobs/{job}/why", Tags: []string{"pages"}, Summary: "Tell how a URL of a job ended, or why it is missing, with the evidence",
		Description: "Of a URL that waits, the worker that owns its host is asked what for.",
	}, a.explainURL, http.StatusNotFound)
}

// whyInput names a URL.
type whyInput struct {
	OneJob
	URL string `query:"url" required:"true" minLength:"1" maxLength:"8192" doc:"A whole URL." example:"https://example.com/cart"`
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
	if q.Asked, err = a.askedOf(&j); err != nil {
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

// askedOf is what a job was asked for, with the settings of the server where it
// says nothing.
func (a *API) askedOf(j *store.Job) (answer.Asked, error) {
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return answer.Asked{}, err
	}
	set, err := a.settings(spec.Settings)
	if err != nil {
		return answer.Asked{}, err
	}
	return spec.Asked(set, j)
}

// runningURL asks the owner of a URL where it is.
func (a *API) runningURL(id job.ID) func(context.Context, weburl.URL) (*ask.URL, error) {
	return func(ctx context.Context, u weburl.URL) (*ask.URL, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		answered, err := ask.NewFleet(a.store).Ask(ctx, ask.Question{Kind: ask.KindURL, Job: id, URL: u.String()})
		if errors.Is(err, ask.ErrNobody) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil //nolint:nilnil // nobody owns it just now: what is stored has to do
		}
		return answered.URL, err
	}
}
