package frontier

import "time"

// A stalled request releases its ordinary place in the worker pool and takes one of a
// separate pool, [Config.Slow]. A host that stalled last time gets a slow place from
// the start: if none is left, only that host waits.

// slowness is the pool of slow places.
type slowness struct {
	use    int
	line   deque // hosts that wait for a place
	waited time.Duration
	since  time.Time // when waited was last updated
}

// Slow reports that a request has stalled. It releases its place in the worker pool,
// and that among robots.txt requests. It returns false if there is no slow place: the
// caller must then cancel the request, and its host waits for a slow place.
func (f *Frontier) Slow(now time.Time, r Request) bool {
	fl := r.flight
	if fl.settled || fl.dragged {
		return true
	}
	fl.dragged, fl.host.slow = true, true
	switch {
	case fl.apart:
		return true
	case f.slow.use >= f.cfg.Slow:
		return false
	}
	fl.apart = true
	f.slow.use++
	f.returned(fl.payer)
	if fl.kind == Robots {
		f.read(now)
	}
	return true
}

// Apart reports whether a request has a slow place from the start.
func (r *Request) Apart() bool { return r.apart }

// linger queues a host for a slow place.
func (f *Frontier) linger(h *host, now time.Time) {
	if !h.lingering {
		f.slow.count(now)
		h.lingering = true
		f.slow.line.push(h)
	}
}

// freeSlow releases the slow place of a request, if it has one, and re-evaluates hosts
// that wait for one: as many as are free, and all when no request is left whose end
// would wake others.
func (f *Frontier) freeSlow(fl *flight, now time.Time) {
	if !fl.apart {
		return
	}
	f.slow.use--
	n := f.slow.line.len()
	if f.slow.use > 0 {
		n = min(n, f.cfg.Slow-f.slow.use)
	}
	f.slow.count(now)
	for range n {
		h := f.slow.line.pop(0)
		h.lingering = false
		f.look(h, now)
	}
}

// count adds up how long hosts have waited.
func (s *slowness) count(now time.Time) {
	if n := s.line.len(); n > 0 {
		s.waited += time.Duration(n) * now.Sub(s.since)
	}
	s.since = now
}
