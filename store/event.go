package store

import (
	"context"
	"time"

	"headway/job"
)

// Events is a further ability of stores behind a service: what happened, in an
// order that never changes, for those who follow it.
//
// An event is stored with the change that it tells of, in one transaction: there
// is never one without the other. It is numbered when it is first read. Whoever
// has read up to a number has missed none below it, and goes on there, however
// long it was away within EventLife.
type Events interface {
	// Events returns events in order, from the first after q.After.
	Events(ctx context.Context, now time.Time, q EventQuery) ([]Event, error)
	// LastEvent is the number of the latest event, 0 before the first.
	LastEvent(ctx context.Context, now time.Time) (EventNumber, error)
	// AwaitEvents calls look once it listens and then whenever there may be new
	// events, until ctx ends or its connection is lost. As with [Fleet.Await], a
	// notice is only a reason to look sooner.
	AwaitEvents(ctx context.Context, look func()) error
}

// Bounds of events.
const (
	EventLife = 30 * 24 * time.Hour
	MaxEvents = 1000 // returned at a time
)

// EventNumber is the place of an event among all. It only grows.
type EventNumber int64

// EventKind is what an event tells of. Those of jobs are "job." and the state the
// job came into, or one of the words below.
type EventKind string

// The kinds that are no state.
const (
	JobCreated   EventKind = "job.created"
	JobExtended  EventKind = "job.extended"
	LimitNear    EventKind = "limit.near"    // a mark of a limit was passed, see [Notice]
	LimitReached EventKind = "limit.reached" // a limit stopped the job
)

// EventKinds lists the closed set.
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

// EventQuery asks for events.
type EventQuery struct {
	All    bool   // of all tenants
	Tenant string // else of this one
	Job    job.ID // and this job; 0 for all
	After  EventNumber
	Max    int // at most MaxEvents
}
