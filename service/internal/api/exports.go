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

// ExportRequest is which files are to be written.
type ExportRequest struct {
	Formats []formatWord `json:"formats" minItems:"1" maxItems:"10" nullable:"false" doc:"One or more."`
}

func (r *ExportRequest) names() (list []string) {
	for _, f := range r.Formats {
		list = append(list, string(f))
	}
	return list
}

// Export is an order for files, and what became of it.
type Export struct {
	ID      int64        `json:"id"`
	Job     jobID        `json:"job"`
	Formats []string     `json:"formats" nullable:"false"`
	State   export.State `json:"state" enum:"waiting,running,done,failed" doc:"waiting is for its turn or for another attempt; failed is for good."`
	URLs    int64        `json:"urls,omitempty" doc:"How many are in each file, once they are there."`
	Files   []string     `json:"files,omitempty" doc:"Where they are, once they are there."`
	Error   string       `json:"error,omitempty" doc:"What was wrong with the last attempt that failed."`
	AskedAt time.Time    `json:"asked_at"`
	EndedAt time.Time    `json:"ended_at,omitzero" doc:"Missing while it has not ended."`
}

func (e Export) place() string { return fmt.Sprintf("/v1/exports/%d", e.ID) }

func (a *API) registerExports() {
	tags := []string{"exports"}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "order-export", Method: http.MethodPost, Path: "/v1/jobs/{job}/exports", Tags: tags, DefaultStatus: http.StatusAccepted, Summary: "Have files of a job written to the place of the service",
		Description: "The operator says where that is. One that was ordered and has not ended is not made twice; one ordered later writes the same files anew.",
	}, once(a, "order-export", a.orderExport), http.StatusNotFound, http.StatusConflict)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-export", Method: http.MethodGet, Path: "/v1/exports/{export}", Tags: tags, Summary: "Tell how an export stands",
		Description: "Those that ended are kept for a day, for a week if they failed.",
	}, a.getExport, http.StatusNotFound)
}

// orderExportInput is an order for files of a job.
type orderExportInput struct {
	OneJob
	Creating[ExportRequest]
}

// submitted adds the job to what was asked for.
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
		return Export{}, problem(http.StatusConflict, err.Error(), "headway serve --exports names one; GET "+pathOf(j.ID)+"/export reads the pages without")
	}
	return Export(e), err
}

// oneExport names an export in a path.
type oneExport struct {
	Export int64 `path:"export" minimum:"1" doc:"The number of the export." example:"1"`
}

// getExport tells of an export of the caller's tenant, which is that of its job.
func (a *API) getExport(ctx context.Context, in *oneExport) (*struct{ Body Export }, error) {
	missing := problem(http.StatusNotFound, fmt.Sprintf("there is no export %d", in.Export), "order one with POST /v1/jobs/{job}/exports")
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
