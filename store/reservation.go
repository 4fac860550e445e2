package store

import (
	"fmt"

	"headway/job"
)

// Reservation reserves requests of a job, so that the request limit is exact over any number
// of workers: each request needs one before it is sent. What is reserved counts as sent,
// whatever happens to the worker, unless a [Return] gives it back: a worker that died may have
// sent it. It is not idempotent: after an error the requests may have been reserved.
type Reservation struct {
	Worker WorkerID
	Job    job.ID
	Max    int64 // the request limit
	N      int   // how many are wanted; with 0 the use is read
}

// Reserved is the result of a Reservation.
type Reserved struct {
	// N is how many requests may be sent: up to as many as wanted, and one at a time once
	// fewer than SingleTokens are left. A job that has ended gives none.
	N int
	// Requests is how many are used now, sent or reserved. It begins with those of the time
	// series, for a job that had no request limit before.
	Requests int64
}

// Check reports an invalid reservation. An engine calls it first.
func (r *Reservation) Check() error {
	if r.Max < 0 || r.N < 0 {
		return fmt.Errorf("reserve %d requests of job %d: a limit of %d", r.N, r.Job, r.Max)
	}
	return nil
}
