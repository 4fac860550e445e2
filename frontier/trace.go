package frontier

import (
	"time"

	"headway/politeness"
)

// Trace observes a schedule, for tests and measurements. Its functions are called by
// the goroutine that owns the Frontier and must not call back; nil ones are not called.
type Trace struct {
	// Taken is called when a request is handed out, with the limits that applied at
	// that time.
	Taken func(now time.Time, r Request, p Promise)
	// Settled is called for each answer, with its effect on the host.
	Settled func(now time.Time, r Request, e politeness.Effect)
	// Moved is called when a host changes its state, with the time used by the account,
	// which never goes back.
	Moved func(now time.Time, host string, from, to State)
}

// Promise is the limits that a request must keep.
type Promise struct {
	Base      time.Duration // the shortest pace that the host's jobs and its robots.txt allow
	Pace      time.Duration // since the last request to the host
	HeldUntil time.Time     // no request before this
	Cap       int           // requests in flight to the host, including this one
	Domain    time.Duration // since the last request to any host of its domain
	Address   time.Duration // since the last request to its address, if it is known
}

// promise returns the limits that apply to the host now.
func (f *Frontier) promise(h *host) Promise {
	p := Promise{
		Base: max(h.policy.Base, h.state.CrawlDelay()), Pace: h.policy.Pace(h.state), HeldUntil: h.state.HeldUntil(),
		Cap: h.policy.Cap(h.state), Domain: f.gap(h),
	}
	if a := h.address; a != nil {
		p.Address = h.policy.AddressGap(a.hosts, a.hosts+a.others)
	}
	return p
}
