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
	gone                  // it is no longer kept here
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

// host is a host with work, or one that had some a moment ago. There are many:
// its fields are in an order that leaves no gaps, and what few hosts have is
// kept apart.
type host struct {
	name    string
	next    *host  // in its chain of the table
	number  uint64 // when it last had its turn, or came: the smallest goes first
	domain  *domain
	address *address           // nil before the first answer, and where none applies
	policy  *politeness.Policy // of all jobs that have work here
	queues  *queue             // of jobs, the one to be served next in front
	*rarity
	state politeness.State

	robotsDue moment // when robots.txt is asked for again
	until     moment // when to look again; none: after something happened
	idleAt    tick   // when it last had work
	lastAt    tick   // when it last answered: its connection may be open

	index   int32 // in the list of all
	sibling int32 // in the list of its domain
	place   int32 // in the clock, -1 outside it
	leaving int32 // handed out, not known to have been sent
	flights int32 // handed out, not answered
	settled int32 // answered, not committed

	stage      stage
	asked      bool // a load is under way
	stale      bool // the load under way was asked for before the domain was given up
	robots     robotsStage
	robotsEver bool // it has answered once
	turn       bool // an errand comes before a page next
	stalled    bool // in the list of those that wait for our network
	behind     bool // in the list of those that wait for another host of the domain
	reading    bool // in the line for a place among those that ask for robots.txt
	slow       bool // its last request made no progress for a while
	lingering  bool // in the line for a place among requests without progress
	line       line
	passed     uint8   // how often it was passed over for one with an open connection
	standing   [3]bool // where it stands, though it may have left the line
	wait       State   // what it waits for; NoWork is nothing
	booked     State
}

func (h *host) key() string   { return h.name }
func (h *host) chain() **host { return &h.next }

// rarity is what few hosts have. Those without share noRarity, which nobody
// changes: what is to be changed is asked for with rare.
type rarity struct {
	pages   map[job.ID]int // of jobs with a limit per host that have no queue
	errands []Errand       // in order
	lookups int32          // flights whose name is being looked up
}

var noRarity rarity

// rare returns what few hosts have, to be changed.
func (h *host) rare() *rarity {
	if h.rarity == &noRarity {
		h.rarity = &rarity{}
	}
	return h.rarity
}

// Errand is a request that is no page: a sitemap. It takes its turn on the
// host's clock, alternating with pages, and is not stored.
type Errand struct {
	URL weburl.URL
	Job job.ID
}

// domain is what the hosts of a registrable domain share.
type domain struct {
	name  string
	next  *domain // in its chain of the table
	first *host   // most have one host; nil: none
	*company
	interval politeness.Interval
	leaving  int32 // requests of it that are not known to have been sent
	spaced   int32 // those of them that keep an interval
	under    int32 // requests and parks of it that are under way or not committed
	giving   bool  // another process has asked for it, and it is not given up yet
	quiet    bool  // that nothing is under way any more was said
	yielding bool  // it was given up
}

func (d *domain) key() string     { return d.name }
func (d *domain) chain() **domain { return &d.next }

// company is what a domain with more than one host has. Those without share
// noCompany, which nobody changes: what is to be changed is asked for with shared.
type company struct {
	others  []*host // after the first
	waiters []*host // hosts that wait for requests that are leaving
}

var noCompany company

// shared returns what a domain with more than one host has, to be changed.
func (d *domain) shared() *company {
	if d.company == &noCompany {
		d.company = &company{}
	}
	return d.company
}

// hosts is how many there are.
func (d *domain) hosts() int {
	if d.first == nil {
		return 0
	}
	return 1 + len(d.others)
}

// host is the i-th of them.
func (d *domain) host(i int) *host {
	if i == 0 {
		return d.first
	}
	return d.others[i-1]
}

// join puts a host in.
func (d *domain) join(h *host) {
	h.domain, h.sibling = d, int32(d.hosts())
	if d.first == nil {
		d.first = h
		return
	}
	c := d.shared()
	c.others = append(c.others, h)
}

// leave takes a host out; the last one takes its place.
func (d *domain) leave(h *host) {
	n := d.hosts() - 1
	last := d.host(n)
	if n == 0 {
		d.first = nil
		return
	}
	d.others[n-1] = nil
	d.others = d.others[:n-1]
	switch last.sibling = h.sibling; {
	case last == h:
	case h.sibling == 0:
		d.first = last
	default:
		d.others[h.sibling-1] = last
	}
}

// address is what the hosts on one address share.
type address struct {
	addr     netip.Addr
	hosts    int // with work
	others   int // with work, of other workers
	known    int // that answer there
	interval politeness.Interval
}

// queue returns what a job wants of the host, or nil.
func (h *host) queue(id job.ID) *queue {
	for q := h.queues; q != nil; q = q.next {
		if q.job.ID == id {
			return q
		}
	}
	return nil
}

// push puts a queue behind all others.
func (h *host) push(q *queue) {
	end := &h.queues
	for *end != nil {
		end = &(*end).next
	}
	*end, q.next = q, nil
}

// rotate puts a queue that was served behind all others.
func (h *host) rotate(q *queue) {
	if h.queues == q && q.next == nil {
		return
	}
	h.unlink(q)
	h.push(q)
}

// unlink takes a queue out.
func (h *host) unlink(q *queue) {
	for at := &h.queues; ; at = &(*at).next {
		if *at == q {
			*at = q.next
			return
		}
	}
}

// remove takes the queue of a job out that is no more.
func (h *host) remove(q *queue) {
	h.unlink(q)
	if h.rarity != &noRarity {
		delete(h.pages, q.job.ID)
	}
	h.merge()
}

// hasWork tells whether anything of the host waits or is under way.
func (h *host) hasWork() bool {
	if h.flights > 0 || h.settled > 0 || len(h.errands) > 0 {
		return true
	}
	for q := h.queues; q != nil; q = q.next {
		if !q.idle() {
			return true
		}
	}
	return false
}

// merge makes the policy the most careful of the jobs that have work here.
func (h *host) merge() {
	for q := h.queues; q != nil; q = q.next {
		p := q.policy
		switch {
		case q == h.queues:
			h.policy = p
		case p != h.policy:
			m := politeness.Merge(*h.policy, *p)
			h.policy = &m
		}
	}
}

// forgetErrands drops the errands of a job, and tells whether there were any.
func (h *host) forgetErrands(id job.ID) bool {
	n := len(h.errands)
	if n > 0 {
		h.errands = slices.DeleteFunc(h.errands, func(e Errand) bool { return e.Job == id })
	}
	return len(h.errands) < n
}

// hasErrand tells whether a job has errands on the host.
func (h *host) hasErrand(id job.ID) bool {
	return slices.ContainsFunc(h.errands, func(e Errand) bool { return e.Job == id })
}

// tidy lets go of what is empty, and of the queues of jobs that have no more
// work here.
func (h *host) tidy() {
	if h.rarity != &noRarity && len(h.errands) == 0 && len(h.pages) == 0 && h.lookups == 0 {
		h.rarity = &noRarity
	}
	only := h.queues
	if only == nil || only.next == nil {
		if only != nil {
			only.tidy()
		}
		return // the last one is kept: links to the host will come
	}
	dropped := false
	for at := &h.queues; *at != nil; {
		q := *at
		q.tidy()
		if !q.idle() || q.turnless || h.hasErrand(q.job.ID) {
			at = &q.next
			continue
		}
		if q.job.MaxPagesPerHost > 0 {
			r := h.rare()
			if r.pages == nil {
				r.pages = map[job.ID]int{}
			}
			r.pages[q.job.ID] = int(q.pages)
		}
		*at = q.next
		dropped = true
	}
	if dropped {
		h.merge()
	}
}

// States that doing asks for often.
var (
	waitingInFlight = Waiting(visit.WaitInFlight)
	waitingDNS      = Waiting(visit.WaitDNS)
	waitingNetwork  = Waiting(visit.WaitNetwork)
)

// doing is the one state the host is in. A host with requests under way is
// fetching, unless all of them wait for an address, or more would be under way
// if it were allowed more.
func (h *host) doing() State {
	switch {
	case !h.hasWork():
		return NoWork
	case h.lookups > 0 && h.lookups == h.flights:
		return waitingDNS
	case h.robots == robotsAsked:
		return Waiting(visit.WaitRobots)
	case h.flights > 0 && h.wait == waitingInFlight && int(h.flights) >= h.policy.Cap(h.state):
		return waitingInFlight
	case h.flights > 0:
		return Fetching
	case h.wait == NoWork:
		return Waiting(visit.WaitStorage) // for the commit of what was answered
	default:
		return h.wait
	}
}
