package frontier

import (
	"slices"
	"time"

	"headway/visit"
)

// A tenant whose plan allows so many requests a second has turns: moments at each of
// which one request of it may start, whichever worker makes it. They come in windows,
// which the caller brings: a stretch of time in which nobody else asks for this
// tenant. A host whose next request has no turn waits in the line of its job
// (budget); jobs of the tenant are served in turn. A tenant without a rate has no part
// in any of this.

const (
	// windowFor is how long a window is at most, so that little is lost with a worker
	// that dies and others are not kept waiting; a single turn may be as long.
	windowFor = time.Second
	// maxTurns is how many turns are asked for at a time.
	maxTurns = 10_000
	// maxRate is what a rate beyond which is as good as none counts as.
	maxRate = 1_000_000
	// turnLate is how late a turn may be used. After that it is lost, except the last
	// of a window: else a host that others keep busy would never be ready in time.
	turnLate = 100 * time.Millisecond
)

// Turns asks for a window of turns; answer with [Frontier.Given].
type Turns struct {
	Tenant string
	Rate   int64 // a second
	N      int
}

// Length is how long the window is.
func (t Turns) Length() time.Duration {
	return (time.Duration(t.N)*time.Second + time.Duration(t.Rate) - 1) / time.Duration(t.Rate)
}

// window is turns that were given to us, one every 1/rate from its beginning.
type window struct {
	from    time.Time
	rate    int64
	n, next int // how many there are, and the first that is neither used nor lost
}

// come is how many turns have come by now and may be used.
func (w *window) come(now time.Time) int {
	passed := min(now.Sub(w.from), 2*windowFor) // beyond it all are past
	if w.n == 0 || passed < 0 {
		return 0
	}
	if late := passed - turnLate; late > 0 {
		lost := int((late*time.Duration(w.rate) + time.Second - 1) / time.Second)
		w.next = max(w.next, min(lost, w.n-1))
	}
	return w.due(passed) - w.next
}

// due is how many turns have come, used and lost ones included.
func (w *window) due(passed time.Duration) int {
	if passed < 0 {
		return 0
	}
	return min(int(passed*time.Duration(w.rate)/time.Second)+1, w.n)
}

// after is when the next turn comes; zero when there is none to come.
func (w *window) after(now time.Time) time.Time {
	k := w.due(min(now.Sub(w.from), 2*windowFor))
	if k >= w.n {
		return time.Time{}
	}
	return w.from.Add((time.Duration(k)*time.Second + time.Duration(w.rate) - 1) / time.Duration(w.rate))
}

// refresh counts the turns that may be used now.
func (t *tenant) refresh(now time.Time) {
	if t.rate > 0 {
		t.free = t.window.come(now)
	}
}

// shut tells whether every turn that may be used is spoken for: by hosts that stand
// in line for a place, or by those that wait for turns, unless one of these looks again.
func (t *tenant) shut() bool {
	return t.rate > 0 && (t.free <= t.lined || t.turnless > 0 && !t.waking)
}

// setRate makes the rate of a tenant the lowest of its jobs'.
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

// refreshTurns counts the turns of the tenants that have a part in a host.
func (f *Frontier) refreshTurns(h *host, now time.Time) {
	for q := h.queues; q != nil; q = q.next {
		q.job.tenant.refresh(now)
	}
	for _, e := range h.errands {
		f.jobs[e.Job].tenant.refresh(now)
	}
}

// wantTurns puts a host in line for turns, for all whose tenants have none: whoever gets
// one first asks the host. Where a job with a turn goes before, the others are noted: the
// turn that they get is kept for when the host is ready.
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

// turnless tells whether the host waits for a turn of the tenant, for any of its jobs.
func (h *host) turnless(t *tenant) bool {
	for q := h.queues; q != nil; q = q.next {
		if q.turnless && q.job.tenant == t {
			return true
		}
	}
	return false
}

// useTurn counts a request for which a job has its turn.
func (f *Frontier) useTurn(fl *flight, t *tenant, now time.Time) {
	if t.rate == 0 {
		return
	}
	t.window.next++
	t.free--
	fl.turn = tickAt(now)
	f.turnsDue = true
}

// returnTurn takes back the turn of a request that has not left, unless it is too late
// for that.
func (f *Frontier) returnTurn(fl *flight, now time.Time) {
	if t := fl.payer.tenant; t.rate > 0 && fl.turn.since(now) <= turnLate && t.window.next > 0 {
		t.window.next--
		t.refresh(now)
		f.turnsDue = true
	}
	fl.turn = 0
}

// giveTurns lets hosts look again that wait for turns which have come, and asks for
// more where all are used. It tells whether a host could go.
func (f *Frontier) giveTurns(now time.Time) (woke bool) {
	if !f.turnsDue && (f.turnAt.IsZero() || now.Before(f.turnAt)) {
		return false
	}
	f.turnsDue, f.turnAt = false, time.Time{}
	for _, t := range f.unrated { // their hosts wait for nothing any more
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

// wakeTurnless lets the next host in line for a turn of the tenant look again, and
// tells whether there was one.
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

// lapsed tells whether the turns of a tenant are gone for which its hosts stand in
// line, because they got no place in time. The hosts wait for others then.
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

// Given tells from when on we have the turns that were asked for; see [Batch.Turns].
func (f *Frontier) Given(turns Turns, from time.Time) {
	if t := f.byTenant[turns.Tenant]; t != nil {
		t.asking = false
		t.window = window{from: from, rate: turns.Rate, n: turns.N}
		f.turnsDue = true
	}
}

// forgetTurns takes a job out of the line for turns that wants none any more.
func (f *Frontier) forgetTurns(j *jobState) {
	j.tenant.turnless -= j.turnless.len()
	j.turnless = deque{}
	f.setRate(j.tenant)
}

// waitingBudget is the state of a host that waits for a turn.
var waitingBudget = Waiting(visit.WaitBudget)
