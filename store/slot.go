package store

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"time"

	"headway/weburl"
)

// SlotCount is the number of slots. It never changes: every stored URL and host has its
// slot.
const SlotCount = 1024

// Slot is one part of the domain space, 0 to SlotCount-1: the unit of
// ownership and of placement.
type Slot uint16

// SlotOf returns the slot of a registrable domain. The hash is keyed, so that outsiders
// cannot choose which domains share a slot.
func SlotOf(k weburl.Key, domain string) Slot {
	b := make([]byte, 0, 128)
	b = append(b, k[:]...)
	b = append(b, domain...)
	sum := sha256.Sum256(b)
	return Slot(binary.BigEndian.Uint16(sum[:2]) % SlotCount)
}

// WorkerID identifies one start of a process that owns slots. Numbers are never reused.
type WorkerID int64

// Worker is a process that owns slots.
type Worker struct {
	ID        WorkerID
	Name      string // host name and process, for people
	JoinedAt  time.Time
	Heartbeat int64 // changed by Renew; its value means nothing else
	Slots     int   // leases held
	// Lease is how long after its last heartbeat it may be declared dead; 0 means as long as
	// the watcher's own.
	Lease time.Duration
}

// Lease is the ownership of a slot. The fence grows with every change of owner: an owner
// with an older one has been replaced.
type Lease struct {
	Slot  Slot
	Fence int64
	// Clean is true if the previous owner released the slot, or there was none.
	// Otherwise it is unknown what was sent last, and every host of the slot waits its
	// full pace from load time.
	Clean bool
}

// Terms are the timeouts of a lease, seen from both sides. The owner counts from before
// it sent the renewal, a candidate from when it first saw a heartbeat that has not
// changed since; so the owner stops sending before it can be replaced, whatever their
// clocks say.
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

// Tenure is how long an owner may still act, by the time since it sent its last
// successful renewal. The zero Tenure allows nothing.
type Tenure struct {
	terms Terms
	sent  time.Time
}

// NewTenure starts counting at sent: the time just before the renewal was sent, not when
// its response arrived.
func NewTenure(t Terms, sent time.Time) Tenure { return Tenure{t.WithDefaults(), sent} }

// MayStart reports whether a request may still be sent at now. Check again right before
// the first byte.
func (t Tenure) MayStart(now time.Time) bool {
	return !t.sent.IsZero() && t.elapsed(now) < t.terms.Start
}

// MustCancel reports whether requests in flight must be cancelled at now.
func (t Tenure) MustCancel(now time.Time) bool {
	return t.sent.IsZero() || t.elapsed(now) >= t.terms.Cancel
}

// CancelIn is the time until requests in flight must be cancelled, unless a clock is set
// meanwhile.
func (t Tenure) CancelIn(now time.Time) time.Duration { return t.terms.Cancel - t.elapsed(now) }

// Age is how long ago the renewal was sent, for people.
func (t Tenure) Age(now time.Time) time.Duration { return t.elapsed(now) }

// elapsed is the time since the renewal, by the monotonic or the wall clock, whichever
// says more. The monotonic clock stops while a machine sleeps, the wall clock does not.
// If the wall clock is set forward, the owner pauses until its next renewal; if it is set
// back, the monotonic clock counts.
func (t Tenure) elapsed(now time.Time) time.Duration {
	return max(now.Sub(t.sent), now.Round(0).Sub(t.sent.Round(0)))
}

// Watch finds workers whose heartbeat does not change, by the watcher's own clock only.
// The zero Watch has seen none. It is not safe for concurrent use.
type Watch struct {
	seen map[WorkerID]sighting
}

// sighting is a heartbeat and when it was first seen.
type sighting struct {
	beat  int64
	since time.Time
}

// Observe records all heartbeats as read at now and returns the workers whose heartbeat
// has not changed for at least d, or their own lease if that is longer. It keeps only the
// workers that exist.
func (w *Watch) Observe(now time.Time, d time.Duration, workers []Worker) []WorkerID {
	next := make(map[WorkerID]sighting, len(workers))
	var still []WorkerID
	for _, worker := range workers {
		s, ok := w.seen[worker.ID]
		if !ok || s.beat != worker.Heartbeat {
			s = sighting{worker.Heartbeat, now}
		}
		next[worker.ID] = s
		if now.Sub(s.since) >= max(d, worker.Lease) {
			still = append(still, worker.ID)
		}
	}
	w.seen = next
	return still
}

// Clone returns a copy.
func (w *Watch) Clone() Watch { return Watch{maps.Clone(w.seen)} }
