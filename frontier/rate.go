package frontier

import (
	"slices"
	"time"

	"headway/visit"
)

// Rate limits of tenants. A tenant whose plan limits its requests per second has
// turns: times at which one of its requests may start, on whichever worker. Turns come
// in windows that the caller reserves; during a window no other worker sends requests
// for this tenant. A host whose next request has no turn waits in the queue of its job
// (budget); jobs of the tenant are served in turn. Tenants without a rate are not
// affected.

const (
	// windowFor is the maximum length of a window, so that little is lost when a worker
	// dies and others do not wait long; a single turn may be as long.
	windowFor = time.Second
	// maxTurns is how many turns are requested at a time.
	maxTurns = 10_000
	// maxRate is the largest rate; a higher one is treated as this.
	maxRate = 1_000_000
	// turnLate is how late a turn may be used. After that it is lost, except the last
	// of a window: else a host that others keep busy would never be ready in time.
	turnLate = 100 * time.Millisecond
)

// Turns requests a window of turns; answer with [Frontier.Given].
type Turns struct {
	Tenant string
	Rate   int64 // per second
	N      int
}

// Length is the length of the window.
func (t Turns) Length() time.Duration {
	return (time.Duration(t.N)*time.Second + time.Duration(t.Rate) - 1) / time.Duration(t.Rate)
}

// window is a reserved window of turns, one every 1/rate from its start.
type window struct {
	from    time.Time
	rate    int64
	n, next int // number of turns, and the first that is neither used nor lost
}

// come is how many turns have come by now and are usable.
func (w *window) come(now time.Time) int {
	passed := min(now.Sub(w.from), 2*windowFor) // beyond this all turns have passed
	if w.n == 0 || passed < 0 {
		return 0
	}
	if late := passed - turnLate; late > 0 {
		lost := int((late*time.Duration(w.rate) + time.Second - 1) / time.Second)
		w.next = max(w.next, min(lost, w.n-1))
	}
	return w.due(passed) - w.next
}

// due is how many turns have come, including used and lost ones.
func (w *window) due(passed time.Duration) int {
	if passed < 0 {
		return 0
	}
	return min(int(passed*time.Duration(w.rate)/time.Second)+1, w.n)
}

// after is when the next turn comes; zero if there is none.
func (w *window) after(now time.Time) time.Time {
	k := w.due(min(now.Sub(w.from), 2*windowFor))
	if k >= w.n {
		return time.Time{}
	}
	return w.from.Add((time.Duration(k)*time.Second + time.Duration(w.rate) - 1) / time.Duration(w.rate))
}

// refresh counts the turns that are usable now.
func (t *tenant) refresh(now time.Time) {
	if t.rate > 0 {
		t.free = t.window.come(now)
	}
}

// shut reports whether every usable turn is taken: by hosts that wait for a place, or
// by those that wait for turns, unless one of these is being re-evaluated.
func (t *tenant) shut() bool {
	return t.rate > 0 && (t.free <= t.lined || t.turnless > 0 && !t.waking)
}

// setRate sets the rate of a tenant to the lowest of its jobs.
func (f *Frontier) setRate(t *tenant) {
	before := t.rate
	t.rate = 0
	for _, j := range t.all {
		if r := min(j.Rate, maxRate); r > 0 && !j.stopped && (t.rate == 0 || r < t.rate) {
			t.rate = r
		}
	}
	switch {
	case before == 0 && t.rate > 0:
		f.rated = append(f.rated, t)
	case before > 0 && t.rate == 0:
		f.rated = slices.DeleteFunc(f.rated, func(x *tenant) bool { return x == t })
		f.unrated = append(f.unrated, t)
	}
	f.turnsDue = true
}

// refreshTurns counts the turns of the tenants with work on a host.
func (f *Frontier) refreshTurns(h *host, now time.Time) {
	for q := h.queues; q != nil; q = q.next {
		q.job.tenant.refresh(now)
	}
	for _, e := range h.errands {
		f.jobs[e.Job].tenant.refresh(now)
	}
}

// wantTurns queues a host for turns, for all its tenants without one: the first to get
// a turn uses the host. If a job with a turn goes first, the others are recorded, and
// the turn they get is kept until the host is ready.
func (f *Frontier) wantTurns(h *host, j *jobState) {
	shut := j.tenant.shut()
	for q := h.queues; q != nil; q = q.next {
		t := q.job.tenant
		switch {
		case !t.shut() || h.turnless(t) || q.job != j && !(q.waits() && q.may()):
		case !shut:
			f.turnsDue = f.turnsDue || !t.passed
			t.passed = true
		default:
			q.turnless = true
			q.job.turnless.push(h)
			t.turnless++
			f.turnsDue = true
		}
	}
}

// turnless reports whether the host waits for a turn of the tenant, for any of its jobs.
func (h *host) turnless(t *tenant) bool {
	for q := h.queues; q != nil; q = q.next {
		if q.turnless && q.job.tenant == t {
			return true
		}
	}
	return false
}

// useTurn uses a turn for a request.
func (f *Frontier) useTurn(fl *flight, t *tenant, now time.Time) {
	if t.rate == 0 {
		return
	}
	t.window.next++
	t.free--
	fl.turn = tickAt(now)
	f.turnsDue = true
}

// returnTurn returns the turn of a request that was not sent, unless it has expired.
func (f *Frontier) returnTurn(fl *flight, now time.Time) {
	if t := fl.payer.tenant; t.rate > 0 && fl.turn.since(now) <= turnLate && t.window.next > 0 {
		t.window.next--
		t.refresh(now)
		f.turnsDue = true
	}
	fl.turn = 0
}

// giveTurns re-evaluates hosts that wait for turns which have come, and requests more
// where all are used. It reports whether a host became ready.
func (f *Frontier) giveTurns(now time.Time) (woke bool) {
	if !f.turnsDue && (f.turnAt.IsZero() || now.Before(f.turnAt)) {
		return false
	}
	f.turnsDue, f.turnAt = false, time.Time{}
	for _, t := range f.unrated { // their hosts need no turns any more
		for t.rate == 0 && f.wakeTurnless(t, now) {
			woke = true
		}
	}
	f.unrated = f.unrated[:0]
	for _, t := range f.rated {
		t.refresh(now)
		for t.free > t.lined && f.wakeTurnless(t, now) {
			woke = true
		}
		n := t.turnless
		if t.passed {
			n = max(n, 1)
		}
		switch {
		case n == 0:
		case t.window.next < t.window.n:
			f.turnAt = earlier(f.turnAt, t.window.after(now))
		case !t.asking:
			t.asking, t.passed = true, false
			most := min(max(t.rate*int64(windowFor/time.Second), 1), maxTurns)
			f.batch.Turns = append(f.batch.Turns, Turns{Tenant: t.name, Rate: t.rate, N: min(n, int(most))})
		}
	}
	return woke
}

// wakeTurnless re-evaluates the next host that waits for a turn of the tenant, and
// reports whether there was one.
func (f *Frontier) wakeTurnless(t *tenant, now time.Time) bool {
	var next *jobState
	for _, j := range t.all {
		if j.turnless.len() > 0 && (next == nil || j.claim.turn < next.claim.turn) {
			next = j
		}
	}
	if next == nil {
		return false
	}
	h := next.turnless.pop(0)
	t.turnless--
	if q := h.queue(next.ID); q != nil {
		q.turnless = false
	}
	t.waking = true
	f.look(h, now)
	t.waking = false
	return true
}

// lapsed reports whether the turns of a tenant expired while its hosts waited for a
// place. The hosts then wait for new turns.
func (f *Frontier) lapsed(t *tenant, now time.Time) bool {
	t.refresh(now)
	if t.rate == 0 || t.free > 0 {
		return false
	}
	for _, j := range t.all {
		for range j.ready.len() {
			h := j.ready.pop(0)
			t.lined--
			h.standing[inReady] = false
			if h.line == inReady {
				f.look(h, now)
			}
		}
		f.contend(j)
	}
	return true
}

// Given reports when the requested turns start; see [Batch.Turns].
func (f *Frontier) Given(turns Turns, from time.Time) {
	if t := f.byTenant[turns.Tenant]; t != nil {
		t.asking = false
		t.window = window{from: from, rate: turns.Rate, n: turns.N}
		f.turnsDue = true
	}
}

// forgetTurns removes a job from the queue for turns.
func (f *Frontier) forgetTurns(j *jobState) {
	j.tenant.turnless -= j.turnless.len()
	j.turnless = deque{}
	f.setRate(j.tenant)
}

// waitingBudget is the state of a host that waits for a turn.
var waitingBudget = Waiting(visit.WaitBudget)
