package simweb_test

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"headway/frontier"
	"headway/politeness"
	"headway/robots"
	"headway/visit"
)

// job is a requested crawl: what it wants and how careful it is.
type job struct {
	policy   politeness.Policy
	patience time.Duration
	start    time.Duration // after the crawl began
	hosts    []string
	paths    []string // of each host; nil means all pages
	pages    int      // of each host; 0 means all, unless there are paths
}

// target is one URL of one job.
type target struct {
	path    string
	tries   politeness.Tries
	outcome visit.Outcome
	reason  visit.Reason
}

func (t *target) ended() bool { return t.outcome != visit.Pending }

func (t *target) end(o visit.Outcome, r visit.Reason) { t.outcome, t.reason = o, r }

// queue is what one job wants of one host.
type queue struct {
	job      *job
	host     *host
	tenure   politeness.Tenure
	waiting  []*target
	inFlight int
}

// host is a host and what jobs want of it.
type host struct {
	name    string
	domain  string
	address string // "" where no other host shares it
	pages   int
	silent  bool // it refuses without Retry-After

	state   politeness.State
	policy  politeness.Policy // of all jobs that have work here
	robots  robotsState
	queues  []*queue  // of those jobs, the one to be served next in front
	targets []*target // ever wanted

	until  time.Time  // when to look again; zero: after an answer
	reason visit.Wait // what it waits for
	booked frontier.State
}

// robotsState is what is known of a host's robots.txt.
type robotsState uint8

const (
	robotsUnknown robotsState = iota
	robotsAsked
	robotsKnown
)

// enqueue adds what a job wants of the host, and says whether that is anything.
func (h *host) enqueue(j *job, now time.Time) bool {
	if !slices.Contains(j.hosts, h.name) {
		return false
	}
	q := &queue{job: j, host: h, tenure: politeness.NewTenure(now)}
	paths := j.paths
	if paths == nil {
		n := h.pages
		if j.pages > 0 {
			n = min(n, j.pages)
		}
		for i := range n {
			paths = append(paths, pagePath(i))
		}
	}
	for _, p := range paths {
		q.waiting = append(q.waiting, &target{path: p, outcome: visit.Pending})
	}
	h.targets = append(h.targets, q.waiting...)
	h.queues = append(h.queues, q)
	h.merge()
	return true
}

// pagePath is where the lab keeps page n of a host.
func pagePath(n int) string {
	const sections = 17
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/s%d/p%d.html", n%sections, n)
}

// merge makes the policy the most careful of the jobs that have work here.
func (h *host) merge() {
	for i, q := range h.queues {
		if i == 0 {
			h.policy = q.job.policy
		} else {
			h.policy = politeness.Merge(h.policy, q.job.policy)
		}
	}
}

// tidy drops the queues of jobs that have no more work here.
func (h *host) tidy() {
	n := len(h.queues)
	h.queues = slices.DeleteFunc(h.queues, func(q *queue) bool { return len(q.waiting) == 0 && q.inFlight == 0 })
	if len(h.queues) != n {
		h.merge()
	}
}

// waiting is how many URLs wait.
func (h *host) waiting() (n int) {
	for _, q := range h.queues {
		n += len(q.waiting)
	}
	return n
}

func (h *host) hasWork() bool { return len(h.queues) > 0 }

// doing is the one state the host is in.
func (h *host) doing() frontier.State {
	switch {
	case !h.hasWork():
		return frontier.NoWork
	case h.robots == robotsAsked:
		return frontier.Waiting(visit.WaitRobots)
	case h.state.InFlight() > 0:
		return frontier.Fetching
	default:
		return frontier.Waiting(h.reason)
	}
}

// next takes the URL that has waited longest from the job whose turn it is.
func (h *host) next() (*queue, *target) {
	i := slices.IndexFunc(h.queues, func(q *queue) bool { return len(q.waiting) > 0 })
	q := h.queues[i]
	h.queues = append(slices.Delete(h.queues, i, i+1), q)
	t := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.inFlight++
	return q, t
}

// settle ends a URL or lets it wait for another turn. It goes to the end of
// the queue, so that a canary is another URL each time.
func (q *queue) settle(h *host, t *target, a politeness.Answer, e politeness.Effect) {
	q.inFlight--
	t.tries = t.tries.Add(e.Charge())
	outcome, reason := outcomeOf(a)
	again := a.Fault != politeness.NoFault || a.Status >= 500 || a.Status == http.StatusTooManyRequests ||
		a.Status == http.StatusForbidden && h.policy.Refuses403
	if again && (a.Fault == politeness.Ours || q.job.policy.Retries(t.tries)) {
		q.waiting = append(q.waiting, t)
		return
	}
	t.end(outcome, reason)
}

// outcomeOf reads an answer that is final.
func outcomeOf(a politeness.Answer) (visit.Outcome, visit.Reason) {
	switch a.Fault {
	case politeness.NoFault:
		return visit.OfStatus(a.Status)
	case politeness.DNS:
		return visit.Failed, visit.DNS
	case politeness.Connect:
		return visit.Failed, visit.Connect
	case politeness.TLS:
		return visit.Failed, visit.TLS
	case politeness.Timeout:
		return visit.Failed, visit.Timeout
	case politeness.Reset:
		return visit.Failed, visit.Truncated
	default:
		return visit.Failed, visit.Protocol
	}
}

// reopen makes a URL wait again that had ended by mistake.
func (q *queue) reopen(t *target) {
	t.end(visit.Pending, "")
	q.waiting = append(q.waiting, t)
	if !slices.Contains(q.host.queues, q) {
		q.host.queues = append(q.host.queues, q)
		q.host.merge()
	}
}

// park ends everything that waits.
func (q *queue) park(o visit.Outcome, r visit.Reason) {
	for _, t := range q.waiting {
		t.end(o, r)
	}
	q.waiting = nil
}

// takeBack lets a URL wait again whose request was cut by a crash.
func (h *host) takeBack(r *result) {
	if r.target == nil {
		h.robots = robotsUnknown
		return
	}
	r.queue.inFlight--
	r.queue.waiting = slices.Insert(r.queue.waiting, 0, r.target)
}

// agent is who we are to robots.txt.
const agent = "headway"

// readRobots takes in an answer to robots.txt. While it cannot be read the host
// is asked again for it, and for nothing else.
func (h *host) readRobots(r *result) {
	h.robots = robotsUnknown
	if r.answer.Fault != politeness.NoFault || r.answer.Status >= 500 || r.answer.Status == http.StatusTooManyRequests {
		return
	}
	h.robots = robotsKnown
	if r.answer.Status == http.StatusOK {
		delay, _ := robots.Parse(r.body).For(agent).Delay()
		h.state = h.state.WithCrawlDelay(delay)
	}
}
