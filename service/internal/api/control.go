package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/service/orders"
	"headway/store"
)

// Order is an entry of the control log: an order and what it changed.
type Order struct {
	ID        int64     `json:"id" doc:"Position in the log; always increasing."`
	CreatedAt time.Time `json:"created_at"`
	By        string    `json:"by" doc:"Who gave the order: an API key, or a user of the command line."`
	What      string    `json:"what" doc:"The order, such as pause or set-pace."`
	Tenant    string    `json:"tenant,omitempty"`
	Job       jobID     `json:"job,omitempty"`
	Host      string    `json:"host,omitempty"`
	Worker    int64     `json:"worker,omitempty"`
	About     string    `json:"about,omitempty" doc:"The id of any other object it applied to: a webhook, schedule, key or plan."`
	Before    string    `json:"before,omitempty" doc:"The state before the order."`
	After     string    `json:"after,omitempty" doc:"The state after the order."`
}

// OrderList is a page of orders, oldest first.
type OrderList struct {
	Orders     []Order `json:"orders" nullable:"false"`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// orderInput selects a part of the log.
type orderInput struct {
	Paging
	Job  int64  `query:"job" minimum:"1" doc:"Only orders for this job."`
	Host string `query:"host" maxLength:"300" doc:"Only orders for this host. Only operators can read these."`
}

func (a *API) registerControl() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-orders", Method: http.MethodGet, Path: "/v1/orders", Tags: []string{"control"}, Summary: "List the control log: who ordered what, with the state before and after",
		Description: "Lists orders for objects of your tenant, regardless of who gave them. Operators see all orders, including those to hosts and workers, which all tenants share.",
	}, a.listOrders, NotFound)
}

func (a *API) listOrders(ctx context.Context, in *orderInput) (*struct{ Body OrderList }, error) {
	c := callerOf(ctx)
	q := store.OrderQuery{All: c.key.Opens(store.ScopeOperator), Tenant: c.tenant(), Job: jobID(in.Job), Host: in.Host, Max: in.Limit}
	if in.Job != 0 { // a job of another tenant is not found, as everywhere
		if _, err := a.findJob(ctx, in.Job); err != nil {
			return nil, err
		}
	}
	list := listName("orders", q.Tenant, strconv.FormatBool(q.All), strconv.FormatInt(in.Job, 10), in.Host)
	place, err := a.openCursor(list, in.Cursor)
	if err == nil && place != "" {
		q.After, err = strconv.ParseInt(place, 10, 64)
	}
	if err != nil {
		return nil, err
	}
	found, err := a.store.Orders(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body OrderList }{OrderList{Orders: []Order{}}}
	for i := range found {
		o := &found[i]
		out.Body.Orders = append(out.Body.Orders, Order{o.Number, o.At, o.By, o.What, o.Tenant, o.Job, o.Host, int64(o.Worker), o.About, o.Before, o.After})
	}
	if n := len(found); n == in.Limit {
		out.Body.NextCursor = a.sealCursor(list, strconv.FormatInt(found[n-1].Number, 10))
	}
	return out, nil
}

// ordered carries out an order of the caller and logs it with the change.
func (a *API) ordered(ctx context.Context, o store.Order, do func(context.Context) error) error {
	return orders.Do(ctx, a.store, callerOf(ctx).name(), o, do)
}

// orderedJob is [API.ordered] for orders to a job.
func (a *API) orderedJob(ctx context.Context, j *store.Job, what, before, after string, do func(context.Context) error) error {
	return a.ordered(ctx, store.Order{What: what, Tenant: j.Tenant, Job: j.ID, Before: before, After: after}, do)
}
