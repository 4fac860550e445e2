package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/store"
	"headway/weburl"
)

// EvidenceList is a page of URLs with the facts behind what was decided about
// them.
type EvidenceList struct {
	URLs       []answer.Proof `json:"urls" nullable:"false"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

func (a *API) registerEvidence() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-evidence", Method: http.MethodGet, Path: "/v1/jobs/{job}/evidence", Tags: []string{"pages"}, Summary: "List the evidence behind crawl decisions: the matching robots.txt rule and line, SHA-256 of the file, confidence and times",
		Description: "Covers one URL, the URLs of one host, or all, in storage order. Pending URLs have no evidence yet.",
	}, a.listEvidence, NotFound)
}

// evidenceInput selects evidence.
type evidenceInput struct {
	OneJob
	URL  string `query:"url" maxLength:"8192" doc:"Only this URL." example:"https://example.com/cart"`
	Host string `query:"host" maxLength:"300" doc:"Only URLs of this host, such as https://example.com; include the port if it is not the default of the scheme."`
	Paging
}

func (a *API) listEvidence(ctx context.Context, in *evidenceInput) (*struct{ Body EvidenceList }, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body EvidenceList }{EvidenceList{URLs: []answer.Proof{}}}
	if in.URL != "" {
		u, err := weburl.Parse(in.URL)
		if err != nil {
			return nil, badURL(err)
		}
		e, err := a.store.Lookup(ctx, j.ID, u)
		if errors.Is(err, store.ErrNotFound) {
			return out, nil
		}
		if err == nil && (in.Host == "" || in.Host == u.Host()) {
			out.Body.URLs = append(out.Body.URLs, answer.NewProof(&e))
		}
		return out, err
	}
	if err := checkHost(in.Host); err != nil {
		return nil, err
	}
	list := listName("evidence", j.Tenant, strconv.FormatInt(in.Job, 10), in.Host)
	place, err := a.openCursor(list, in.Cursor)
	if err != nil {
		return nil, err
	}
	page, err := a.store.List(ctx, store.Query{Job: j.ID, Host: in.Host, After: store.Cursor(place), Max: in.Limit})
	if err != nil {
		return nil, err
	}
	for i := range page.Entries {
		if e := &page.Entries[i]; e.Visit != nil {
			out.Body.URLs = append(out.Body.URLs, answer.NewProof(e))
		}
	}
	out.Body.NextCursor = a.sealCursor(list, string(page.Next))
	return out, nil
}

// badURL is the problem of an invalid URL.
func badURL(err error) error {
	return problem(InvalidValue, err.Error(), "give an absolute URL, for example https://example.com/page")
}

// checkHost refuses an invalid host; an empty one is fine.
func checkHost(host string) error {
	if host == "" {
		return nil
	}
	if _, err := store.ParseHost(host); err != nil {
		return problem(InvalidValue, err.Error(), "give the host as https://example.com, with the port if it is not the default of the scheme")
	}
	return nil
}
