package sim

import (
	"fmt"
	"time"
)

// Limit is the rate limit of a server. Called with increasing times, Take returns 0 and
// counts the request if it is within the limit, and otherwise the time until one would be. A
// request beyond the limit is not counted.
type Limit interface {
	Take(at time.Time) time.Duration
	Every() time.Duration // the interval it allows in the long run
	String() string
}

// Bucket is a token bucket: one request per Interval, with bursts up to Burst.
type Bucket struct {
	Interval time.Duration
	Burst    int

	saved time.Duration
	last  time.Time
}

// Take implements [Limit].
func (b *Bucket) Take(at time.Time) time.Duration {
	full := time.Duration(b.Burst) * b.Interval
	if b.last.IsZero() {
		b.saved = full
	} else {
		b.saved = min(full, b.saved+at.Sub(b.last))
	}
	b.last = at
	if b.saved < b.Interval {
		return b.Interval - b.saved
	}
	b.saved -= b.Interval
	return 0
}

// Every implements [Limit].
func (b *Bucket) Every() time.Duration { return b.Interval }

func (b *Bucket) String() string {
	return fmt.Sprintf("one per %v, burst %d", b.Interval, b.Burst)
}

// Window is a sliding window: at most Max requests in any time of length Per.
type Window struct {
	Max int
	Per time.Duration

	taken []time.Time // a ring of Max
	next  int         // index of the oldest
}

// Take implements [Limit].
func (w *Window) Take(at time.Time) time.Duration {
	if len(w.taken) < w.Max {
		w.taken = append(w.taken, at)
		return 0
	}
	if wait := w.taken[w.next].Add(w.Per).Sub(at); wait > 0 {
		return wait
	}
	w.taken[w.next] = at
	w.next = (w.next + 1) % w.Max
	return 0
}

// Every implements [Limit].
func (w *Window) Every() time.Duration { return w.Per / time.Duration(w.Max) }

func (w *Window) String() string {
	return fmt.Sprintf("sliding %d per %v", w.Max, w.Per)
}

// Ideal is how long the pages take a client that knows the limit: it sends each request at
// the earliest allowed time, never faster than base, and is never refused.
func Ideal(l Limit, base time.Duration, pages int) time.Duration {
	at := Epoch
	for i := range pages {
		if i > 0 {
			at = at.Add(base)
		}
		if wait := l.Take(at); wait > 0 {
			at = at.Add(wait)
			l.Take(at)
		}
	}
	return at.Sub(Epoch)
}
