package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/service/internal/export"
	"headway/store"
)

// ExportRequest lists the files to write.
type ExportRequest struct {
	Formats []formatWord `json:"formats" minItems:"1" maxItems:"10" nullable:"false" doc:"One or more output formats."`
}

func (r *ExportRequest) names() (list []string) {
	for _, f := range r.Formats {
		list = append(list, string(f))
	}
	return list
}

// Export is a requested export and its status.
type Export struct {
	ID        int64        `json:"id"`
	Job       jobID        `json:"job"`
	Formats   []string     `json:"formats" nullable:"false"`
	State     export.State `json:"state" enum:"waiting,running,done,failed" doc:"waiting: queued, or waiting for a retry. failed: failed permanently."`
	URLs      int64        `json:"urls,omitempty" doc:"Number of URLs in each file, once the export is done."`
	Files     []string     `json:"files,omitempty" doc:"Locations of the files, once the export is done."`
	Error     string       `json:"error,omitempty" doc:"Error of the last failed attempt."`
	CreatedAt time.Time    `json:"created_at"`
	EndedAt   time.Time    `json:"ended_at,omitzero" doc:"When it ended; absent until then."`
}

func (e Export) location() string { return fmt.Sprintf("/v1/exports/%d", e.ID) }

func (a *API) registerExports() {
	tags := []string{"exports"}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "order-export", Method: http.MethodPost, Path: "/v1/jobs/{job}/exports", Tags: tags, DefaultStatus: http.StatusAccepted, Summary: "Export a job as files to the export location of the service",
		Description: "The operator configures the export location. While an export of the same formats is unfinished, the request returns that export; once it has ended, a new request writes the files again.",
	}, once(a, "order-export", a.orderExport), NotFound, NoExportLocation)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-export", Method: http.MethodGet, Path: "/v1/exports/{export}", Tags: tags, Summary: "Get the status of an export",
		Description: "The status is kept for one day after an export ends, for one week if it failed.",
	}, a.getExport, NotFound)
}

// orderExportInput requests files of a job.
type orderExportInput struct {
	OneJob
	Creating[ExportRequest]
}

// submitted adds the job to the content of the request.
func (in *orderExportInput) submitted() (key string, asked any) {
	return in.Key, []any{in.Job, &in.Body}
}

func (a *API) orderExport(ctx context.Context, in *orderExportInput) (Export, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return Export{}, err
	}
	e, err := a.chores.Export(ctx, j.ID, in.Body.names())
	if errors.Is(err, export.ErrNoPlace) {
		return Export{}, problem(NoExportLocation, err.Error(), "set one with headway serve --exports, or stream the pages with GET "+pathOf(j.ID)+"/export")
	}
	return Export(e), err
}

// oneExport names an export in a path.
type oneExport struct {
	Export int64 `path:"export" minimum:"1" doc:"The id of the export." example:"1"`
}

// getExport shows an export of the caller's tenant, which is that of its job.
func (a *API) getExport(ctx context.Context, in *oneExport) (*struct{ Body Export }, error) {
	missing := problem(NotFound, fmt.Sprintf("export not found: %d", in.Export), "create one with POST /v1/jobs/{job}/exports")
	e, err := a.chores.ExportOf(ctx, in.Export)
	if errors.Is(err, store.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	j, err := a.store.Job(ctx, e.Job)
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Tenant != callerOf(ctx).tenant() {
		return nil, missing
	}
	return &struct{ Body Export }{Export(e)}, err
}
