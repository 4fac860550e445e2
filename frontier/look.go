package frontier

import (
	"time"

	"headway/politeness"
	"headway/visit"
)

// look determines what a host waits for and puts it where that is noticed: into the
// clock, into a queue, or nowhere if only an event can end the wait.
func (f *Frontier) look(h *host, now time.Time) {
	if h.stage == gone {
		return
	}
	f.choose(h)
	f.park(h, now)
	h.tidy(now)
	if len(f.rated) > 0 {
		f.refreshTurns(h, now)
	}
	h.until, h.wait, h.line = 0, NoWork, noLine
	if f.wants(h) {
		if until, reason := f.admit(h, now); reason == "" {
			f.stand(h, now)
		} else {
			h.until, h.wait = at(until), Waiting(reason)
		}
	}
	if h.until == 0 {
		f.clock.remove(h)
	} else {
		f.clock.set(h)
	}
	if h.stage == yielding {
		f.quiet(h.domain)
	}
	f.move(h, now)
}

// choose requests the reservation of a host for host-limited jobs with work there.
func (f *Frontier) choose(h *host) {
	for q := h.queues; q != nil; q = q.next {
		if q.job.HostLimited && q.choice == unchosen && !q.job.stopped && q.waits() {
			q.choice = choosing
			f.batch.Take = append(f.batch.Take, Taking{Host: h.name, Job: q.job.ID})
		}
	}
}

// wants reports whether there is anything to request from the host.
func (f *Frontier) wants(h *host) bool {
	if h.stage != live || len(h.errands) > 0 {
		return true
	}
	for q := h.queues; q != nil; q = q.next {
		if q.waits() {
			return true
		}
	}
	return false
}

// stand queues a ready host: for a place in the worker pool, or for its URLs.
func (f *Frontier) stand(h *host, now time.Time) {
	var soonest time.Time
	for q := h.queues; q != nil; q = q.next {
		soonest = earlier(soonest, q.ripen(now, f))
	}
	short := f.starveErrands(h) // of a limit
	if !f.needsRefill(h) {
		h.wait = Waiting(f.short)
		f.lineUp(h, now)
		for q := h.queues; q != nil; q = q.next {
			if q.low(f) && (q.may() || q.hopes()) && f.refills < maxRefills {
				f.refill(q, now) // before the turn of its job, with or without a token
			}
		}
		return
	}
	// No URL in memory may be requested now.
	refilling, hungry := false, false
	for q := h.queues; q != nil; q = q.next {
		switch {
		case !q.waits() || q.parking || q.closing || q.undecided():
		case !q.may():
			short = short || q.job.limited() || !q.open()
			q.starve()
			if q.job.spent() && !q.job.stopped && q.low(f) && q.open() && h.robots == robotsKnown && f.refills < maxRefills {
				f.refill(q, now) // what is forbidden ends without a token
			}
		case q.asked > 0:
			refilling = true
		case q.low(f):
			hungry = true
		}
	}
	h.wait = waitingStorage // the default: a park is being written, or tokens are being reserved
	switch {
	case hungry:
		if h.line = inHungry; !h.standing[inHungry] {
			h.standing[inHungry] = true
			f.hungry.push(h)
		}
	case refilling:
	case !soonest.IsZero():
		h.until, h.wait = at(soonest), Waiting(visit.WaitHold)
	case short:
		h.wait = Waiting(visit.WaitBudget)
	}
}

// starveErrands queues a host for the tokens that its errands need, and reports whether any
// lacks one because of a limit.
func (f *Frontier) starveErrands(h *host) (short bool) {
	for _, e := range h.errands {
		if q := h.queue(e.Job); q != nil && q.job.lacks(RequestToken) {
			short = short || q.job.limited()
			q.starveFor(RequestToken)
		}
	}
	return short
}

// starve queues the host for the token that the job needs first.
func (q *queue) starve() {
	for k := range tokenKinds {
		if q.job.lacks(k) {
			q.starveFor(k)
			return
		}
	}
}

func (q *queue) starveFor(k TokenKind) {
	if !q.job.stopped && !q.starving[k] {
		q.starving[k] = true
		q.job.pools[k].starved.push(q.host)
	}
}

// admit checks each limit in order. Without a reason the host may be contacted now;
// without a time only an event ends the wait.
func (f *Frontier) admit(h *host, now time.Time) (time.Time, visit.Wait) {
	switch {
	case h.stage == loading:
		if h.domain.yielding {
			return time.Time{}, visit.WaitLease
		}
		return time.Time{}, visit.WaitStorage
	case h.stage == yielding:
		return time.Time{}, visit.WaitLease
	case h.robots == robotsAsked:
		return time.Time{}, visit.WaitRobots
	}
	if w := h.policy.Admit(h.state, now); !w.Go() {
		return w.Until, visit.Wait(w.Reason.String())
	}
	if h.leaving > 0 && (h.policy.Pace(h.state) > 0 || int(h.leaving)+h.state.InFlight() >= h.policy.Cap(h.state)) {
		return time.Time{}, visit.WaitInFlight
	}
	if h.robots == robotsClosed && !h.robotsDue.past(now) {
		return h.robotsDue.time(), visit.WaitRobots
	}
	if since, down := f.outage.Down(); down && h != f.canary {
		if !h.stalled {
			h.stalled = true
			f.stalled = append(f.stalled, h)
		}
		return h.patientUntil(since), visit.WaitNetwork
	}
	gap := f.gap(h)
	if d := h.domain; d.spaced > 0 || gap > 0 && d.leaving > 0 {
		// The interval starts when that request is sent, and this one must not be sent
		// just before it.
		if !h.behind {
			h.behind = true
			c := d.shared()
			c.waiters = append(c.waiters, h)
		}
		return time.Time{}, visit.WaitDomainInterval
	}
	if gap > 0 {
		if w := h.domain.interval.Admit(now, gap, politeness.DomainInterval); !w.Go() {
			return w.Until, visit.WaitDomainInterval
		}
	}
	if a := h.address; a != nil {
		if w := a.interval.Admit(now, h.policy.AddressGap(a.hosts, a.hosts+a.others), politeness.AddressInterval); !w.Go() {
			return w.Until, visit.WaitAddressInterval
		}
	}
	if h.slow && f.slow.use >= f.cfg.Slow {
		f.linger(h, now)
		return time.Time{}, visit.WaitWorkers
	}
	if f.readers >= f.cfg.Robots && !h.slow && f.robotsWanted(h, now) {
		if !h.reading {
			h.reading = true
			f.toRead.push(h)
		}
		return time.Time{}, visit.WaitRobots
	}
	return time.Time{}, ""
}

// gap is the interval between requests to the hosts of a domain.
func (f *Frontier) gap(h *host) time.Duration {
	if h.policy == nil {
		return 0
	}
	return h.policy.DomainGap(h.state)
}

// park ends the URLs of jobs that ran out of patience or reached a limit on this
// host. A park ends all that waits in the store, so it is requested when nothing of
// the queue is in flight.
func (f *Frontier) park(h *host, now time.Time) {
	if h.stage != live {
		return
	}
	for q := h.queues; q != nil; q = q.next {
		if q.parking || !q.waits() && len(h.errands) == 0 {
			continue
		}
		p, over := q.over(now, f.outage)
		q.closing = over
		if !over {
			continue
		}
		h.forgetErrands(p.Job)
		if !q.waits() || len(q.busy) > 0 || q.asked > 0 || q.sifting {
			continue
		}
		q.drop(f)
		q.dropAside(f)
		q.parking, q.spilled = true, false
		h.domain.under++
		f.batch.Parks = append(f.batch.Parks, p)
	}
}

// over reports whether the job gives up on the host, and how its URLs there end.
func (q *queue) over(now time.Time, outage politeness.Outage) (Park, bool) {
	if q.given != nil {
		return *q.given, true
	}
	h := q.host
	p := Park{Job: q.job.ID, Host: h.name}
	if q.job.HostLimited && q.choice == refused {
		p.Outcome = visit.Deferred
		return p, true
	}
	s := h.state
	if h.robots == robotsClosed {
		s = s.WithHold(now, h.robotsDue.time())
	}
	if since, down := outage.Down(); down && !now.Before(q.tenure.Until(since, q.job.Patience)) {
		p.Outcome, p.Reason = h.unheard()
		return p, true
	}
	switch q.policy.Park(s, q.tenure, now, q.job.Patience) {
	case politeness.ParkedByFailures:
		p.Outcome, p.Reason = visit.Failed, visit.HostParked
		return p, true
	case politeness.ParkedByPatience:
		if !s.HeldUntil().After(now) {
			break // the delay is ours, not the host's
		}
		p.Outcome, p.Reason = h.unheard()
		return p, true
	case politeness.NotParked:
	}
	p.Outcome, p.Reason = visit.Skipped, visit.BudgetHost
	return p, q.job.MaxPagesPerHost > 0 && int(q.pages) >= q.job.MaxPagesPerHost
}

// unheard is how URLs end on a host when patience ran out.
func (h *host) unheard() (visit.Outcome, visit.Reason) {
	if !h.robotsEver {
		return visit.Skipped, visit.RobotsUnreachable
	}
	return visit.Deferred, ""
}

// patientUntil is when the first job runs out of patience with our own network, down
// since since.
func (h *host) patientUntil(since time.Time) (first time.Time) {
	for q := h.queues; q != nil; q = q.next {
		if (q.waits() || h.hasErrand(q.job.ID)) && !q.parking && !q.closing {
			first = earlier(first, q.tenure.Until(since, q.job.Patience))
		}
	}
	return first
}

// move records in the accounts what a host does now.
func (f *Frontier) move(h *host, now time.Time) {
	to := h.doing()
	h.bookJobs(now, to)
	if to == h.booked {
		return
	}
	switch {
	case to == NoWork:
		f.working--
		h.idleAt = tickAt(now)
		if h.address != nil {
			h.address.hosts--
		}
	case h.booked == NoWork:
		f.working++
		if h.address != nil {
			h.address.hosts++
		}
	}
	f.account.Move(now, h.booked, to)
	if f.cfg.Trace.Moved != nil {
		f.cfg.Trace.Moved(f.account.at, h.name, h.booked, to)
	}
	h.booked = to
}
