package store

import (
	"context"
	"time"

	"headway/job"
)

// Control is an optional interface of stores that many processes share: the append-only
// log of operators' orders.
type Control interface {
	// LogOrder appends an order that was carried out.
	LogOrder(ctx context.Context, o Order) error
	// HostOrders returns the latest orders about a host, oldest first, up to most.
	HostOrders(ctx context.Context, host string, most int) ([]Order, error)
	// Orders returns orders, by number.
	Orders(ctx context.Context, q OrderQuery) ([]Order, error)
	// Together makes all changes that do makes with its context atomic, such as an order
	// and its entry in the log. Not allowed are changes that take several transactions:
	// extending or dropping a job, and crawl results. Reads in do see the state before
	// the changes. do may be called more than once.
	Together(ctx context.Context, do func(context.Context) error) error
}

// OrderQuery selects orders.
type OrderQuery struct {
	All    bool   // of all tenants, and those without a tenant
	Tenant string // otherwise of this one
	Job    job.ID // and this job; 0 for all
	Host   string // and this host; empty for all
	After  int64  // with numbers above this
	Max    int    // at most MaxPage
}

// Order is a command of an operator and what it changed. Fields that do not apply are
// empty.
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
