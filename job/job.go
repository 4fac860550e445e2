// Package job defines the identity of a requested crawl and the states of its life cycle.
//
// A job is a requested crawl: seeds, scope, limits. Each run of it has an [ID], which every URL it
// sees carries, so that two jobs, or two runs of one, never share seen URLs, while they do share what
// was learned about a host. Limits and storage of jobs are in other packages; here are only the states
// and which may follow which.
package job

import (
	"fmt"
	"slices"
)

// ID identifies one run of a job. It is a small number because every stored URL carries one; the zero
// ID is no job.
type ID int64

// State is the state of a job.
type State string

// The states. An ended job never changes again, except that a partial one may be extended, and that
// URLs of one that was not cancelled may be fetched again.
const (
	Queued    State = "queued"    // waits to be admitted
	Running   State = "running"   //
	Paused    State = "paused"    // starts no request, keeps its place
	Draining  State = "draining"  // finishes what is in flight, starts nothing
	Complete  State = "complete"  // no URL of it waits
	Partial   State = "partial"   // stopped by a limit with work left
	Blocked   State = "blocked"   // robots or challenges forbid everything
	Cancelled State = "cancelled" // stopped on request
	Failed    State = "failed"    // every host of it is parked, or the job could not run
)

// States lists all states in the order of the life cycle.
var States = []State{Queued, Running, Paused, Draining, Complete, Partial, Blocked, Cancelled, Failed}

// next lists the states that may follow each state.
var next = map[State][]State{
	Queued:   {Running, Cancelled, Failed},
	Running:  {Paused, Draining, Complete, Partial, Blocked, Cancelled, Failed},
	Paused:   {Running, Draining, Cancelled, Partial},
	Draining: {Complete, Partial, Cancelled, Failed},
	Partial:  {Queued}, // extended, or fetched again
	Complete: {Queued}, // fetched again
	Blocked:  {Queued}, // fetched again
	Failed:   {Queued}, // fetched again
}

// Ended reports whether the job has ended.
func (s State) Ended() bool {
	switch s {
	case Complete, Partial, Blocked, Cancelled, Failed:
		return true
	default:
		return false
	}
}

// Success is what the API and the summary call success: everything but timeout, blocked, failed and
// cancelled. A crawl that ran into its timeout is partial, and the caller must report it.
func (s State) Success() bool { return s == Complete || s == Partial }

// Check reports whether a job may go from one state to another.
func Check(from, to State) error {
	if !slices.Contains(States, from) || !slices.Contains(States, to) {
		return fmt.Errorf("invalid job state change from %q to %q", from, to)
	}
	if !slices.Contains(next[from], to) {
		return fmt.Errorf("a job in state %s cannot change to %s", from, to)
	}
	return nil
}
