package temper

import (
	"errors"
	"time"
)

// Limit is a rate limit. With Rate it is a token bucket, with Max a sliding window; with
// neither it passes everything, which ends an earlier limit of a list.
type Limit struct {
	Rate  float64 // tokens per second
	Burst int     // size of the bucket

	Max    int           // requests served within any Window
	Window time.Duration //

	Status int  // of the refusal; 429 when zero
	Form   Form // how the refusal announces the wait

	// The limit starts After the host's first request and after AfterRequests
	// requests.
	After         time.Duration
	AfterRequests int

	Pages Pages // what it applies to; other requests pass uncounted
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

// limited applies the current limit. A limit that takes over starts with fresh state.
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

// meter is the state of one limit.
type meter struct {
	tokens float64
	filled time.Time // zero: the bucket is full
	served window
}

// take asks to serve one request now. It returns zero, or how long to wait until the
// request would be served.
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

// tokenSlack allows for rounding, so that a client that waits exactly as long as
// required is served.
const tokenSlack = 1e-6

// window is a ring of the latest times, as many as the limit allows.
type window struct {
	at   []time.Time // a ring once it is full
	next int         // position of the oldest in a full ring
}

// wait is how long until fewer than most of the recorded times are within the last span.
// A window must always be used with the same most.
func (w *window) wait(most int, span time.Duration, now time.Time) time.Duration {
	if w.at == nil {
		w.at = make([]time.Time, 0, most)
	}
	if len(w.at) < most {
		return 0
	}
	return max(0, span-now.Sub(w.at[w.next]))
}

// note adds a time and drops the oldest if the window is full.
func (w *window) note(now time.Time) {
	if len(w.at) < cap(w.at) {
		w.at = append(w.at, now)
		return
	}
	w.at[w.next] = now
	w.next = (w.next + 1) % len(w.at)
}
