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
	// maxHead is up to how many are kept of a queue that is served so fast that
	// it would have to be refilled again within refillGap.
	maxHead = 4096
	// fewURLs is up to how many are searched one after the other; beyond it there
	// is a map.
	fewURLs = 64
	// refillGap is what "so fast" means.
	refillGap = time.Second
)

// entry is one URL of a head.
type entry struct {
	item  visit.Item
	order uint64 // place in the queue, smallest first
	tries politeness.Tries
	again uint32 // how often it was put back
}

// queue is what one job wants of one host: the head of it, and what is under
// way. The rest waits in the store.
type queue struct {
	job    *jobState
	policy *politeness.Policy // of the job for the host
	host   *host
	tenure politeness.Tenure
	head   []*entry                // the next one last, so that taking it is cheap
	later  []*entry                // those with a NotBefore in the future, the soonest last
	limit  int                     // of the head
	known  map[weburl.URL]struct{} // URLs of head and later; nil while they are few
	busy   []*flight               // handed out and not yet committed

	asked      int // URLs a refill under way was asked for; 0 without one
	refilledAt moment
	ended      map[weburl.URL]struct{} // committed since it was asked: it may bring them back

	aside int   // suspects that wait for another one
	given *Park // how URLs end on a host that cannot be asked at all
	pages int   // of the job on this host, for its limit per host

	complete bool // the store holds nothing beyond head, later and busy
	spilled  bool // since a refill was asked, a URL found no room in the head
	dry      bool // what the store holds beyond may not be tried before what is in later
	starving bool // in the line for page tokens
	closing  bool // the job gives up on the host: nothing more is handed out
	parking  bool // and a park is under way
}

// keep puts a URL into the head, if there is room for one of its rank.
func (q *queue) keep(e *entry, f *Frontier) {
	if f.items >= f.cfg.MaxItems && len(q.head) > 0 || len(q.head) >= q.limit {
		if len(q.head) == 0 || e.order >= q.head[0].order {
			q.spill()
			return
		}
		q.forget(q.head[0], f) // the last in line waits in the store
		q.head = slices.Delete(q.head, 0, 1)
		q.spill()
	}
	i, _ := slices.BinarySearchFunc(q.head, e, func(a, b *entry) int { return cmp.Compare(b.order, a.order) })
	q.head = slices.Insert(q.head, i, e)
	q.remember(e, f)
}

func (q *queue) remember(e *entry, f *Frontier) {
	f.items++
	switch {
	case q.known != nil:
		q.known[e.item.URL] = struct{}{}
	case len(q.head)+len(q.later) > fewURLs:
		q.known = make(map[weburl.URL]struct{}, 2*fewURLs)
		for _, list := range [][]*entry{q.head, q.later} {
			for _, e := range list {
				q.known[e.item.URL] = struct{}{}
			}
		}
	}
}

func (q *queue) forget(e *entry, f *Frontier) {
	f.items--
	if delete(q.known, e.item.URL); len(q.known) < fewURLs/2 {
		q.known = nil
	}
}

// keepLater keeps a URL that may not be tried yet.
func (q *queue) keepLater(e *entry, f *Frontier) {
	if len(q.later) >= q.limit || f.items >= f.cfg.MaxItems && len(q.later) > 0 {
		q.complete, q.spilled = false, true
		last := q.later[0]
		if !e.item.NotBefore.Before(last.item.NotBefore) {
			return
		}
		q.forget(last, f)
		q.later = slices.Delete(q.later, 0, 1)
	}
	i, _ := slices.BinarySearchFunc(q.later, e, func(a, b *entry) int { return b.item.NotBefore.Compare(a.item.NotBefore) })
	q.later = slices.Insert(q.later, i, e)
	q.remember(e, f)
}

// spill notes that the store holds more than the head.
func (q *queue) spill() { q.complete, q.spilled, q.dry = false, true, false }

// ripen moves URLs whose time has come into the head, and returns when the next
// one's does.
func (q *queue) ripen(now time.Time, f *Frontier) time.Time {
	for n := len(q.later); n > 0; n-- {
		e := q.later[n-1]
		if e.item.NotBefore.After(now) {
			return e.item.NotBefore
		}
		q.later = q.later[:n-1]
		q.dry = false // the store may hold others whose time has come
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

// drop empties the head: what was in it waits in the store.
func (q *queue) drop(f *Frontier) {
	f.items -= len(q.head) + len(q.later)
	if len(q.head)+len(q.later) > 0 {
		q.spill()
	}
	q.head, q.later, q.known = nil, nil, nil
}

// has tells whether a URL of it is in memory, or was until a moment ago.
func (q *queue) has(u weburl.URL) bool {
	if _, ended := q.ended[u]; ended {
		return true
	}
	if slices.ContainsFunc(q.busy, func(fl *flight) bool { return fl.entry.item.URL == u }) {
		return true
	}
	if q.known != nil {
		_, known := q.known[u]
		return known
	}
	same := func(e *entry) bool { return e.item.URL == u }
	return slices.ContainsFunc(q.head, same) || slices.ContainsFunc(q.later, same)
}

// finish takes out a request that is committed or was called off.
func (q *queue) finish(fl *flight) {
	i := slices.Index(q.busy, fl)
	q.busy = slices.Delete(q.busy, i, i+1)
}

// waits tells whether URLs of it wait, here or in the store.
func (q *queue) waits() bool {
	return len(q.head) > 0 || len(q.later) > 0 || q.aside > 0 || !q.complete
}

// idle tells whether the job has no more work on the host.
func (q *queue) idle() bool { return !q.waits() && len(q.busy) == 0 && q.asked == 0 }

// low tells whether the head should be filled up.
func (q *queue) low(f *Frontier) bool {
	few := q.limit / 4
	if f.items >= f.cfg.MaxItems {
		few = 0 // there is room for one where there is none
	}
	return !q.complete && q.asked == 0 && !q.parking && !q.closing && !q.dry && len(q.head) <= few
}

// want starts a refill and says how many URLs to ask for: those under way are
// returned too, because they still wait.
func (q *queue) want(now time.Time, f *Frontier) int {
	if q.refilledAt != 0 && now.Sub(q.refilledAt.time()) < refillGap {
		q.limit = min(q.limit*2, maxHead)
	}
	room := q.limit - len(q.head)
	switch left := f.cfg.MaxItems - f.items; {
	case left <= 0:
		room = 1
	case left < f.cfg.MaxItems/4:
		room = min(room, 4)
	}
	q.asked = room + len(q.head) + len(q.later) + len(q.busy) + q.aside
	q.spilled = false
	return q.asked
}

// refill takes in what the store returned.
func (q *queue) refill(now time.Time, items []visit.Item, f *Frontier) {
	q.complete = len(items) < q.asked && !q.spilled
	q.dry = !q.spilled && len(items) > 0 && items[len(items)-1].NotBefore.After(now)
	for i := range items {
		if u := items[i].URL; !q.has(u) && !f.suspended(q, u) {
			q.add(now, items[i], f)
		}
	}
	q.dry = q.dry && len(q.later) > 0
	q.asked, q.ended, q.refilledAt = 0, nil, at(now)
}

// add takes in one URL that waits in the store and is not in memory.
func (q *queue) add(now time.Time, it visit.Item, f *Frontier) {
	f.number++
	e := &entry{item: it, again: uint32(min(it.Attempt, 31))}
	e.order = order(&it, e.again, f.number)
	// How many attempts were charged is stored, not what for: as many as are
	// allowed are taken to be refusals, the rest failures.
	refusals := min(it.Attempt, q.policy.RefusalRetries)
	e.tries = politeness.Tries{Refusals: uint8(refusals), Failures: uint8(min(it.Attempt-refusals, q.policy.FailureRetries))}
	if it.NotBefore.After(now) {
		q.keepLater(e, f)
	} else {
		q.keep(e, f)
	}
}

// order is the place of a URL in its queue: those that were put back come after
// all others, so that another URL speaks for a host that refuses; then by rank,
// then by age.
func order(it *visit.Item, again uint32, number uint64) uint64 {
	const ageBits, rankBits = 34, 25
	return uint64(min(again, 31))<<(ageBits+rankBits) | uint64(it.Rank())<<ageBits | number&(1<<ageBits-1)
}
