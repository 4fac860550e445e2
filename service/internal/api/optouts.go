package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/service/orders"
	"headway/store"
)

// OptOutRequest names a host or domain that is not to be crawled.
type OptOutRequest struct {
	Host string `json:"host" minLength:"1" maxLength:"300" doc:"A domain name; it covers all its subdomains. Of a host or URL, only the name is used." example:"example.com"`
}

// OptOut is a host or domain that is not crawled.
type OptOut struct {
	ID        string    `json:"id" doc:"The domain name, as needed to remove the opt-out."`
	Host      string    `json:"host" doc:"The domain name; it covers all its subdomains."`
	CreatedAt time.Time `json:"created_at"`
	By        string    `json:"by" doc:"Who added it."`
}

// OptOutList is a page of the list, by name.
type OptOutList struct {
	OptOuts    []OptOut `json:"opt_outs" nullable:"false"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

func (a *API) registerOptOuts() {
	tags, path := []string{"opt-outs"}, "/v1/opt-outs"
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "list-opt-outs", Method: http.MethodGet, Path: path, Tags: tags, Summary: "List the opt-outs: hosts and domains that must not be crawled",
	}, a.listOptOuts)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "add-opt-out", Method: http.MethodPost, Path: path, Tags: tags, Summary: "Add an opt-out: never crawl a host or domain, for any job",
		Description: fmt.Sprintf("Within moments of the response, running workers send no further requests there, not even for robots.txt; pending URLs there end as skipped: opted_out. The request can be repeated without an Idempotency-Key: a name already on the list is unchanged and gets the same response. The maximum is %d opt-outs.", store.MaxOptOuts),
	}, a.addOptOut, TooManyObjects)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "drop-opt-out", Method: http.MethodDelete, Path: path, Tags: tags, Summary: "Remove an opt-out",
		Description: "URLs that were skipped stay skipped; jobs created from now on may crawl the host again. Repeating the request changes nothing and returns 404.",
	}, a.dropOptOut, NotFound)
}

func (a *API) listOptOuts(ctx context.Context, in *Paging) (*struct{ Body OptOutList }, error) {
	list := listName("opt-outs")
	after, err := a.openCursor(list, in.Cursor)
	if err != nil {
		return nil, err
	}
	found, err := a.store.OptOuts(ctx, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body OptOutList }{OptOutList{OptOuts: []OptOut{}}}
	for i, o := range found {
		if i == in.Limit {
			out.Body.NextCursor = a.sealCursor(list, found[i-1].Name)
			break
		}
		out.Body.OptOuts = append(out.Body.OptOuts, OptOut{o.Name, o.Name, o.At, o.By})
	}
	return out, nil
}

func (a *API) addOptOut(ctx context.Context, in *struct{ Body OptOutRequest }) (*struct{ Body OptOut }, error) {
	u, err := namedHost(in.Body.Host)
	if err != nil {
		return nil, err
	}
	o, err := orders.OptOut(ctx, a.store, callerOf(ctx).name(), u.Hostname())
	if errors.Is(err, store.ErrConflict) {
		return nil, problem(TooManyObjects, fmt.Sprintf("maximum of %d opt-outs reached", store.MaxOptOuts), "list a domain instead of its hosts")
	}
	if err != nil {
		return nil, err
	}
	return &struct{ Body OptOut }{OptOut{o.Name, o.Name, o.At, o.By}}, nil
}

// dropOptOutInput names an entry of the list.
type dropOptOutInput struct {
	Host string `query:"host" required:"true" minLength:"1" maxLength:"300" doc:"The name exactly as listed." example:"example.com"`
}

func (a *API) dropOptOut(ctx context.Context, in *dropOptOutInput) (*struct{}, error) {
	u, err := namedHost(in.Host)
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	err = orders.OptIn(ctx, a.store, callerOf(ctx).name(), name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(NotFound, "opt-out not found: "+name, "list the opt-outs with GET /v1/opt-outs; a parent domain may cover it")
	}
	return nil, err
}
