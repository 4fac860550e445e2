package store

import (
	"context"
	"time"

	"headway/job"
)

// Events is an optional interface of stores behind a service: the sequence of events,
// whose order never changes, for clients that follow it.
//
// An event is stored in the same transaction as the change it describes: there is never
// one without the other. It is numbered when it is first read. A client that has read up
// to a number has missed none below it, and can continue from there within EventLife.
type Events interface {
	// Events returns events in order, starting after q.After.
	Events(ctx context.Context, now time.Time, q EventQuery) ([]Event, error)
	// LastEvent is the number of the latest event; 0 before the first.
	LastEvent(ctx context.Context, now time.Time) (EventNumber, error)
	// AwaitEvents calls look once it listens and then whenever there may be new events,
	// until ctx ends or its connection is lost. As with [Fleet.Await], a notification
	// is only a reason to look sooner.
	AwaitEvents(ctx context.Context, look func()) error
}

// Bounds of events.
const (
	EventLife = 30 * 24 * time.Hour
	MaxEvents = 1000 // returned at a time
)

// EventNumber is the position of an event in the sequence. It only grows.
type EventNumber int64

// EventKind is what an event describes. Those of jobs are "job." followed by the new
// state, or one of the constants below.
type EventKind string

// The kinds that are not states.
const (
	JobCreated   EventKind = "job.created"
	JobExtended  EventKind = "job.extended"
	LimitNear    EventKind = "limit.near"    // a limit is nearly reached, see [Notice]
	LimitReached EventKind = "limit.reached" // a limit stopped the job
)

// EventKinds lists all kinds.
func EventKinds() []EventKind {
	kinds := []EventKind{JobCreated, JobExtended, LimitNear, LimitReached}
	for _, s := range job.States {
		kinds = append(kinds, EventKind("job."+string(s)))
	}
	return kinds
}

// Event is something that happened.
type Event struct {
	Number EventNumber
	At     time.Time
	Tenant string
	Job    job.ID // 0 for none in particular
	Kind   EventKind
	Body   []byte // JSON
}

// EventQuery selects events.
type EventQuery struct {
	All    bool   // of all tenants
	Tenant string // otherwise of this one
	Job    job.ID // and this job; 0 for all
	After  EventNumber
	Max    int // at most MaxEvents
}
