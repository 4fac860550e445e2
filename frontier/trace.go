package frontier

import (
	"time"

	"headway/politeness"
)

// Trace watches a schedule: tests hold what it says against what servers saw,
// and whoever measures counts by it. Its functions are called by the goroutine
// the Frontier belongs to and must not call back; nil ones are not called.
type Trace struct {
	// Taken is called when a request is handed out, with what its host was
	// promised at that moment.
	Taken func(now time.Time, r Request, p Promise)
	// Settled is called for each answer, with what it did to its host.
	Settled func(now time.Time, r Request, e politeness.Effect)
	// Moved is called when a host changes what it does, with the time at which the
	// account books that: it never goes back.
	Moved func(now time.Time, host string, from, to State)
}

// Promise is what a request keeps to.
type Promise struct {
	Base      time.Duration // the least pace that the host's jobs and its robots.txt allow
	Pace      time.Duration // since the last request to the host
	HeldUntil time.Time     // before which it is not asked
	Cap       int           // requests under way at the host, this one included
	Domain    time.Duration // since the last request to any host of its domain
	Address   time.Duration // since the last request to its address, as far as that is known
}

// promise is what the host is promised now.
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
