package frontier

import (
	"container/heap"
	"time"
)

// Fairness. Places in the worker pool are scarce when there are many hosts. The
// tenant that holds the fewest places is served first, and within it the job that
// holds the fewest. Places are counted, not requests, because a place is held for
// as long as a host takes to respond, which is unknown in advance. Ties go to the
// one served longest ago. Which job is next on a host is decided by [host.rotate].

// claim is the places a tenant or job holds, and its position in the contest for
// more.
type claim struct {
	held  int    // places held
	turn  uint64 // when it was last served
	place int    // index in the contest; -1 when not in it
}

func (c *claim) claimed() *claim { return c }

// tenant is the owner of jobs.
type tenant struct {
	claim
	name string
	all  []*jobState // all its known jobs
	jobs contest[*jobState]

	rate     int64 // requests a second; 0 means no limit
	window   window
	free     int  // usable turns; see rate.go
	lined    int  // hosts queued for a place, including stale entries
	turnless int  // hosts of all its jobs that wait for turns
	passed   bool // a host was used by other tenants because this one had no turn
	waking   bool // one of its hosts is being re-evaluated, and a turn is available for it
	asking   bool // turns were requested
}

// contest is a heap of those that want places, the next one first.
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

// set inserts, removes or moves x.
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

// contend updates the positions of a job and its tenant in the contest.
func (f *Frontier) contend(j *jobState) {
	j.tenant.jobs.set(j, j.ready.len() > 0)
	f.tenants.set(j.tenant, len(j.tenant.jobs) > 0)
}

// lineUp appends a ready host to the queue of the job whose turn it is there, or to
// the queue for rate-limit turns if the tenant has none.
func (f *Frontier) lineUp(h *host, now time.Time) {
	if h.standing[inReady] {
		h.line = inReady
		return // still in the queue from before
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

// served counts a place given to a job.
func (f *Frontier) served(j *jobState) {
	f.number++
	j.held++
	j.tenant.held++
	j.claim.turn, j.tenant.claim.turn = f.number, f.number
	f.contend(j)
}

// returned counts a place that a job has released. The job may have been dropped.
func (f *Frontier) returned(j *jobState) {
	j.held--
	j.tenant.held--
	f.contend(j)
}

// readyHosts is the number of queued hosts, including stale entries.
func (f *Frontier) readyHosts() int {
	n := 0
	for _, j := range f.jobList {
		n += j.ready.len()
	}
	return n
}
