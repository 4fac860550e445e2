package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/store"
)

// Usage is what a tenant used in a month, and the quota of its plan.
type Usage struct {
	Month      string `json:"month" doc:"The month, in UTC." example:"2026-11"`
	Plan       string `json:"plan,omitempty" doc:"The plan of the tenant; absent if it has none."`
	Pages      int64  `json:"pages" doc:"Pages used, counted as page limits count them."`
	Bytes      int64  `json:"bytes" doc:"Bytes of response bodies, as transferred."`
	MonthPages int64  `json:"month_pages,omitempty" doc:"Monthly page quota of the plan; absent if unlimited."`
	MonthBytes int64  `json:"month_bytes,omitempty" doc:"Monthly byte quota of the plan; absent if unlimited."`
}

func (a *API) registerLimits() {
	tags := []string{"limits"}
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-job-limits", Method: http.MethodGet, Path: "/v1/jobs/{job}/limits", Tags: tags, Summary: "Get the limits of a job and the layer that set each",
		Description: "The strictest value among the layers safety, plan, usage and job applies. Before a job starts, these are the requested limits.",
	}, func(ctx context.Context, in *OneJob) (*struct{ Body answer.JobLimits }, error) {
		j, err := a.findJob(ctx, in.Job)
		if err != nil {
			return nil, err
		}
		l, err := answer.ReadJobLimits(ctx, a.store, &j)
		return &struct{ Body answer.JobLimits }{l}, err
	}, NotFound)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/v1/usage", Tags: tags, Summary: "Get the usage of a month and the quota of the plan",
	}, a.getUsage)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "simulate-limits", Method: http.MethodPost, Path: "/v1/limits/simulate", Tags: tags, Summary: "Simulate the limits a job would get and the layer that would set each",
		Description: "Uses the same rules as for real jobs, with the remaining quota of this month and the safety limits of the fleet. Nothing is created.",
	}, a.simulateLimits, OperatorOnly, UnknownPlan, UnknownTenant)
}

// usageInput names a month.
type usageInput struct {
	Month string `query:"month" pattern:"^[0-9]{4}-[0-9]{2}$" doc:"Default: the current month, in UTC." example:"2026-11"`
}

func (a *API) getUsage(ctx context.Context, in *usageInput) (*struct{ Body Usage }, error) {
	m := store.MonthOf(time.Now())
	if in.Month != "" {
		var err error
		if m, err = store.ParseMonth(in.Month); err != nil {
			return nil, problem(InvalidValue, err.Error(), "write the month as YYYY-MM, for example 2026-11")
		}
	}
	tenant := callerOf(ctx).tenant()
	out := &struct{ Body Usage }{Usage{Month: m.String()}}
	used, err := a.usageOf(ctx, tenant, m)
	if err != nil {
		return nil, err
	}
	out.Body.Pages, out.Body.Bytes = used.Pages, used.Bytes
	return out, a.addPlan(ctx, tenant, &out.Body)
}

// usageOf is what a tenant used in a month.
func (a *API) usageOf(ctx context.Context, tenant string, m store.Month) (store.Usage, error) {
	list, err := a.store.Usage(ctx, m, tenant)
	if err != nil || len(list) == 0 {
		return store.Usage{Tenant: tenant, Month: m}, err
	}
	return list[0], nil
}

// planOf is the plan of a tenant; empty for none.
func (a *API) planOf(ctx context.Context, tenant string) (string, error) {
	list, err := a.store.Tenants(ctx, tenant)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].Plan, nil
}

// addPlan adds the quota of the tenant's plan.
func (a *API) addPlan(ctx context.Context, tenant string, u *Usage) (err error) {
	if u.Plan, err = a.planOf(ctx, tenant); err != nil {
		return err
	}
	plans, err := a.store.Plans(ctx)
	if err != nil {
		return err
	}
	for i := range plans {
		if u.Plan != "" && plans[i].Name == u.Plan {
			u.MonthPages, u.MonthBytes = plans[i].MonthPages, plans[i].MonthBytes
		}
	}
	return nil
}
