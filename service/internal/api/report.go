package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"headway/output/report"
	"headway/store"
)

// Bounds of reports. The tables of a report are bounded, whatever the size of the job.
const (
	maxReported = 500_000          // URLs of a job
	maxReports  = 2                // made at a time; others wait
	reportTime  = 20 * time.Second // to collect the data of one, with the wait
)

func (a *API) registerReport() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-report", Method: http.MethodGet, Path: "/v1/jobs/{job}/report", Tags: []string{"jobs"}, Summary: "Get a report of a job as one HTML page",
		Description: fmt.Sprintf("Plots, and tables of pages that need attention, as from headway report. Of a job that runs, it shows what was recorded so far. A job with more than %d URLs is refused: export it instead.", maxReported),
		Responses:   map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}, a.getReport, NotFound, TooManyURLs)
}

func (a *API) getReport(ctx context.Context, in *OneJob) (*huma.StreamResponse, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	counts, err := a.store.Counts(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	if n := counts.Seen(); n > maxReported {
		return nil, problem(TooManyURLs, fmt.Sprintf("job %d has %d URLs, the maximum of a report is %d", j.ID, n, maxReported), "export the job with POST "+pathOf(j.ID)+"/exports")
	}
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	select {
	case a.reports <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r, err := report.Collect(ctx, a.store, j.ID, report.Options{Title: j.Name, Version: a.version, Now: time.Now()})
	if err != nil {
		<-a.reports
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer func() { <-a.reports }()
		_, w := humago.Unwrap(h)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// Without an origin the page cannot use the API with the reader's credentials.
		w.Header().Set("Content-Security-Policy", report.Policy()+"; frame-ancestors 'none'; sandbox allow-scripts")
		w.Header().Set("Referrer-Policy", "no-referrer")
		if err := r.Write(w); err != nil {
			panic(http.ErrAbortHandler) // the client must not take it for complete
		}
	}}, nil
}
