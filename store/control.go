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
	// Orders returns orders with a number above after, by number, not more than
	// most.
	Orders(ctx context.Context, after int64, most int) ([]Order, error)
	// HostOrders returns the latest orders about a host, oldest first, not more
	// than most.
	HostOrders(ctx context.Context, host string, most int) ([]Order, error)
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
	Before string
	After  string
}
