package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/limit"
)

// Tenants is a further ability of stores that many workers share: who may ask for
// how much. A job whose tenant is not among them has no plan and no usage.
//
// Pages and bytes are counted in the commits that bring them, so that what was
// used is what was recorded, whatever becomes of workers: pages as page limits
// count them, bytes of bodies as sent, of every attempt at a page.
type Tenants interface {
	// SetPlan stores a plan, in place of one of the same name. Jobs that have a
	// place keep the limits they got with it.
	SetPlan(ctx context.Context, p Plan) error
	// Plans returns the plans, by name.
	Plans(ctx context.Context) ([]Plan, error)
	// SetTenant stores a tenant, in place of one of the same name. ErrNotFound:
	// there is no such plan.
	SetTenant(ctx context.Context, t Tenant) error
	// Tenants returns the tenants, by name.
	Tenants(ctx context.Context) ([]Tenant, error)
	// Usage returns what tenants used in a month, by name; those that used
	// nothing are left out.
	Usage(ctx context.Context, m Month) ([]Usage, error)
}

// Plan is what tenants may ask for.
type Plan struct {
	Name   string
	Limits limit.Limits // of a crawl; ConcurrentCrawls are of the tenant
	// In a month; 0 is no limit.
	MonthPages, MonthBytes int64
}

// Check reports what makes a plan impossible to store.
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

// Tenant is somebody who asks for jobs.
type Tenant struct {
	Name string
	Plan string // empty for none
}

// Check reports what makes a tenant impossible to store. Jobs without a tenant are
// nobody's.
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

// Month is a month of the calendar, in UTC: 202611 is November 2026.
type Month int32

// MonthOf returns the month of an instant.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// String is the month as in 2026-11.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m/100, m%100) }

// ParseMonth reads what [Month.String] writes.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil {
		return 0, fmt.Errorf("invalid month %q", s)
	}
	return MonthOf(t), nil
}
