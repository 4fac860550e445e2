package store

import (
	"context"
	"time"

	"headway/job"
)

// Control is a further ability of stores that many processes share: the log of
// what people ordered. It is only added to.
type Control interface {
	// LogOrder adds an order that was carried out.
	LogOrder(ctx context.Context, o Order) error
	// HostOrders returns the latest orders about a host, oldest first, not more
	// than most.
	HostOrders(ctx context.Context, host string, most int) ([]Order, error)
	// Orders returns orders, by number.
	Orders(ctx context.Context, q OrderQuery) ([]Order, error)
	// Together keeps all changes that do makes with the context it is given, or
	// none of them: an order and its entry in the log. Changes that are several in
	// themselves (extending or dropping a job, what was crawled) must not be among
	// them. What do reads it finds as it was before. It may be called again.
	Together(ctx context.Context, do func(context.Context) error) error
}

// OrderQuery asks for orders.
type OrderQuery struct {
	All    bool   // of all tenants, and those that are of none
	Tenant string // else of this one
	Job    job.ID // and this job; 0 for all
	Host   string // and this host; empty for all
	After  int64  // with larger numbers than this
	Max    int    // at most MaxPage
}

// Order is what a person ordered, and what it changed. What an order is not about
// is empty.
type Order struct {
	Number int64 // given by the store; later orders have larger ones
	At     time.Time
	By     string
	What   string
	Tenant string
	Job    job.ID
	Host   string
	Worker WorkerID
	About  string // the id of something else: a webhook, a schedule, a key, a plan
	Before string
	After  string
}
