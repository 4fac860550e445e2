package frontier

import (
	"slices"
	"time"

	"headway/job"
	"headway/visit"
)

// maxForbidden bounds the URLs that end without a turn and are not committed yet;
// beyond it they stay in the store until there is room.
const maxForbidden = 10_000

// Sift asks for the URLs of a queue that wait in the store to be judged, because
// [Config.Forbidden] was not asked about them since its rules changed; answer with
// [Frontier.Forbid] and, at the end, [Frontier.Sifted].
type Sift struct {
	Host string
	Job  job.ID

	queue *queue
}

// forbidden ends a URL of a queue without a turn, if it is forbidden.
func (q *queue) forbidden(e *entry, f *Frontier) bool {
	if f.cfg.Forbidden == nil || q.host.robots != robotsKnown || q.host.stage != live || q.job.stopped || f.forbidding >= maxForbidden {
		return false
	}
	it := e.item(q.job.ID)
	v := f.cfg.Forbidden(&it)
	if v != nil {
		q.forbid(e, v, f)
	}
	return v != nil
}

// forbid ends a URL that waits without a turn: it is settled, and under way until it is
// committed.
func (q *queue) forbid(e *entry, v *visit.Visit, f *Frontier) {
	fl := &flight{host: q.host, queue: q, entry: e, job: q.job, kind: Page, settled: true, forbidden: true}
	held := q.own()
	held.busy = append(held.busy, fl)
	q.host.settled++
	q.host.domain.under++
	f.forbidding++
	f.batch.Resolved = append(f.batch.Resolved, Resolved{Request: Request{Kind: Page, Host: q.host.name, Item: v.Item, Job: q.job.ID, flight: fl}, Visit: v, Forbidden: true})
}

// Judge looks again at what waits on a host: what its robots.txt forbids has changed.
func (f *Frontier) Judge(now time.Time, name string) {
	h := f.hosts.find(name)
	if h == nil || h.stage != live || h.robots != robotsKnown {
		return
	}
	for q := h.queues; q != nil; q = q.next {
		if q.parking {
			continue
		}
		q.judged = false
		for _, list := range []*[]*entry{&q.own().head, &q.own().later} {
			*list = slices.DeleteFunc(*list, func(e *entry) bool {
				ends := q.forbidden(e, f)
				if ends {
					q.forget(e, f)
				}
				return ends
			})
		}
		f.sift(q)
	}
	f.look(h, now)
}

// sift asks for what waits in the store beyond the head to be judged. A queue that was
// never filled up may have nothing there: it is asked again then.
func (f *Frontier) sift(q *queue) {
	if f.cfg.Forbidden == nil || q.judged || q.complete || q.sifting || q.parking || q.closing || q.job.stopped || q.refilledAt == 0 || q.host.robots != robotsKnown || q.host.stage != live {
		return
	}
	q.judged, q.sifting = true, true
	f.batch.Sift = append(f.batch.Sift, Sift{Host: q.host.name, Job: q.job.ID, queue: q})
}

// Forbid ends URLs that were read from the store since a sift was asked for and are
// forbidden, and tells whether to go on. Those that have come into memory meanwhile, or
// ended, are passed over.
func (f *Frontier) Forbid(now time.Time, s Sift, list []*visit.Visit) (more bool) {
	q := s.queue
	if q.host.stage != live || q.job.stopped {
		return false
	}
	for _, v := range list {
		switch u := v.Item.URL; {
		case q.has(u) || f.suspended(q, u):
		case f.forbidding >= maxForbidden:
			q.judged = false // the rest is judged when it comes into memory
			return false
		default:
			q.forbid(f.newEntry(&v.Item, v.Item.Attempt), v, f)
		}
	}
	f.look(q.host, now)
	return true
}

// Spare tells that URLs which end without a turn will not be committed: they wait in
// the store, and whoever has the host next judges them.
func (f *Frontier) Spare(now time.Time, requests []Request) {
	for i := range requests {
		fl := requests[i].flight
		h, q := fl.host, fl.queue
		h.settled--
		h.domain.under--
		f.forbidding--
		q.finish(fl)
		q.spill()
		q.judged = false
		f.look(h, now)
	}
}

// Sifted tells that a sift has ended.
func (f *Frontier) Sifted(now time.Time, s Sift) {
	q := s.queue
	if q.sifting = false; q.asked == 0 && q.ended != nil {
		q.ended = nil
	}
	f.look(q.host, now)
}
