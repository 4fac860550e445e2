package store

import (
	"fmt"

	"headway/job"
)

// Reservation reserves requests of a job with a request or byte limit: each request needs one
// before it is sent. So the request limit is exact over any number of workers, and the byte
// limit is exceeded only by responses whose size is not stored yet. What is reserved counts as
// sent, whatever happens to the worker, unless a [Return] gives it back: a worker that died may
// have sent it. It is not idempotent: after an error it may have been applied.
type Reservation struct {
	Worker   WorkerID
	Job      job.ID
	Max      int64 // the request limit; 0: none
	MaxBytes int64 // the byte limit; 0: none
	N        int   // how many requests are wanted; with 0 the use is read
	Bytes    int64 // received since the last reservation, to be added to the use
}

// Reserved is the result of a Reservation.
type Reserved struct {
	// N is how many requests may be sent: up to as many as wanted, and one at a time once
	// fewer than SingleTokens are left; none when the byte limit is reached. A job that has
	// ended gives none.
	N int
	// Use is what is used now. It begins with the sum of the time series, for a job that had
	// no such limit before.
	Use RequestUse
}

// RequestUse is what a job with a request or byte limit has used.
type RequestUse struct {
	Requests int64 // sent or reserved
	Bytes    int64 // received
}

// Check reports an invalid reservation. An engine calls it first.
func (r *Reservation) Check() error {
	if r.Max < 0 || r.MaxBytes < 0 || r.N < 0 || r.Bytes < 0 {
		return fmt.Errorf("reserve %d requests of job %d after %d bytes: limits of %d and %d", r.N, r.Job, r.Bytes, r.Max, r.MaxBytes)
	}
	return nil
}

// Grant is the result for a job with that use. A job that has ended gives no request.
func (r *Reservation) Grant(used RequestUse, ended bool) Reserved {
	used.Bytes += r.Bytes
	got := 0
	switch {
	case ended || r.MaxBytes > 0 && used.Bytes >= r.MaxBytes:
	case r.Max == 0:
		got = r.N
	default:
		got = Grant(r.Max-used.Requests, r.N)
	}
	used.Requests += int64(got)
	return Reserved{N: got, Use: used}
}

// UseOf is the sum of a time series.
func UseOf(points []Point) (u RequestUse) {
	for i := range points {
		u.Requests += points[i].Requests
		u.Bytes += points[i].Bytes
	}
	return u
}
