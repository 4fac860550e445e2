package store

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"time"

	"headway/weburl"
)

// SlotCount is into how many slots the domains of the web are cut, for ever:
// every stored URL and host carries its slot.
const SlotCount = 1024

// Slot is one part of the domain space, 0 to SlotCount-1: the unit of
// ownership and of placement.
type Slot uint16

// SlotOf returns the slot of a registrable domain: a keyed hash, so that nobody
// outside can choose who shares a slot with whom.
func SlotOf(k weburl.Key, domain string) Slot {
	b := make([]byte, 0, 128)
	b = append(b, k[:]...)
	b = append(b, domain...)
	sum := sha256.Sum256(b)
	return Slot(binary.BigEndian.Uint16(sum[:2]) % SlotCount)
}

// WorkerID is one start of one process that owns slots. A store never gives a
// number twice.
type WorkerID int64

// Worker is a process that owns slots.
type Worker struct {
	ID        WorkerID
	Name      string // host name and process, for people
	JoinedAt  time.Time
	Heartbeat int64 // moved by Renew; nothing else is read from it
	Slots     int   // leases held
}

// Lease is the right to a slot. The fence is larger with every change of
// owner: whoever has an older one has been replaced.
type Lease struct {
	Slot  Slot
	Fence int64
	// Clean is true when the owner before gave the slot back, or there was
	// none. After any other end it is not known what was sent last, and every
	// host of the slot waits its full pace from load time.
	Clean bool
}

// Terms are the times of a lease, seen from both sides. The owner counts from
// before it sent the renewal, a candidate from when it first saw a heartbeat
// that has not moved since; so the owner is silent before it can be replaced,
// whatever their clocks say.
type Terms struct {
	Renew    time.Duration // how often the owner renews
	Start    time.Duration // after this without a renewal the owner starts no request
	Cancel   time.Duration // after this it cancels what is in flight and closes the sockets
	TakeOver time.Duration // after this a candidate may declare it dead
}

// DefaultTerms are the terms unless a test or an operator sets others.
var DefaultTerms = Terms{Renew: 5 * time.Second, Start: 15 * time.Second, Cancel: 22 * time.Second, TakeOver: 30 * time.Second}

// WithDefaults returns the terms, or [DefaultTerms] for the zero value.
func (t Terms) WithDefaults() Terms {
	if t == (Terms{}) {
		return DefaultTerms
	}
	return t
}

// Check reports terms under which two owners could be active at once.
func (t Terms) Check() error {
	if 0 < t.Renew && t.Renew < t.Start && t.Start < t.Cancel && t.Cancel < t.TakeOver {
		return nil
	}
	return errTerms
}

// Tenure is how long an owner may still act, by the time since it last sent a
// renewal that succeeded. The zero Tenure may do nothing.
type Tenure struct {
	terms Terms
	sent  time.Time
}

// NewTenure starts counting at sent: the moment before the renewal left, not
// the one at which its answer came.
func NewTenure(t Terms, sent time.Time) Tenure { return Tenure{t.WithDefaults(), sent} }

// MayStart reports whether a request may still be sent at now. Ask again right
// before the first byte.
func (t Tenure) MayStart(now time.Time) bool {
	return !t.sent.IsZero() && t.elapsed(now) < t.terms.Start
}

// MustCancel reports whether requests in flight must be given up at now.
func (t Tenure) MustCancel(now time.Time) bool {
	return t.sent.IsZero() || t.elapsed(now) >= t.terms.Cancel
}

// CancelIn is how long it is until requests in flight must be given up, as long as
// no clock is set.
func (t Tenure) CancelIn(now time.Time) time.Duration { return t.terms.Cancel - t.elapsed(now) }

// Age is how long ago the renewal was sent, for people.
func (t Tenure) Age(now time.Time) time.Duration { return t.elapsed(now) }

// elapsed is the time since the renewal, by the clock that says more. The
// monotonic one stands still while a machine sleeps, the clock on the wall does
// not; when that one is set forward, the owner pauses until its next renewal,
// and when it is set back, the other one counts.
func (t Tenure) elapsed(now time.Time) time.Duration {
	return max(now.Sub(t.sent), now.Round(0).Sub(t.sent.Round(0)))
}

// Watch notices workers whose heartbeat stands still, by the watcher's own time
// alone: clocks of other machines have no say. The zero Watch has seen nobody.
// It is not safe for use by several goroutines.
type Watch struct {
	seen map[WorkerID]sighting
}

// sighting is a heartbeat and when it was first seen.
type sighting struct {
	beat  int64
	since time.Time
}

// Observe takes all heartbeats as read at now and returns the workers that have
// shown the same one for at least the time d. What is kept is bounded by the
// workers there are.
func (w *Watch) Observe(now time.Time, d time.Duration, workers []Worker) []WorkerID {
	next := make(map[WorkerID]sighting, len(workers))
	var still []WorkerID
	for _, worker := range workers {
		s, ok := w.seen[worker.ID]
		if !ok || s.beat != worker.Heartbeat {
			s = sighting{worker.Heartbeat, now}
		}
		next[worker.ID] = s
		if now.Sub(s.since) >= d {
			still = append(still, worker.ID)
		}
	}
	w.seen = next
	return still
}

// Clone returns a Watch that has seen the same.
func (w *Watch) Clone() Watch { return Watch{maps.Clone(w.seen)} }
