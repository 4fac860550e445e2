// Package job names a requested crawl and the states of its life.
//
// A job is what somebody asked for: seeds, scope, limits. Each run of it has an
// [ID], which every URL it sees carries, so that two jobs, or two runs of one,
// never share what they have seen, while they do share what was learned of a
// host. Limits and the keeping of jobs are the business of other packages; here
// are only the words and which state may follow which.
package job

import (
	"fmt"
	"slices"
)

// ID is one run of a job. It is a small number because every stored URL
// carries one; the zero ID is no job.
type ID int64

// State is where a job stands in its life.
type State string

// The states. A job that has ended never changes again, except that a partial
// one may be extended, and that URLs of one that was not cancelled may be asked
// again.
const (
	Queued    State = "queued"    // waits for a place among the running
	Running   State = "running"   //
	Paused    State = "paused"    // starts no request, keeps its place
	Draining  State = "draining"  // finishes what is in flight, starts nothing
	Complete  State = "complete"  // no URL of it waits anywhere
	Partial   State = "partial"   // stopped by a limit with work left
	Blocked   State = "blocked"   // robots or challenges forbid everything
	Cancelled State = "cancelled" // stopped on request
	Failed    State = "failed"    // every host of it is parked, or the work could not be done
)

// States lists the closed set in the order of a life.
var States = []State{Queued, Running, Paused, Draining, Complete, Partial, Blocked, Cancelled, Failed}

// next says which state may follow which.
var next = map[State][]State{
	Queued:   {Running, Cancelled, Failed},
	Running:  {Paused, Draining, Complete, Partial, Blocked, Cancelled, Failed},
	Paused:   {Running, Draining, Cancelled, Partial},
	Draining: {Complete, Partial, Cancelled, Failed},
	Partial:  {Queued}, // extended, or asked again
	Complete: {Queued}, // asked again
	Blocked:  {Queued}, // asked again
	Failed:   {Queued}, // asked again
}

// Ended tells whether the life of the job is over.
func (s State) Ended() bool {
	switch s {
	case Complete, Partial, Blocked, Cancelled, Failed:
		return true
	default:
		return false
	}
}

// Success is what the API and the summary call success: everything but
// timeout, blocked, failed and cancelled. A crawl that ran into its timeout is
// partial and must say so itself.
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
