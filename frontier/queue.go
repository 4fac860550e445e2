package frontier

import (
	"cmp"
	"slices"
	"time"

	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// Bounds of the head of one queue.
const (
	// DefaultHead is how many URLs of a queue are kept in memory.
	DefaultHead = 64
	// maxHead is the maximum for a queue that is served so fast that it would have to
	// be refilled again within refillGap.
	maxHead = 4096
	// fewURLs is up to how many URLs are searched linearly; beyond it there is a map.
	fewURLs = 64
	// refillGap is the minimum time between two refills that maxHead aims at.
	refillGap = time.Second
)

// queue is the work of one job on one host: its head, and what is in flight. The rest
// waits in the store. There is one for nearly every host, and most have nothing in
// memory, so the fields that only active queues need are kept in held.
type queue struct {
	job    *jobState
	policy *politeness.Policy // the job's policy for the host
	host   *host
	next   *queue // in the list of the host
	*held
	tenure politeness.Tenure

	refilledAt tick
	limit      int32 // of the head
	asked      int32 // URLs requested by the refill in progress; 0 without one
	pages      int32 // of the job on this host, for its limit per host
	watch      int32 // URLs still to be watched

	complete bool             // the store holds nothing beyond head, later and busy
	spilled  bool             // a URL found no room in the head since the refill was requested
	dry      bool             // the rest in the store is not due before what is in later
	starving [tokenKinds]bool // queued for tokens
	turnless bool             // queued for turns of the tenant
	judged   bool             // what waits in the store was checked against Config.Forbidden, or is being checked
	sifting  bool             // the check is in progress
	closing  bool             // the job gives up on the host: nothing more is handed out
	parking  bool             // and a park is being written
	choice   choice
	booked   State // in the account of the job
}

// choice is whether a host-limited job has reserved the host.
type choice uint8

const (
	unchosen choice = iota
	choosing        // the reservation was requested
	taken
	refused
)

// held is what a queue has in memory. Queues without anything share an empty one that
// is never changed; own returns one that may be changed.
type held struct {
	head     []*entry                // the next one is last, so that taking it is cheap
	later    []*entry                // those with a NotBefore in the future, the soonest last
	known    map[weburl.URL]struct{} // URLs of head and later; nil while they are few
	busy     []*flight               // handed out and not yet committed
	busyURLs map[weburl.URL]struct{} // URLs of busy; nil while they are few
	ended    map[weburl.URL]struct{} // committed since a refill or a sift was requested, whose result may still contain them
	given    *Park                   // how URLs end on a host that cannot be contacted at all
	aside    int                     // URLs in Frontier.aside
}

var nothing held

// own returns what the queue has in memory, for changes.
func (q *queue) own() *held {
	if q.held == &nothing {
		q.held = &held{}
	}
	return q.held
}

// tidy frees what is empty.
func (q *queue) tidy() {
	if h := q.held; h != &nothing && len(h.head)+len(h.later)+len(h.busy)+len(h.ended)+h.aside == 0 && h.given == nil {
		q.held = &nothing
	}
}

// keep adds a URL to the head, if there is room for one of its rank.
func (q *queue) keep(e *entry, f *Frontier) {
	if f.items >= f.cfg.MaxItems && len(q.head) > 0 || len(q.head) >= int(q.limit) {
		if len(q.head) == 0 || e.order >= q.head[0].order {
			q.spill()
			return
		}
		q.forget(q.head[0], f) // the last one stays only in the store
		q.head = slices.Delete(q.head, 0, 1)
		q.spill()
	}
	i, _ := slices.BinarySearchFunc(q.head, e, func(a, b *entry) int { return cmp.Compare(b.order, a.order) })
	q.own().head = slices.Insert(q.head, i, e)
	q.remember(e, f)
}

func (q *queue) remember(e *entry, f *Frontier) {
	f.items++
	switch {
	case q.known != nil:
		q.known[e.url] = struct{}{}
	case len(q.head)+len(q.later) > fewURLs:
		q.known = make(map[weburl.URL]struct{}, 2*fewURLs)
		for _, list := range [][]*entry{q.head, q.later} {
			for _, e := range list {
				q.known[e.url] = struct{}{}
			}
		}
	}
}

func (q *queue) forget(e *entry, f *Frontier) {
	f.items--
	if delete(q.known, e.url); len(q.known) < fewURLs/2 {
		q.known = nil
	}
}

// keepLater keeps a URL that is not due yet.
func (q *queue) keepLater(e *entry, f *Frontier) {
	if len(q.later) >= int(q.limit) || f.items >= f.cfg.MaxItems && len(q.later) > 0 {
		q.complete, q.spilled = false, true
		last := q.later[0]
		if !e.notBefore().Before(last.notBefore()) {
			return
		}
		q.forget(last, f)
		q.later = slices.Delete(q.later, 0, 1)
	}
	i, _ := slices.BinarySearchFunc(q.later, e, func(a, b *entry) int { return b.notBefore().Compare(a.notBefore()) })
	q.own().later = slices.Insert(q.later, i, e)
	q.remember(e, f)
}

// spill records that the store holds more than the head.
func (q *queue) spill() { q.complete, q.spilled, q.dry = false, true, false }

// ripen moves URLs that are due into the head, and returns when the next one is due.
func (q *queue) ripen(now time.Time, f *Frontier) time.Time {
	for n := len(q.later); n > 0; n-- {
		e := q.later[n-1]
		if due := e.notBefore(); due.After(now) {
			return due
		}
		q.later = q.later[:n-1]
		q.dry = false // the store may hold others that are due
		q.forget(e, f)
		q.keep(e, f)
	}
	return time.Time{}
}

// take removes the first URL of the head.
func (q *queue) take(f *Frontier) *entry {
	n := len(q.head) - 1
	e := q.head[n]
	q.head[n] = nil
	q.head = q.head[:n]
	q.forget(e, f)
	return e
}

// drop empties the head: its URLs stay in the store.
func (q *queue) drop(f *Frontier) {
	f.items -= len(q.head) + len(q.later)
	if len(q.head)+len(q.later) > 0 {
		q.spill()
		q.head, q.later, q.known = nil, nil, nil
		q.tidy()
	}
}

// has reports whether a URL of the queue is in memory, or was until recently.
func (q *queue) has(u weburl.URL) bool {
	if _, ended := q.ended[u]; ended {
		return true
	}
	if q.busyURLs != nil {
		if _, busy := q.busyURLs[u]; busy {
			return true
		}
	} else if slices.ContainsFunc(q.busy, func(fl *flight) bool { return fl.entry.url == u }) {
		return true
	}
	if q.known != nil {
		_, known := q.known[u]
		return known
	}
	same := func(e *entry) bool { return e.url == u }
	return slices.ContainsFunc(q.head, same) || slices.ContainsFunc(q.later, same)
}

// start adds a request that is handed out.
func (q *queue) start(fl *flight) {
	h := q.own()
	h.busy = append(h.busy, fl)
	switch {
	case h.busyURLs != nil:
		h.busyURLs[fl.entry.url] = struct{}{}
	case len(h.busy) > fewURLs:
		h.busyURLs = make(map[weburl.URL]struct{}, 2*fewURLs)
		for _, fl := range h.busy {
			h.busyURLs[fl.entry.url] = struct{}{}
		}
	}
}

// finish removes a request that was committed or cancelled.
func (q *queue) finish(fl *flight) {
	i := slices.Index(q.busy, fl)
	q.busy = slices.Delete(q.busy, i, i+1)
	if delete(q.busyURLs, fl.entry.url); len(q.busy) < fewURLs/2 {
		q.busyURLs = nil
	}
}

// waits reports whether URLs of it wait, here or in the store.
func (q *queue) waits() bool {
	return len(q.head) > 0 || len(q.later) > 0 || q.aside > 0 || !q.complete
}

// idle reports whether the job has no more work on the host.
func (q *queue) idle() bool { return !q.waits() && len(q.busy) == 0 && q.asked == 0 && !q.sifting }

// low reports whether the head should be refilled.
func (q *queue) low(f *Frontier) bool {
	few := int(q.limit) / 4
	if f.items >= f.cfg.MaxItems {
		few = 0 // an empty head always has room for one
	}
	return !q.complete && q.asked == 0 && !q.parking && !q.closing && !q.dry && len(q.head) <= few
}

// want starts a refill and returns how many URLs to request. The store also returns
// the URLs in flight, because they still wait there.
func (q *queue) want(now time.Time, f *Frontier) int {
	if q.refilledAt.since(now) < refillGap {
		q.limit = min(q.limit*2, maxHead)
	}
	room := int(q.limit) - len(q.head)
	switch left := f.cfg.MaxItems - f.items; {
	case left <= 0:
		room = 1
	case left < f.cfg.MaxItems/4:
		room = min(room, 4)
	}
	want := room + len(q.head) + len(q.later) + len(q.busy) + q.aside
	q.asked, q.spilled = int32(want), false
	return want
}

// refill takes the URLs that the store returned.
func (q *queue) refill(now time.Time, items []visit.Item, f *Frontier) {
	q.complete = len(items) < int(q.asked) && !q.spilled
	q.dry = !q.spilled && len(items) > 0 && items[len(items)-1].NotBefore.After(now)
	for i := range items {
		if u := items[i].URL; !q.has(u) && !f.suspended(q, u) {
			q.add(now, &items[i], f)
		}
	}
	q.dry = q.dry && len(q.later) > 0
	q.asked, q.refilledAt = 0, tickAt(now)
	if q.ended != nil && !q.sifting {
		q.ended = nil
	}
	f.sift(q)
}

// add takes one URL that waits in the store and is not in memory.
func (q *queue) add(now time.Time, it *visit.Item, f *Frontier) {
	e := f.newEntry(it, it.Attempt)
	// The number of charged attempts is stored, but not their kind: they count as
	// refusals up to the allowed number, the rest as failures.
	refusals := min(it.Attempt, q.policy.RefusalRetries)
	e.tries = politeness.Tries{Refusals: uint8(refusals), Failures: uint8(min(it.Attempt-refusals, q.policy.FailureRetries))}
	switch {
	case q.forbidden(e, f):
	case it.NotBefore.After(now):
		q.keepLater(e, f)
	default:
		q.keep(e, f)
	}
}
