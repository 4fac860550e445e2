package frontier

import "time"

// A request without progress gives its ordinary place back and has one of a bound of
// its own, [Config.Slow]. A host that was slow last time gets such a place from the
// beginning: where none is left it waits, and nobody else does.

// slowness is those places.
type slowness struct {
	use    int
	line   deque // hosts that wait for one
	waited time.Duration
	since  time.Time // when waited was last brought up to date
}

// Slow tells that a request has made no progress for a while. It gives its place among
// the fetches back, and that among those that ask for robots.txt. If there is no place
// for it among the slow ones, it tells so: then the request is to be called off, and
// its host waits for one.
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

// Apart tells whether a request has a place among the slow ones from the beginning.
func (r *Request) Apart() bool { return r.apart }

// linger puts a host in the line for a place among slow requests.
func (f *Frontier) linger(h *host, now time.Time) {
	if !h.lingering {
		f.slow.count(now)
		h.lingering = true
		f.slow.line.push(h)
	}
}

// freeSlow returns the place of a request among the slow ones, if it has one, and lets
// hosts look again that wait for one: as many as are free, and all when nobody is left
// whose end would let others look.
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
