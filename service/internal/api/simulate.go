package api

import (
	"context"
	"time"

	"headway/answer"
	"headway/limit"
	"headway/store"
)

// LimitWish is the limits that a job would request, and its tenant.
type LimitWish struct {
	Preset string       `json:"preset,omitempty" enum:"polite,audit,warm,map,owned" doc:"Some presets set limits."`
	Limits limit.Fields `json:"limits,omitempty" doc:"As in POST /v1/jobs."`
	Tenant *string      `json:"tenant,omitempty" maxLength:"200" doc:"Simulate for this tenant instead of your own. Operators only."`
	Plan   string       `json:"plan,omitempty" maxLength:"200" doc:"Simulate with this plan instead of the tenant's. Operators only."`
}

// SimulatedLimits is the limits a job would get.
type SimulatedLimits struct {
	Tenant   string              `json:"tenant,omitempty"`
	Plan     string              `json:"plan,omitempty" doc:"The plan used; absent if there is none."`
	Ceilings []answer.Ceiling    `json:"ceilings" nullable:"false" doc:"The limits that would be in force."`
	Errors   []answer.LimitError `json:"errors" nullable:"false" doc:"What would keep the job from starting."`
}

func (a *API) simulateLimits(ctx context.Context, in *struct{ Body LimitWish }) (*struct{ Body SimulatedLimits }, error) {
	wish, c := &in.Body, callerOf(ctx)
	if (wish.Tenant != nil || wish.Plan != "") && !c.key.Opens(store.ScopeOperator) {
		return nil, newProblem(OperatorOnly, "simulating for another tenant or plan needs a key with the scope operator")
	}
	request := JobRequest{JobSettings: JobSettings{Preset: wish.Preset}, Limits: wish.Limits}
	set, err := a.readSettings(request.spec().Settings)
	if err != nil {
		return nil, err
	}
	tenant := c.tenant()
	if wish.Tenant != nil {
		tenant = *wish.Tenant
		if err := a.mustKnow(ctx, tenant); err != nil {
			return nil, err
		}
	}
	plan, around, err := a.surroundings(ctx, tenant, wish.Plan)
	if err != nil {
		return nil, err
	}
	fleet, err := a.store.FleetSettings(ctx)
	if err != nil {
		return nil, err
	}
	around.Safety = fleet.Safety
	l := answer.SimulateLimits(around, set.Limits)
	return &struct{ Body SimulatedLimits }{SimulatedLimits{Tenant: tenant, Plan: plan, Ceilings: l.Ceilings, Errors: l.Errors}}, nil
}

// mustKnow refuses a tenant that does not exist.
func (a *API) mustKnow(ctx context.Context, tenant string) error {
	if tenant == "" {
		return nil
	}
	known, err := a.store.Tenants(ctx, tenant)
	if err == nil && len(known) == 0 {
		err = newProblem(UnknownTenant, "tenant not found: "+tenant)
	}
	return err
}

// surroundings are the plan and the usage of a tenant, under its own plan or, where
// one is named, another.
func (a *API) surroundings(ctx context.Context, tenant, plan string) (string, store.Surroundings, error) {
	used, err := a.usageOf(ctx, tenant, store.MonthOf(time.Now()))
	if err != nil {
		return "", store.Surroundings{}, err
	}
	named := plan != ""
	if !named {
		if plan, err = a.planOf(ctx, tenant); err != nil {
			return "", store.Surroundings{}, err
		}
	}
	plans, err := a.store.Plans(ctx)
	if err != nil {
		return "", store.Surroundings{}, err
	}
	for i := range plans {
		if p := &plans[i]; plan != "" && p.Name == plan {
			quota := limit.Quota{Pages: p.MonthPages, UsedPages: used.Pages, Bytes: p.MonthBytes, UsedBytes: used.Bytes}
			return plan, store.Surroundings{Plan: p.Limits, Quota: quota}, nil
		}
	}
	if named {
		return "", store.Surroundings{}, newProblem(UnknownPlan, "plan not found: "+plan)
	}
	return plan, store.Surroundings{}, nil
}
