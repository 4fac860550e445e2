package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/limit"
)

// Tenants is an optional interface of stores that many workers share: tenants, their
// plans and usage. A job whose tenant is not stored has no plan and no usage.
//
// Pages and bytes are counted in the commits that record them, so usage is what was
// recorded, whatever happens to workers: pages as page limits count them, and body bytes
// as transferred, of every attempt at a page.
type Tenants interface {
	// SetPlan stores a plan and replaces one of the same name. Admitted jobs keep the
	// limits they were admitted with.
	SetPlan(ctx context.Context, p Plan) error
	// Plans returns the plans, by name.
	Plans(ctx context.Context) ([]Plan, error)
	// SetTenant stores a tenant and replaces one of the same name. ErrNotFound: there is
	// no such plan.
	SetTenant(ctx context.Context, t Tenant) error
	// Tenants returns those of the named tenants that exist, or all, by name.
	Tenants(ctx context.Context, names ...string) ([]Tenant, error)
	// Usage returns what the named tenants used in a month, or all, by name, without
	// those that used nothing.
	Usage(ctx context.Context, m Month, names ...string) ([]Usage, error)
}

// Plan is the limits of tenants.
type Plan struct {
	Name   string
	Limits limit.Limits // of a crawl; ConcurrentCrawls is for the whole tenant
	// Per month; 0 means no limit.
	MonthPages, MonthBytes int64
}

// Check reports why a plan is invalid.
func (p *Plan) Check() error {
	if p.Name == "" {
		return errors.New("plan without a name")
	}
	for _, n := range limit.Names {
		if p.Limits.Of(n) < 0 {
			return fmt.Errorf("plan %q: negative %s", p.Name, n)
		}
	}
	if p.MonthPages < 0 || p.MonthBytes < 0 {
		return fmt.Errorf("plan %q: negative quota", p.Name)
	}
	return nil
}

// Tenant is a customer of the service, who owns jobs.
type Tenant struct {
	Name string
	Plan string // empty for none
}

// Check reports why a tenant is invalid. The empty name is not a tenant: it means jobs
// without one.
func (t *Tenant) Check() error {
	if t.Name == "" {
		return errors.New("tenant without a name")
	}
	return nil
}

// Usage is what a tenant used in a month.
type Usage struct {
	Tenant       string
	Month        Month
	Pages, Bytes int64
}

// Month is a calendar month in UTC: 202611 is November 2026.
type Month int32

// MonthOf returns the month of a time.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// String formats the month as in 2026-11.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m/100, m%100) }

// End returns when the month ends: the first instant of the next one.
func (m Month) End() time.Time {
	return time.Date(int(m/100), time.Month(m%100)+1, 1, 0, 0, 0, 0, time.UTC)
}

// ParseMonth parses what [Month.String] writes.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil {
		return 0, fmt.Errorf("invalid month %q", s)
	}
	return MonthOf(t), nil
}
