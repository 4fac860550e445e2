package temper

import (
	"errors"
	"time"
)

// Limit refuses requests that come too often. With Rate it is a token bucket,
// with Max a sliding window; with neither it lets everything pass, which is
// how a list of limits lifts one.
type Limit struct {
	Rate  float64 // requests per second that the bucket gains
	Burst int     // size of the bucket

	Max    int           // requests served within any Window
	Window time.Duration //

	Status int  // of the refusal; 429 when zero
	Form   Form // how the refusal announces the wait

	// The limit begins when the host's first request is After old and
	// AfterRequests requests have come before.
	After         time.Duration
	AfterRequests int

	Pages Pages // what it holds for; others pass and do not count
}

func (l *Limit) validate() error {
	switch {
	case l.Rate < 0 || l.Max < 0 || l.Window < 0 || l.After < 0 || l.AfterRequests < 0:
		return errors.New("values must not be negative")
	case l.Rate > 0 && l.Max > 0:
		return errors.New("use either a bucket (Rate) or a window (Max), not both")
	case l.Rate > 0 && l.Burst < 1:
		return errors.New("a bucket (Rate) needs a Burst of at least 1")
	case l.Max > 0 && l.Window == 0:
		return errors.New("a window (Max) needs its Window")
	}
	return l.Pages.validate()
}

// limited asks the limit in force. A limit that takes over starts with an
// empty memory.
func (s *State) limited(limits []Limit, now time.Time, kind Kind, page int) (Verdict, bool) {
	force := -1
	for i := range limits {
		if now.Sub(s.first) >= limits[i].After && s.requests > limits[i].AfterRequests {
			force = i
		}
	}
	if force < 0 {
		return Verdict{}, false
	}
	if force != s.limit {
		s.limit, s.meter = force, meter{}
	}
	l := &limits[force]
	if !l.Pages.has(kind, page) {
		return Verdict{}, false
	}
	wait := s.meter.take(l, now)
	if wait == 0 {
		return Verdict{}, false
	}
	status := l.Status
	if status == 0 {
		status = 429
	}
	return Verdict{Action: Refuse, Status: status, RetryAfter: wholeSeconds(wait), Form: l.Form}, true
}

// meter is the memory of one limit.
type meter struct {
	tokens float64
	filled time.Time // zero: the bucket is full
	served window
}

// take asks to serve one request now. Zero means yes; otherwise it is the
// time until the answer would be yes.
func (m *meter) take(l *Limit, now time.Time) time.Duration {
	if l.Max > 0 {
		wait := m.served.wait(l.Max, l.Window, now)
		if wait == 0 {
			m.served.note(now)
		}
		return wait
	}
	if l.Rate == 0 {
		return 0
	}
	if m.filled.IsZero() {
		m.tokens = float64(l.Burst)
	} else {
		m.tokens = min(float64(l.Burst), m.tokens+l.Rate*now.Sub(m.filled).Seconds())
	}
	m.filled = now
	if m.tokens >= 1-tokenSlack {
		m.tokens--
		return 0
	}
	return max(1, time.Duration((1-m.tokens)/l.Rate*float64(time.Second)))
}

// tokenSlack forgives what binary fractions lose, so that a client that waits
// exactly as long as it was told is served.
const tokenSlack = 1e-6

// window remembers the last instants it was told, as many as wait was asked
// about.
type window struct {
	at   []time.Time // a ring once it is full
	next int         // where the oldest stands in a full ring
}

// wait is how long until fewer than most of the instants noted lie within the
// last span. The same window must always be asked with the same most.
func (w *window) wait(most int, span time.Duration, now time.Time) time.Duration {
	if w.at == nil {
		w.at = make([]time.Time, 0, most)
	}
	if len(w.at) < most {
		return 0
	}
	return max(0, span-now.Sub(w.at[w.next]))
}

// note adds an instant and forgets the oldest when the window is full.
func (w *window) note(now time.Time) {
	if len(w.at) < cap(w.at) {
		w.at = append(w.at, now)
		return
	}
	w.at[w.next] = now
	w.next = (w.next + 1) % len(w.at)
}
