package api

import (
	"sync"
	"time"
)

// maxBuckets bounds the number of token buckets. Beyond it the longest unused ones
// are dropped, which gives their keys a new burst.
const maxBuckets = 10_000

// Rate is the rate limit of a key on one server. It is counted in memory: two
// servers allow twice as much.
type Rate struct {
	PerSecond float64
	Burst     int
}

// rates counts the use of keys by token buckets.
type rates struct {
	rate Rate

	mu      sync.Mutex
	buckets map[string]bucket
}

// bucket is what a key has left at an instant.
type bucket struct {
	left float64
	at   time.Time
}

func newRates(r Rate) *rates { return &rates{rate: r, buckets: map[string]bucket{}} }

// take reports whether a key may be used now, and if not, how long it has to wait.
func (r *rates) take(now time.Time, id string) (wait time.Duration, ok bool) {
	if r.rate.PerSecond <= 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, known := r.buckets[id]
	if !known {
		r.makeRoom(now)
		b = bucket{left: float64(r.rate.Burst), at: now}
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.left, b.at = min(float64(r.rate.Burst), b.left+passed.Seconds()*r.rate.PerSecond), now
	}
	if b.left < 1 {
		r.buckets[id] = b
		return time.Duration((1 - b.left) / r.rate.PerSecond * float64(time.Second)), false
	}
	b.left--
	r.buckets[id] = b
	return 0, true
}

// makeRoom drops the buckets that are full again, and the longest unused one
// if there are none.
func (r *rates) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	full := time.Duration(float64(r.rate.Burst) / r.rate.PerSecond * float64(time.Second))
	oldest, since := "", now.Add(time.Second)
	for id, b := range r.buckets {
		if now.Sub(b.at) >= full {
			delete(r.buckets, id)
		} else if b.at.Before(since) {
			oldest, since = id, b.at
		}
	}
	if len(r.buckets) >= maxBuckets {
		delete(r.buckets, oldest)
	}
}
