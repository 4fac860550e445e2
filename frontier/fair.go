package frontier

import (
	"container/heap"
	"time"
)

// Places among the fetches are few where there are many hosts. Whoever holds the
// fewest of them is served first, tenants before jobs: a deficit counted in
// places, not in requests, because a place is held for as long as a host takes to
// answer, and that nobody knows beforehand. Of equals the one goes first whose
// last turn was longest ago. Which job has its turn on a host is the host's
// affair; see [host.rotate].

// claim is what somebody has of the places, and where it stands among those who
// want more.
type claim struct {
	held  int    // places in use
	turn  uint64 // when it was last served
	place int    // in the contest, -1 outside it
}

func (c *claim) claimed() *claim { return c }

// tenant is whoever asked for jobs.
type tenant struct {
	claim
	name string
	all  []*jobState // those that are known
	jobs contest[*jobState]

	rate     int64 // requests a second; 0 is any
	window   window
	free     int  // turns that may be used
	lined    int  // hosts that stand in line for a place, those that have left it included
	turnless int  // hosts that wait for turns, for all jobs
	passed   bool // a host was asked for others, because it had no turn
	waking   bool // one of its hosts looks again, for which there is a turn
	asking   bool // for turns
}

// contest is those who want places, the one to be served next in front.
type contest[T interface{ claimed() *claim }] []T

// Len implements [heap.Interface].
func (c contest[T]) Len() int { return len(c) }

// Less implements [heap.Interface].
func (c contest[T]) Less(i, j int) bool {
	a, b := c[i].claimed(), c[j].claimed()
	return a.held < b.held || a.held == b.held && a.turn < b.turn
}

// Swap implements [heap.Interface].
func (c contest[T]) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].claimed().place, c[j].claimed().place = i, j
}

// Push implements [heap.Interface].
func (c *contest[T]) Push(x any) {
	x.(T).claimed().place = len(*c)
	*c = append(*c, x.(T))
}

// Pop implements [heap.Interface].
func (c *contest[T]) Pop() any {
	n := len(*c) - 1
	last := (*c)[n]
	var none T
	(*c)[n] = none
	*c = (*c)[:n]
	last.claimed().place = -1
	return last
}

// set lets somebody in or out, or moves it to where it belongs now.
func (c *contest[T]) set(x T, wants bool) {
	switch in := x.claimed().place >= 0; {
	case in && wants:
		heap.Fix(c, x.claimed().place)
	case in:
		heap.Remove(c, x.claimed().place)
	case wants:
		heap.Push(c, x)
	}
}

// contend puts a job and its tenant where they belong among those who want places.
func (f *Frontier) contend(j *jobState) {
	j.tenant.jobs.set(j, j.ready.len() > 0)
	f.tenants.set(j.tenant, len(j.tenant.jobs) > 0)
}

// lineUp puts a host that could be asked at the end of the line of the job whose
// turn it is there, or in that for turns of its tenant where there is none.
func (f *Frontier) lineUp(h *host, now time.Time) {
	if h.standing[inReady] {
		h.line = inReady
		return // one that left the line for a moment has kept its place
	}
	_, _, j := f.turn(h, now)
	if len(f.rated) > 0 {
		f.wantTurns(h, j)
		if j.tenant.shut() {
			h.wait = waitingBudget
			f.move(h, now)
			return
		}
	}
	h.line = inReady
	h.standing[inReady] = true
	j.ready.push(h)
	j.tenant.lined++
	f.contend(j)
}

// served counts a place that a job was given.
func (f *Frontier) served(j *jobState) {
	f.number++
	j.held++
	j.tenant.held++
	j.claim.turn, j.tenant.claim.turn = f.number, f.number
	f.contend(j)
}

// returned counts a place that a job has given back. It may have been dropped.
func (f *Frontier) returned(j *jobState) {
	j.held--
	j.tenant.held--
	f.contend(j)
}

// readyHosts is how many stand in line, those that have left it included.
func (f *Frontier) readyHosts() int {
	n := 0
	for _, j := range f.jobList {
		n += j.ready.len()
	}
	return n
}
