package frontier

import (
	"time"

	"headway/job"
)

// HostTime returns where the time of the hosts of a job went up to now, or nil if the job is
// unknown. At any moment a host with work is charged to one job: the one whose request is
// in flight, or else the next to be served. To the other jobs with work there it is
// [OtherJobs]. So the shares of all jobs without OtherJobs add up to the account of all
// hosts, except for time that is spent for no job, such as that for a robots.txt whose
// jobs have ended.
func (f *Frontier) HostTime(now time.Time, id job.ID) []Share {
	j := f.jobs[id]
	if j == nil {
		return nil
	}
	return j.account.Shares(now)
}

// bookJobs records in the accounts of the jobs that the host does this.
func (h *host) bookJobs(now time.Time, doing State) {
	var charged *queue
	if doing != NoWork {
		charged = h.charged()
	}
	for q := h.queues; q != nil; q = q.next {
		switch {
		case q == charged:
			q.book(now, doing)
		case doing != NoWork && h.hasWorkOf(q):
			q.book(now, OtherJobs)
		default:
			q.book(now, NoWork)
		}
	}
}

// charged is the queue whose job is charged for the host: the first with a request under way,
// or else the first with work. It is nil if no job has work here.
func (h *host) charged() (first *queue) {
	for q := h.queues; q != nil; q = q.next {
		if len(q.busy) > 0 {
			return q
		}
		if first == nil && h.hasWorkOf(q) {
			first = q
		}
	}
	return first
}

// hasWorkOf reports whether anything of a queue's job waits or is in flight.
func (h *host) hasWorkOf(q *queue) bool { return !q.idle() || h.hasErrand(q.job.ID) }

// book records what the host does for the job of the queue.
func (q *queue) book(now time.Time, to State) {
	q.job.account.Move(now, q.booked, to)
	q.booked = to
}
