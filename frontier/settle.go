package frontier

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// Answer is the result of a request.
type Answer struct {
	politeness.Answer
	Answered  bool // see [politeness.Attempt]
	Sent      bool // a request was sent, though [Frontier.Sent] may not have been called
	Local     bool
	FirstByte time.Time  // of a response that was not complete
	Remote    netip.Addr // the address it was sent to; invalid without a connection
}

// Verdict says what happens to a settled page.
type Verdict uint8

// The verdicts.
const (
	Ended   Verdict = iota // its outcome is final
	Again                  // it is tried again
	InDoubt                // our own network may be the cause; see [Batch.Resolved]
)

// Settled is what an answer led to.
type Settled struct {
	Verdict Verdict
	Attempt int // attempts charged so far, for Again
	Effect  politeness.Effect
}

// charged is a failure that was charged to a host, with the state before it.
type charged struct {
	at     time.Time
	flight *flight
	tries  politeness.Tries
	tenure politeness.Tenure
}

// doubt is a page that has failed, unless our network turns out to be down.
type doubt struct {
	at      time.Time
	request Request
	visit   *visit.Visit
	settled Settled
}

// Sent reports that a request was sent at now. The host's interval counts from here.
func (f *Frontier) Sent(now time.Time, r Request) {
	fl := r.flight
	if fl.sent || fl.settled {
		return
	}
	fl.sent, fl.sentAt = true, now
	h := fl.host
	h.state = h.policy.Sent(h.state, now)
	h.domain.interval = h.domain.interval.Sent(now)
	f.left(fl, now)
	f.look(h, now)
}

// Looking reports that the DNS lookup for a request started (or is queued), or ended.
func (f *Frontier) Looking(now time.Time, r Request, looking bool) {
	fl := r.flight
	if fl.looking == looking || fl.settled {
		return
	}
	fl.looking = looking
	if looking {
		fl.host.rare().lookups++
	} else {
		fl.host.rare().lookups--
	}
	f.look(fl.host, now)
}

// MaybeSent reports that a request may have been sent, though it is not known when: its
// token counts as used.
func (f *Frontier) MaybeSent(r Request) { r.flight.spend(RequestToken) }

// left records that a request is no longer about to be sent, and re-evaluates the
// hosts that waited for that.
func (f *Frontier) left(fl *flight, now time.Time) {
	h := fl.host
	h.leaving--
	h.domain.leaving--
	if fl.spaced {
		h.domain.spaced--
	}
	waiters := h.domain.waiters
	if len(waiters) == 0 {
		return
	}
	h.domain.waiters = nil
	for _, w := range waiters {
		w.behind = false
		if w != h {
			f.look(w, now)
		}
	}
}

// Skip reports that no request was sent for a page: its visit has an outcome without
// one. A skipped sitemap is forgotten.
func (f *Frontier) Skip(now time.Time, r Request) {
	fl := r.flight
	f.callOff(fl, now)
	if fl.kind == Page {
		fl.host.settled++
	} else {
		fl.host.domain.under--
	}
	f.look(fl.host, now)
}

// PutBack returns a page to its queue, as if it had not been handed out. left reports
// whether the request had been sent after all, and so changed the state of the host.
func (f *Frontier) PutBack(now time.Time, r Request) (left bool) {
	fl := r.flight
	f.callOff(fl, now)
	fl.host.domain.under--
	switch fl.kind {
	case Page:
		fl.queue.finish(fl)
		fl.queue.keep(fl.entry, f)
	case Robots:
		fl.host.robots = robotsUnknown
	case Sitemap:
		if !fl.job.stopped {
			f.queueFor(r.URL, r.Job, now) // it may have been removed meanwhile
			fl.host.addErrand(f, Errand{URL: r.URL, Job: r.Job})
		}
	}
	f.look(fl.host, now)
	return fl.sent
}

// callOff cancels a request. If it was sent after all, it says nothing about the host.
func (f *Frontier) callOff(fl *flight, now time.Time) {
	fl.settled = true
	if !fl.sent {
		f.returnTurn(fl, now)
		if fl.watched && f.suspect != fl {
			fl.queue.watch++ // another URL is watched instead
		}
	}
	if h := fl.host; fl.sent {
		h.state, _ = h.policy.Observe(h.state, now, politeness.Answer{SentAt: fl.sentAt, Fault: politeness.Ours})
	} else {
		f.left(fl, now)
	}
	f.landed(fl, now)
	f.giveBack(fl, PageToken, now)
	f.endRequest(fl, fl.sent, now)
}

// landed records that a request is no longer in flight.
func (f *Frontier) landed(fl *flight, now time.Time) {
	fl.host.flights--
	if !fl.apart {
		f.returned(fl.payer)
	}
	f.freeSlow(fl, now)
	if fl.looking {
		fl.looking = false
		fl.host.rare().lookups--
	}
	f.flights--
	if fl.kind == Robots && !fl.apart {
		f.read(now)
	}
	f.unwatch(fl, now)
}

// read records that a robots.txt request has ended, and re-evaluates hosts that wait
// to request theirs: one for the freed place, a few when half of the places are free,
// and all when no request is left whose end would wake others.
func (f *Frontier) read(now time.Time) {
	f.readers--
	n := min(f.toRead.len(), 1)
	switch {
	case f.readers == 0:
		n = f.toRead.len()
	case f.readers <= f.cfg.Robots/2:
		n = min(f.toRead.len(), f.cfg.Robots)
	}
	for range n {
		h := f.toRead.pop(0)
		h.reading = false
		f.look(h, now)
	}
}

// giveBack returns a token that a request did not use: it fetched no page, or was not sent.
func (f *Frontier) giveBack(fl *flight, k TokenKind, now time.Time) {
	if fl.spend(k) {
		fl.payer.pools[k].tokens++
		f.wakeStarved(fl.payer, k, now)
	}
}

// spend uses up the token of a request, and reports whether it had one.
func (fl *flight) spend(k TokenKind) bool {
	had := fl.tokens[k]
	if had {
		fl.tokens[k] = false
		fl.payer.pools[k].out--
	}
	return had
}

// endRequest uses up the token of a request that was sent, or returns it.
func (f *Frontier) endRequest(fl *flight, sent bool, now time.Time) {
	if sent {
		fl.spend(RequestToken)
	} else {
		f.giveBack(fl, RequestToken, now)
	}
}

// Settle reports the result of a request. The visit of a page has the outcome that
// applies if it is not tried again; it is nil for other kinds.
func (f *Frontier) Settle(now time.Time, r Request, a Answer, v *visit.Visit) Settled {
	fl := r.flight
	h := fl.host
	sent := fl.sent || a.Sent
	if !fl.sent {
		// It was never sent. The host is treated as if it just got a request.
		h.state = h.policy.Sent(h.state, now)
		h.domain.interval = h.domain.interval.Sent(now)
		fl.sent, fl.sentAt = true, now
		f.left(fl, now)
	}
	fl.settled = true
	h.slow = fl.dragged
	a.SentAt = fl.sentAt
	if fl.kind == Page {
		a.Tries = fl.entry.tries
	}
	f.landed(fl, now)
	f.endRequest(fl, sent, now)
	f.notice(now, fl, a)
	doubtful := a.Fault != politeness.NoFault && !a.Answered
	if _, down := f.outage.Down(); doubtful && (down || fl.takenAt.Before(f.upAt)) {
		a.Fault = politeness.Ours
	}
	var e politeness.Effect
	h.state, e = h.policy.Observe(h.state, now, a.Answer)
	if f.cfg.Trace.Settled != nil {
		f.cfg.Trace.Settled(now, r, e)
	}
	if doubtful && e.Charge() == politeness.ChargeFailure {
		f.charge(fl, now)
	}
	if fl.kind != Page {
		h.domain.under--
	}
	if a.Fault == politeness.NoFault {
		h.lastAt = tickAt(now)
		f.addressOf(h, a.Remote)
	}
	s := Settled{Effect: e}
	switch fl.kind {
	case Page:
		s = f.settlePage(now, r, a, v, e, doubtful)
	case Robots:
		if h.robots == robotsAsked {
			h.robots = robotsUnknown // until the caller reports what it read
		}
	case Sitemap:
	}
	f.look(h, now)
	return s
}

func (f *Frontier) settlePage(now time.Time, r Request, a Answer, v *visit.Visit, e politeness.Effect, doubtful bool) Settled {
	fl := r.flight
	h, q, t := fl.host, fl.queue, fl.entry
	t.tries = t.tries.Add(e.Charge())
	q.tenure = q.tenure.Observe(e)
	s := Settled{Effect: e, Attempt: int(t.tries.Refusals) + int(t.tries.Failures)}
	h.settled++
	again := v.Outcome != visit.Blocked && (a.Fault != politeness.NoFault || a.Status >= 500 || a.Status == http.StatusTooManyRequests) ||
		a.Status == http.StatusForbidden && h.policy.Refuses403
	if again && (a.Fault == politeness.Ours || q.policy.Retries(t.tries)) {
		s.Verdict, fl.again = Again, true
	}
	if s.Verdict == Ended && v.Outcome.Page() {
		q.pages++
		fl.spend(PageToken)
		return s
	}
	f.giveBack(fl, PageToken, now)
	if s.Verdict == Ended && doubtful {
		s.Verdict = InDoubt
		f.doubts = append(f.doubts, doubt{now, r, v, s})
	}
	return s
}

// Committed reports that the visits of requests are durable.
func (f *Frontier) Committed(now time.Time, requests []Request) {
	for i := range requests {
		fl := requests[i].flight
		h, q := fl.host, fl.queue
		h.settled--
		h.domain.under--
		u := fl.entry.url
		q.finish(fl)
		if fl.forbidden {
			f.forbidding--
		}
		if !fl.again {
			delete(f.suspects, u)
			if q.asked > 0 || q.sifting {
				held := q.own()
				if held.ended == nil {
					held.ended = map[weburl.URL]struct{}{}
				}
				held.ended[u] = struct{}{}
			}
		} else {
			t := fl.entry
			t.again = min(t.again+1, mostAgain)
			f.number++
			it := f.recount(t, fl.job.ID)
			t.order = order(&it, t.again, f.number)
			q.keep(t, f)
		}
		f.look(h, now)
	}
}

// notice reports an attempt to the outage detector. When that detects that our own
// network is down, the failures it is based on are refunded: those of the last
// seconds, and all since the last success.
func (f *Frontier) notice(now time.Time, fl *flight, a Answer) {
	h := fl.host
	_, before := f.outage.Down()
	try := politeness.Attempt{Domain: h.domain.name, Fault: a.Fault, Sent: fl.takenAt, Answered: a.Answered, FirstByte: a.FirstByte, Local: a.Local}
	if h.lastAt != 0 {
		try.Heard = now.Add(-h.lastAt.since(now))
	}
	f.outage = f.outage.Observe(now, try)
	_, down := f.outage.Down()
	if a.Fault == politeness.NoFault {
		old := 0
		for old < len(f.charged) && now.Sub(f.charged[old].at) > doubtFor {
			old++
		}
		f.charged = slices.Delete(f.charged, 0, old)
		if !down {
			for i := range f.doubts {
				if f.doubts[i].at.Before(a.SentAt) || now.Sub(f.doubts[i].at) >= doubtFor {
					f.doubts[i].at = now.Add(-doubtFor)
				}
			}
		}
	}
	if down && !before {
		f.refund(now)
	}
	if before && !down {
		f.networkUp(now)
	}
}

// Heard reports that a response arrived at a time, though the exchange continues.
func (f *Frontier) Heard(now, at time.Time) {
	_, before := f.outage.Down()
	f.outage = f.outage.Heard(at)
	if _, down := f.outage.Down(); before && !down {
		f.networkUp(now)
	}
}

// networkUp re-evaluates the hosts that waited for our own network.
func (f *Frontier) networkUp(now time.Time) {
	stalled := f.stalled
	f.stalled, f.canary, f.canaryAt, f.upAt = nil, nil, time.Time{}, now
	for _, s := range stalled {
		s.stalled = false
		f.look(s, now)
	}
}

// chooseCanary lets one host send a request while our own network is down: of those
// that wait for the network and are otherwise ready, the one that responded last.
func (f *Frontier) chooseCanary(now time.Time) {
	if _, down := f.outage.Down(); !down || !f.outage.Admit(now).Go() || now.Before(f.canaryAt) || f.canary != nil && f.canary.line == inReady {
		return
	}
	slices.SortStableFunc(f.stalled, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.lastAt.since(now), b.lastAt.since(now)), cmp.Compare(a.number, b.number))
	})
	for _, h := range f.stalled[:min(len(f.stalled), maxCanaries)] {
		f.canary = h
		if f.look(h, now); h.line == inReady {
			return
		}
	}
	f.canary, f.canaryAt = nil, now.Add(canaryAgain)
	f.stalled = slices.DeleteFunc(f.stalled, func(h *host) bool {
		h.stalled = h.stage != gone && h.wait == waitingNetwork
		return !h.stalled
	})
}

// canaryDue is when a canary may be sent; zero while our own network is up, or if no
// host waits for it.
func (f *Frontier) canaryDue() time.Time {
	if _, down := f.outage.Down(); !down || len(f.stalled) == 0 || f.canary != nil && f.canary.line == inReady {
		return time.Time{}
	}
	return later(f.outage.Admit(time.Time{}).Until, f.canaryAt)
}

// refund takes back the failures that were charged to hosts.
func (f *Frontier) refund(now time.Time) {
	for _, c := range slices.Backward(f.charged) {
		h := c.flight.host
		h.state = h.policy.ClearFailures(h.state)
		switch c.flight.kind {
		case Page:
			c.flight.queue.tenure, c.flight.entry.tries = c.tenure, c.tries
			f.recount(c.flight.entry, c.flight.job.ID)
		case Robots:
			if h.robots == robotsClosed {
				h.robotsDue = at(now) // the failure was not the host's
			}
		case Sitemap:
		}
		f.look(h, now)
	}
	f.charged = nil
	for i := range f.doubts {
		d := &f.doubts[i]
		fl := d.request.flight
		d.settled.Verdict, fl.again = Again, true
		d.settled.Attempt = int(fl.entry.tries.Refusals) + int(fl.entry.tries.Failures)
		d.at = now.Add(-doubtFor)
	}
}

// charge remembers a failure that is about to be charged to a host.
func (f *Frontier) charge(fl *flight, now time.Time) {
	if len(f.charged) >= maxCharged {
		f.charged = slices.Delete(f.charged, 0, maxCharged/2)
	}
	c := charged{at: now, flight: fl}
	if fl.kind == Page {
		c.tries, c.tenure = fl.entry.tries, fl.queue.tenure
	}
	f.charged = append(f.charged, c)
}

// resolve returns the visits that are no longer in doubt.
func (f *Frontier) resolve(now time.Time) {
	f.doubts = slices.DeleteFunc(f.doubts, func(d doubt) bool {
		if now.Sub(d.at) < doubtFor {
			return false
		}
		if d.settled.Verdict == InDoubt {
			d.settled.Verdict = Ended
		}
		f.batch.Resolved = append(f.batch.Resolved, Resolved{Request: d.request, Visit: d.visit, Settled: d.settled})
		return true
	})
}

// Grant reports how many tokens a job was given. With none the job waits until some are
// returned.
func (f *Frontier) Grant(now time.Time, id job.ID, k TokenKind, n int) {
	j := f.jobs[id]
	p := &j.pools[k]
	near := p.scarce || p.exhausted
	p.asking = false
	p.exhausted = n == 0
	p.scarce = n < p.wanted
	if k == PageToken && p.starved.len() > 0 { // too few were requested, or too late
		p.stock = min(tokensAtOnce, max(4*p.stock, p.starved.len()))
	}
	p.tokens += n
	j.looked = 0
	f.wakeStarved(j, k, now)
	reached := !near && (p.scarce || p.exhausted) // what the others wait for has changed
	if p.tokens > 0 || !p.exhausted && !reached {
		return
	}
	for i := range p.starved.len() {
		h := p.starved.at(i)
		if q := h.queue(id); q != nil && (reached || h.queues.next != nil || q.low(f)) {
			f.look(h, now) // other jobs need not wait for its turn, nor forbidden URLs for a token
		}
	}
}

// wakeStarved re-evaluates hosts until as many are ready as there are tokens, and
// reports whether any is. Hosts that must get URLs first may be late for the tokens;
// only a few of them are woken at a time.
func (f *Frontier) wakeStarved(j *jobState, k TokenKind, now time.Time) (woke bool) {
	p := &j.pools[k]
	for n, hungry := p.tokens, 0; n > 0 && hungry < wokenHungry && p.starved.len() > 0; {
		h := p.starved.pop(0)
		if q := h.queue(j.ID); q != nil {
			q.starving[k] = false
		}
		f.look(h, now)
		switch h.line {
		case inReady:
			n--
			woke = true
		case inHungry:
			hungry++
		case noLine:
		}
	}
	return woke
}

// wokenHungry is how many hosts without URLs are woken for tokens at a time.
const wokenHungry = 64

// Again lets a job that was given no tokens request them again: other workers may have
// returned some.
func (f *Frontier) Again(id job.ID) {
	j := f.jobs[id]
	if j == nil {
		return
	}
	if f.Exhausted(id) {
		j.pools[PageToken].exhausted = false
	}
	j.pools[RequestToken].exhausted = false
}

// Exhausted reports whether the job has used up its page limit: no token is left, and
// none can be returned.
func (f *Frontier) Exhausted(id job.ID) bool {
	p := &f.jobs[id].pools[PageToken]
	return p.exhausted && p.tokens == 0 && p.out == 0
}

// Starved reports whether a URL of the job in memory waits for nothing but a page token, as
// far as a few hosts tell.
func (f *Frontier) Starved(id job.ID) bool {
	j := f.jobs[id]
	p := &j.pools[PageToken]
	for i := range min(p.starved.len(), wokenHungry) {
		h := p.starved.at(i)
		if q := h.queue(id); q != nil && h.stage == live && h.robots == robotsKnown && j.lacks(PageToken) && q.open() && f.peel(q) {
			return true
		}
	}
	return false
}

// Unspent takes back the tokens of a job if none was used or granted since the last
// call, to be returned: other workers may have hosts for them.
func (f *Frontier) Unspent(id job.ID) (pages, requests int) {
	j := f.jobs[id]
	if turn := j.claim.turn + 1; turn != j.looked {
		j.looked = turn
		return 0, 0
	}
	return f.Unused(id)
}

// Unused takes back the tokens of a job that are not in use, to be returned.
func (f *Frontier) Unused(id job.ID) (pages, requests int) {
	var n [tokenKinds]int
	for k := range tokenKinds {
		p := &f.jobs[id].pools[k]
		n[k] = p.tokens
		p.tokens, p.stock = 0, 0
	}
	return n[PageToken], n[RequestToken]
}
