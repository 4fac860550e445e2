package api

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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
	Downloads []Download   `json:"downloads,omitempty" doc:"The files that can be downloaded, once the export is done: all but the folder of Markdown files."`
	Error     string       `json:"error,omitempty" doc:"Error of the last failed attempt."`
	CreatedAt time.Time    `json:"created_at"`
	EndedAt   time.Time    `json:"ended_at,omitzero" doc:"When it ended; absent until then."`
}

// Download is a file of an export.
type Download struct {
	Name string `json:"name" doc:"The name of the file."`
	Size int64  `json:"size_bytes" doc:"Its size in bytes, uncompressed."`
	Path string `json:"path" doc:"The path of the API to download it." example:"/v1/exports/1/files/pages.csv"`
}

// exportView is an export as the API shows it.
func exportView(e *export.Export) Export {
	v := Export{ID: e.ID, Job: e.Job, Formats: e.Formats, State: e.State, URLs: e.URLs, Files: e.Files, Error: e.Error, CreatedAt: e.CreatedAt, EndedAt: e.EndedAt}
	names, sizes := e.Downloads()
	for i, name := range names {
		v.Downloads = append(v.Downloads, Download{name, sizes[i], v.location() + "/files/" + name})
	}
	return v
}

// ExportList is the exports of a job, newest first.
type ExportList struct {
	Exports []Export `json:"exports" nullable:"false"`
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
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-exports", Method: http.MethodGet, Path: "/v1/jobs/{job}/exports", Tags: tags, Summary: "List the exports of a job, newest first",
		Description: fmt.Sprintf("At most %d, as long as their status is kept: one day after an export ends, one week if it failed.", export.MaxListed),
	}, a.listExports, NotFound)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "download-export", Method: http.MethodGet, Path: "/v1/exports/{export}/files/{file}", Tags: tags, Summary: "Download a file of an export",
		Description: "Supports Range and conditional requests, so that an interrupted download can be continued. A request without Range that accepts gzip gets the file compressed (Content-Encoding: gzip), unless its format is compressed already.",
		Responses:   map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{octets: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}},
	}, a.downloadExport, NotFound)
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
	return exportView(&e), err
}

// OneExport names an export in a path.
type OneExport struct {
	Export int64 `path:"export" minimum:"1" doc:"The id of the export." example:"1"`
}

// getExport shows an export of the caller's tenant.
func (a *API) getExport(ctx context.Context, in *OneExport) (*struct{ Body Export }, error) {
	e, _, err := a.findExport(ctx, in.Export)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Export }{exportView(&e)}, nil
}

// findExport reads an export of the caller's tenant, which is that of its job.
func (a *API) findExport(ctx context.Context, id int64) (export.Export, store.Job, error) {
	missing := problem(NotFound, fmt.Sprintf("export not found: %d", id), "create one with POST /v1/jobs/{job}/exports")
	e, err := a.chores.ExportOf(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return e, store.Job{}, missing
	}
	if err != nil {
		return e, store.Job{}, err
	}
	j, err := a.store.Job(ctx, e.Job)
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Tenant != callerOf(ctx).tenant() {
		return e, j, missing
	}
	return e, j, err
}

func (a *API) listExports(ctx context.Context, in *OneJob) (*struct{ Body ExportList }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	list, err := a.chores.Exports(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body ExportList }{ExportList{[]Export{}}}
	for i := range list {
		out.Body.Exports = append(out.Body.Exports, exportView(&list[i]))
	}
	return out, nil
}

// downloadInput names a file of an export.
type downloadInput struct {
	OneExport
	File string `path:"file" minLength:"1" maxLength:"255" doc:"The name of the file." example:"pages.csv"`
}

// downloadTime bounds a download.
const downloadTime = time.Hour

// octets is the media type of all downloads: a browser saves them and guesses nothing.
const octets = "application/octet-stream"

func (a *API) downloadExport(ctx context.Context, in *downloadInput) (*huma.StreamResponse, error) {
	e, j, err := a.findExport(ctx, in.Export)
	if err != nil {
		return nil, err
	}
	missing := problem(NotFound, fmt.Sprintf("export %d has no file %s to download", in.Export, in.File), "see downloads in GET "+exportView(&e).location()+", once it is done")
	if names, _ := e.Downloads(); !slices.Contains(names, in.File) {
		return nil, missing
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	f, err := a.chores.OpenExport(ctx, &j, in.File)
	if err != nil {
		cancel()
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, export.ErrNoPlace) {
			return nil, missing
		}
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer func() {
			defer cancel()
			if err := f.Close(); err != nil {
				a.log.WarnContext(ctx, "cannot close an exported file", "export", e.ID, "file", in.File, "err", err)
			}
		}()
		r, w := humago.Unwrap(h)
		send(w, r, f, in.File)
	}}, nil
}

// send sends a file, or the requested parts of it. Only a whole file is compressed: a range
// counts bytes of the file itself.
func send(w http.ResponseWriter, r *http.Request, f *export.File, name string) {
	h := w.Header()
	h.Set("Content-Type", octets)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Vary", "Accept-Encoding")
	from := &patientReader{f, http.NewResponseController(w)}
	if r.Header.Get("Range") != "" || !acceptsGzip(r.Header.Get("Accept-Encoding")) || compressed(name) {
		h.Set("ETag", f.ETag)
		http.ServeContent(w, r, "", f.ModifiedAt, from)
		return
	}
	h.Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, err := io.Copy(z, from)
	if err = errors.Join(err, z.Close()); err != nil {
		panic(http.ErrAbortHandler) // the client must not take it for complete
	}
}

// patientReader gives the client time to read each part of a file.
type patientReader struct {
	io.ReadSeeker
	control *http.ResponseController
}

// Read implements [io.Reader].
func (p *patientReader) Read(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(exportWriteTime)); err != nil {
		return 0, err
	}
	return p.ReadSeeker.Read(b)
}

// compressed reports whether a file is compressed already.
func compressed(name string) bool {
	return strings.HasSuffix(name, ".parquet") || strings.HasSuffix(name, ".gz")
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		coding, q, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
			return q == "" || err == nil && weight > 0
		}
	}
	return false
}
