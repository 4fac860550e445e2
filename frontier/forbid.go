package frontier

import (
	"slices"
	"time"

	"headway/job"
	"headway/visit"
)

// maxForbidden bounds the URLs that ended without a request and are not committed
// yet; more stay in the store until there is room.
const maxForbidden = 10_000

// Sift requests a check of the URLs of a queue in the store against
// [Config.Forbidden], because the rules changed since they were checked; answer with
// [Frontier.Forbid] and, at the end, [Frontier.Sifted].
type Sift struct {
	Host string
	Job  job.ID

	queue *queue
}

// forbidden ends a URL of a queue without a request, if it is forbidden.
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

// forbid ends a waiting URL without a request: it is settled, and in flight until it
// is committed.
func (q *queue) forbid(e *entry, v *visit.Visit, f *Frontier) {
	fl := &flight{host: q.host, queue: q, entry: e, job: q.job, kind: Page, settled: true, forbidden: true}
	q.start(fl)
	q.host.settled++
	q.host.domain.under++
	f.forbidding++
	f.batch.Resolved = append(f.batch.Resolved, Resolved{Request: Request{Kind: Page, Host: q.host.name, Item: v.Item, Job: q.job.ID, flight: fl}, Visit: v, Forbidden: true})
}

// Judge checks the waiting URLs of a host again, because its robots.txt changed.
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

// sift requests a check of what waits in the store beyond the head. A queue that was
// never filled up may have nothing there; the check is then requested on the next refill.
func (f *Frontier) sift(q *queue) {
	if f.cfg.Forbidden == nil || q.judged || q.complete || q.sifting || q.parking || q.closing || q.job.stopped || q.refilledAt == 0 || q.host.robots != robotsKnown || q.host.stage != live {
		return
	}
	q.judged, q.sifting = true, true
	f.batch.Sift = append(f.batch.Sift, Sift{Host: q.host.name, Job: q.job.ID, queue: q})
}

// Forbid ends forbidden URLs that were read from the store for a sift, and reports
// whether to continue. URLs that are in memory by now, or ended, are ignored.
func (f *Frontier) Forbid(now time.Time, s Sift, list []*visit.Visit) (more bool) {
	q := s.queue
	if q.host.stage != live || q.job.stopped {
		return false
	}
	for _, v := range list {
		switch u := v.Item.URL; {
		case q.has(u) || f.suspended(q, u):
		case f.forbidding >= maxForbidden:
			q.judged = false // the rest is checked when it is read into memory
			return false
		default:
			q.forbid(f.newEntry(&v.Item, v.Item.Attempt), v, f)
		}
	}
	f.look(q.host, now)
	return true
}

// Spare reports that URLs which ended without a request will not be committed: they
// stay in the store, and the next owner of the host checks them.
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

// Sifted reports that a sift has ended.
func (f *Frontier) Sifted(now time.Time, s Sift) {
	q := s.queue
	if q.sifting = false; q.asked == 0 && q.ended != nil {
		q.ended = nil
	}
	f.look(q.host, now)
}
