package frontier

import (
	"net/netip"
	"slices"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// stage is how far a host is known.
type stage uint8

const (
	loading  stage = iota // its state is wanted from the store
	live                  // it is scheduled
	yielding              // another process has asked for its domain: nothing new is sent
)

// robotsStage is what is known of a host's robots.txt.
type robotsStage uint8

const (
	robotsUnknown robotsStage = iota
	robotsAsked
	robotsKnown  // and pages may go until it is due again
	robotsClosed // it could not be read: nothing goes until it is due again
)

// line is in which line a host stands that could be asked.
type line uint8

const (
	noLine   line = iota
	inReady       // for a place among the fetches
	inHungry      // for URLs from the store
)

// host is a host with work, or one that had some a moment ago.
type host struct {
	name    string
	number  uint64 // when it last had its turn, or came: the smallest goes first
	index   int32  // in the list of all
	sibling int32  // in the list of its domain
	domain  *domain
	address *address // nil before the first answer, and where none applies

	stage  stage
	asked  bool // a load is under way
	stale  bool // the load under way was asked for before the domain was given up
	state  politeness.State
	policy *politeness.Policy // of all jobs that have work here

	robots     robotsStage
	robotsEver bool   // it has answered once
	robotsDue  moment // when it is asked for again

	queues  []*queue       // of jobs, the one to be served next in front
	pages   map[job.ID]int // of jobs with a limit per host that have no queue
	errands []Errand       // in order
	turn    bool           // an errand comes before a page next

	leaving int32 // handed out, not known to have been sent
	flights int32 // handed out, not answered
	settled int32 // answered, not committed

	stalled bool // in the list of those that wait for our network
	behind  bool // in the list of those that wait for another host of the domain
	reading bool // in the line for a place among those that ask for robots.txt

	line     line
	passed   uint8   // how often it was passed over for one with an open connection
	standing [3]bool // where it stands, though it may have left the line
	wait     State   // what it waits for; NoWork is nothing
	booked   State
	place    int32  // in the clock, -1 outside it
	until    moment // when to look again; none: after something happened
	idleAt   moment // when it last had work
	lastAt   moment // when it last answered: its connection may be open
}

// Errand is a request that is no page: a sitemap. It takes its turn on the
// host's clock, alternating with pages, and is not stored.
type Errand struct {
	URL weburl.URL
	Job job.ID
}

// domain is what the hosts of a registrable domain share.
type domain struct {
	name     string
	hosts    []*host
	interval politeness.Interval
	waiters  []*host // hosts that wait for requests that are leaving
	leaving  int32   // requests of it that are not known to have been sent
	spaced   int32   // those of them that keep an interval
	under    int32   // requests of it that are under way or not committed
	giving   bool    // another process has asked for it, and it is not given up yet
	quiet    bool    // that nothing is under way any more was said
	yielding bool    // it was given up
}

// address is what the hosts on one address share.
type address struct {
	addr     netip.Addr
	hosts    int // with work
	known    int // that answer there
	interval politeness.Interval
}

// queue returns what a job wants of the host, or nil.
func (h *host) queue(id job.ID) *queue {
	for _, q := range h.queues {
		if q.job.ID == id {
			return q
		}
	}
	return nil
}

// hasWork tells whether anything of the host waits or is under way.
func (h *host) hasWork() bool {
	return h.flights > 0 || h.settled > 0 || len(h.errands) > 0 || slices.ContainsFunc(h.queues, func(q *queue) bool { return !q.idle() })
}

// merge makes the policy the most careful of the jobs that have work here.
func (h *host) merge() {
	for i, q := range h.queues {
		p := q.policy
		switch {
		case i == 0:
			h.policy = p
		case p != h.policy:
			m := politeness.Merge(*h.policy, *p)
			h.policy = &m
		}
	}
}

// forgetErrands drops the errands of a job.
func (h *host) forgetErrands(id job.ID) {
	if len(h.errands) > 0 {
		h.errands = slices.DeleteFunc(h.errands, func(e Errand) bool { return e.Job == id })
	}
}

// tidy drops the queues of jobs that have no more work here.
func (h *host) tidy() {
	n := len(h.queues)
	if n <= 1 {
		return // the last one is kept: links to the host will come
	}
	h.queues = slices.DeleteFunc(h.queues, func(q *queue) bool {
		if q.idle() && q.job.MaxPagesPerHost > 0 {
			if h.pages == nil {
				h.pages = map[job.ID]int{}
			}
			h.pages[q.job.ID] = q.pages
		}
		return q.idle()
	})
	if len(h.queues) != n {
		h.merge()
	}
}

// doing is the one state the host is in.
func (h *host) doing() State {
	switch {
	case !h.hasWork():
		return NoWork
	case h.robots == robotsAsked:
		return Waiting(visit.WaitRobots)
	case h.flights > 0:
		return Fetching
	case h.wait == NoWork:
		return Waiting(visit.WaitStorage) // for the commit of what was answered
	default:
		return h.wait
	}
}
