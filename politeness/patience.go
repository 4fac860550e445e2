package politeness

import "time"

// Tenure is what one job knows about one host: since when it has wanted URLs there, and how
// many failures in a row it has seen. The host's [State] is shared by all jobs; giving up on
// a host is not.
type Tenure struct {
	since  int64
	failed uint8
}

// NewTenure starts when a job's first URL of the host is ready to be fetched.
func NewTenure(now time.Time) Tenure { return Tenure{since: now.UnixMilli()} }

// Observe counts an answer to a request of the job.
func (t Tenure) Observe(e Effect) Tenure {
	switch {
	case e.failed:
		t.failed += min(1, ^t.failed) // saturates
	case e.clean:
		t.failed = 0
	}
	return t
}

// Until is when the job's patience ends, counted from since or from when it first wanted the host.
func (t Tenure) Until(since time.Time, patience time.Duration) time.Time {
	return instant(max(since.UnixMilli(), t.since) + ceilMillis(patience))
}

// Parking says whether a job gives up on a host, and why.
type Parking uint8

// The verdicts.
const (
	NotParked        Parking = iota
	ParkedByFailures         // Policy.FailureThreshold failures in a row: its URLs end failed
	ParkedByPatience         // the wait exceeds the job's patience: its URLs end deferred
)

// Park decides whether the job still waits for the host. Patience counts from when the host
// was first held or failing, or from when the job first wanted it if that was later. A hold
// that ends after it is not waited for at all, since nothing can be tried sooner. An
// operator's pause is waited out.
func (p Policy) Park(s State, t Tenure, now time.Time, patience time.Duration) Parking {
	if int(t.failed) >= p.FailureThreshold {
		return ParkedByFailures
	}
	if s.stuckSince == 0 || s.flags.has(paused) {
		return NotParked
	}
	deadline := max(s.stuckSince, t.since) + ceilMillis(patience)
	if max(now.UnixMilli(), s.holdUntil, s.failUntil) > deadline {
		return ParkedByPatience
	}
	return NotParked
}
