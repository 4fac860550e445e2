package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"headway/answer"
	"headway/store"
	"headway/visit"
)

// maxLooked is how many URLs are read for one page of a list. A filter that
// matches few gives short pages.
const maxLooked = 10_000

// exportWriteTime is how long a client may take to read a part of an export.
const exportWriteTime = 30 * time.Second

// ndjson is the type of lines of JSON.
const ndjson = "application/x-ndjson"

// PageFilter selects the URLs to list.
type PageFilter struct {
	Outcome visit.Outcome `query:"outcome" doc:"Only URLs with this outcome; pending selects those still waiting."`
	Reason  visit.Reason  `query:"reason" doc:"Only URLs skipped or failed for this reason."`
	Host    string        `query:"host" maxLength:"300" doc:"Only URLs of this host, such as https://example.com; include the port if it is not the default of the scheme."`
	Prefix  string        `query:"prefix" maxLength:"2048" doc:"Only URLs that begin with this: a URL, or a path starting with a slash."`
	Status  int           `query:"status" minimum:"100" maximum:"999" doc:"Only URLs with this HTTP status."`
}

// PageList is a page of the URLs of a job, in storage order.
type PageList struct {
	Pages      []answer.URLRow `json:"pages" nullable:"false"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page. A page can be short or empty and still have a next page."`
}

func (a *API) registerPages() {
	tags := []string{"pages"}
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-pages", Method: http.MethodGet, Path: "/v1/jobs/{job}/pages", Tags: tags, Summary: "List the URLs of a job with their outcomes",
		Description: "Every URL the job has seen is listed once, except URLs out of scope, which are kept only as counts.",
	}, a.listPages, NotFound)
	export := huma.Operation{
		OperationID: "export-pages", Method: http.MethodGet, Path: "/v1/jobs/{job}/export", Tags: tags, Summary: "Stream all URLs of a job as JSON lines",
		Description: "One object per line, as in the list of pages. A truncated stream ends without a final line feed.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			ndjson: {Schema: &huma.Schema{Type: huma.TypeString, Description: "JSON lines."}},
		}}},
	}
	register(a, store.ScopeRead, export, a.exportPages, NotFound)
}

// pagesInput selects URLs.
type pagesInput struct {
	OneJob
	PageFilter
	Paging
}

// query checks a filter.
func (f *PageFilter) query() (*answer.URLQuery, error) {
	q := &answer.URLQuery{Outcome: f.Outcome, Reason: f.Reason, Prefix: f.Prefix, Status: f.Status}
	if err := q.Check(); err != nil {
		return nil, problem(InvalidValue, err.Error(), "docs/reference/outcomes.md lists the outcomes and their reasons")
	}
	return q, checkHost(f.Host)
}

func (a *API) listPages(ctx context.Context, in *pagesInput) (*struct{ Body PageList }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	which, err := in.query()
	if err != nil {
		return nil, err
	}
	f := &in.PageFilter
	list := listName("pages", j.Tenant, strconv.FormatInt(in.Job, 10), string(f.Outcome), string(f.Reason), f.Host, f.Prefix, strconv.Itoa(f.Status))
	place, err := a.openCursor(list, in.Cursor)
	if err != nil {
		return nil, err
	}
	q := which.Of(j.ID, f.Host, in.Limit)
	q.After = store.Cursor(place)
	out := &struct{ Body PageList }{PageList{Pages: []answer.URLRow{}}}
	for looked := 0; looked < maxLooked; {
		page, rows, err := a.matching(ctx, q, which, in.Limit-len(out.Body.Pages))
		if err != nil {
			return nil, err
		}
		out.Body.Pages = append(out.Body.Pages, rows...)
		looked += len(page.Entries)
		if q.After = page.Next; len(out.Body.Pages) == in.Limit || q.After == "" {
			break
		}
		q.Max = min(4*q.Max, maxPage) // few match: read more at a time
	}
	out.Body.NextCursor = a.sealCursor(list, string(q.After))
	return out, nil
}

// matching reads a page of the store and returns the rows that match a filter, at most
// a number. If more match, it reads a shorter page, so that the cursor skips no row.
func (a *API) matching(ctx context.Context, q store.Query, which *answer.URLQuery, most int) (page store.Page, rows []answer.URLRow, err error) {
	for {
		if page, err = a.store.List(ctx, q); err != nil {
			return page, nil, err
		}
		rows, q.Max = rows[:0], 0
		for i := range page.Entries {
			if e := &page.Entries[i]; which.Match(e) {
				if len(rows) == most {
					q.Max = i // up to here there was room
					break
				}
				rows = append(rows, answer.NewURLRow(e))
			}
		}
		if q.Max == 0 {
			return page, rows, nil
		}
	}
}

// exportInput selects all URLs.
type exportInput struct {
	OneJob
	PageFilter
}

func (a *API) exportPages(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	which, err := in.query()
	if err != nil {
		return nil, err
	}
	q := which.Of(j.ID, in.Host, maxPage)
	first, err := a.store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		_, w := humago.Unwrap(h)
		w.Header().Set("Content-Type", ndjson)
		if err := a.stream(ctx, w, which, q, first); err != nil && !isGone(err) {
			a.log.WarnContext(ctx, "export stream aborted", "job", j.ID, "err", err)
			panic(http.ErrAbortHandler) // the client must not take it for complete
		}
	}}, nil
}

// stream writes the URLs of a query, whose first page was read.
func (a *API) stream(ctx context.Context, w http.ResponseWriter, which *answer.URLQuery, q store.Query, page store.Page) error {
	control := http.NewResponseController(w)
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for {
		if err := control.SetWriteDeadline(time.Now().Add(exportWriteTime)); err != nil {
			return err
		}
		for i := range page.Entries {
			if e := &page.Entries[i]; which.Match(e) {
				if err := enc.Encode(answer.NewURLRow(e)); err != nil {
					return err
				}
			}
		}
		if q.After = page.Next; q.After == "" {
			return out.Flush()
		}
		var err error
		if page, err = a.store.List(ctx, q); err != nil {
			return err
		}
	}
}
