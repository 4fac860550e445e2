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
	Host string `json:"host" minLength:"1" maxLength:"300" doc:"A name, which stands for itself and all names below it; a host or URL stands for its name." example:"example.com"`
}

// OptOut is a host or domain that is not crawled.
type OptOut struct {
	Host string    `json:"host" doc:"The name, which stands for itself and all names below it."`
	At   time.Time `json:"at" doc:"When it was put on the list."`
	By   string    `json:"by" doc:"Who put it there."`
}

// OptOutList is a page of the list, by name.
type OptOutList struct {
	OptOuts    []OptOut `json:"opt_outs" nullable:"false"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; missing after the last."`
}

func (a *API) registerOptOuts() {
	tags, path := []string{"opt-outs"}, "/v1/opt-outs"
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "list-opt-outs", Method: http.MethodGet, Path: path, Tags: tags, Summary: "List the hosts and domains that asked not to be crawled",
	}, a.listOptOuts)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "add-opt-out", Method: http.MethodPost, Path: path, Tags: tags, Summary: "Never crawl a host or domain, for any job",
		Description: fmt.Sprintf("Workers that run begin no request there from a moment after the answer on, not even for robots.txt; what waits there ends as skipped: opted_out. A name that is on the list stays as it is, so the request may be sent again: it has the same answer, changes nothing and needs no Idempotency-Key. There are at most %d.", store.MaxOptOuts),
	}, a.addOptOut, http.StatusConflict)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "drop-opt-out", Method: http.MethodDelete, Path: path, Tags: tags, Summary: "Take a name off the list",
		Description: "What was skipped stays so; jobs that are asked for from now on may go there. Sent again it changes nothing, and is answered with 404.",
	}, a.dropOptOut, http.StatusNotFound)
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
		out.Body.OptOuts = append(out.Body.OptOuts, OptOut{o.Name, o.At, o.By})
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
		return nil, problem(http.StatusConflict, fmt.Sprintf("there are %d opt-outs already", store.MaxOptOuts), "put domains on the list in place of their hosts")
	}
	if err != nil {
		return nil, err
	}
	return &struct{ Body OptOut }{OptOut{o.Name, o.At, o.By}}, nil
}

// dropOptOutInput names an entry of the list.
type dropOptOutInput struct {
	Host string `query:"host" required:"true" minLength:"1" maxLength:"300" doc:"The name, as the list has it." example:"example.com"`
}

func (a *API) dropOptOut(ctx context.Context, in *dropOptOutInput) (*struct{}, error) {
	u, err := namedHost(in.Host)
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	err = orders.OptIn(ctx, a.store, callerOf(ctx).name(), name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, name+" is not on the list", "GET /v1/opt-outs lists the names; one that is above it may speak for it")
	}
	return nil, err
}
