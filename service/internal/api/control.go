package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/store"
)

// Order is something that somebody ordered, and what it changed.
type Order struct {
	ID     int64     `json:"id" doc:"Its place in the log. It only grows."`
	At     time.Time `json:"at"`
	By     string    `json:"by" doc:"Who ordered it: a key, or a user of the command line."`
	What   string    `json:"what" doc:"What was ordered."`
	Tenant string    `json:"tenant,omitempty"`
	Job    jobID     `json:"job,omitempty"`
	Host   string    `json:"host,omitempty"`
	Worker int64     `json:"worker,omitempty"`
	Before string    `json:"before,omitempty" doc:"How it stood before."`
	After  string    `json:"after,omitempty" doc:"How it stood after."`
}

// OrderList is orders in the order they were given.
type OrderList struct {
	Orders []Order `json:"orders" nullable:"false"`
	Last   int64   `json:"last" doc:"The number to go on after."`
}

// orderInput asks for a part of the log.
type orderInput struct {
	After int64 `query:"after" minimum:"0" doc:"Only those after this one."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many to return at most."`
}

func (a *API) registerControl() {
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "list-orders", Method: http.MethodGet, Path: "/v1/orders", Tags: []string{"control"}, Summary: "Read the log of orders: who, what, before, after",
		Description: "Orders to hosts and workers, which all tenants share, and to jobs of all tenants.",
	}, func(ctx context.Context, in *orderInput) (*struct{ Body OrderList }, error) {
		list, err := a.store.Orders(ctx, in.After, in.Limit)
		if err != nil {
			return nil, err
		}
		out := &struct{ Body OrderList }{OrderList{Orders: []Order{}, Last: in.After}}
		for i := range list {
			o := &list[i]
			out.Body.Orders = append(out.Body.Orders, Order{o.Number, o.At, o.By, o.What, o.Tenant, o.Job, o.Host, int64(o.Worker), o.Before, o.After})
			out.Body.Last = o.Number
		}
		return out, nil
	})
}

// logOrder logs what the caller ordered of a job, once it is done.
func (a *API) logOrder(ctx context.Context, j *store.Job, what, before, after string) {
	a.logged(ctx, store.Order{What: what, Tenant: j.Tenant, Job: j.ID, Before: before, After: after})
}

// logged logs an order of the caller, once it is done.
func (a *API) logged(ctx context.Context, o store.Order) {
	o.At, o.By = time.Now().UTC(), callerOf(ctx).name()
	if err := a.store.LogOrder(ctx, o); err != nil {
		a.log.ErrorContext(ctx, "order not logged", "order", o.What, "job", o.Job, "host", o.Host, "err", err)
	}
}
