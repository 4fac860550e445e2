package frontier

import (
	"slices"
	"time"

	"headway/weburl"
)

// URLs that may crash the process. A suspect was in flight at a crash: one is requested at
// a time. A URL that may have been in flight when another worker died is watched: the
// caller records it before it requests it, so that it is known at the next crash.
// Suspects are watched, too. A suspect and other watched URLs are not in flight
// together: after a crash the suspect alone is to blame.
const (
	// watchFor is how long after the death of a worker its URLs are watched.
	watchFor = time.Hour
	// watchedFirst is how many URLs of each queue are watched in addition to twice as many
	// as the host may have in flight. Those in flight were the first of their queues; some
	// that were found meanwhile may come before them now.
	watchedFirst = 16
	// maxSuspects bounds the suspects that are known; further ones are ordinary URLs.
	maxSuspects = 10_000
)

// setAside is a URL that waits for a suspect or, as a suspect, for watched URLs.
type setAside struct {
	entry *entry
	queue *queue
}

// Suspect adds URLs that were in flight at a crash.
func (f *Frontier) Suspect(urls []weburl.URL) {
	for _, u := range urls[:min(len(urls), maxSuspects-len(f.suspects))] {
		f.suspects[u] = struct{}{}
	}
}

// Watched reports whether the page may have been in flight when a process died.
func (r *Request) Watched() bool { return r.watched }

// watchFirst watches the first URLs of a queue, if another worker died that owned its host.
func (h *host) watchFirst(q *queue, now time.Time) {
	if h.stage == live && h.diedAt.since(now) < watchFor {
		q.watch = watchedFirst + 2*int32(h.policy.Cap(h.state))
	}
}

// watch records that a page is handed out.
func (f *Frontier) watch(fl *flight) {
	q := fl.queue
	if _, ok := f.suspects[fl.entry.url]; ok {
		f.suspect, fl.watched = fl, true
	} else if int(q.watch) > q.aside {
		q.watch--
		f.watched++
		fl.watched = true
	}
}

// unwatch records that a request is no longer in flight.
func (f *Frontier) unwatch(fl *flight, now time.Time) {
	switch {
	case !fl.watched:
	case f.suspect == fl:
		f.suspect = nil
		f.recall(now)
	default:
		if f.watched--; f.watched == 0 {
			f.recall(now)
		}
	}
}

// peel sets aside URLs at the front of a head that must wait for others in flight, and
// reports whether one is left.
func (f *Frontier) peel(q *queue) bool {
	for n := len(q.head); n > 0; n = len(q.head) {
		_, suspect := f.suspects[q.head[n-1].url]
		free := f.suspect == nil
		switch {
		case suspect:
			free = free && f.watched == 0
		case int(q.watch) <= q.aside: // it is not watched
			free = true
		}
		if free {
			return true
		}
		f.aside = append(f.aside, setAside{q.take(f), q})
		q.own().aside++
	}
	return false
}

// suspended reports whether a URL of a queue is set aside.
func (f *Frontier) suspended(q *queue, u weburl.URL) bool {
	return q.aside > 0 && slices.ContainsFunc(f.aside, func(a setAside) bool { return a.queue == q && a.entry.url == u })
}

// dropAside forgets the URLs of a queue that were set aside: they are still in the store.
func (q *queue) dropAside(f *Frontier) {
	if q.aside > 0 {
		f.aside = slices.DeleteFunc(f.aside, func(a setAside) bool { return a.queue == q })
		q.aside = 0
		q.spill()
	}
}

// recall puts the URLs that were set aside back into their queues.
func (f *Frontier) recall(now time.Time) {
	list := f.aside
	f.aside = nil
	for _, a := range list {
		a.queue.aside--
		a.queue.keep(a.entry, f)
	}
	for _, a := range list {
		f.look(a.queue.host, now)
	}
}
