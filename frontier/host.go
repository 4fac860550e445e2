package frontier

import (
	"net/netip"
	"slices"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// stage is the life cycle of a host in memory.
type stage uint8

const (
	loading  stage = iota // its state is being read from the store
	live                  // it is scheduled
	yielding              // another process wants its domain: nothing new is sent
	gone                  // removed from memory
)

// robotsStage is what is known about a host's robots.txt.
type robotsStage uint8

const (
	robotsUnknown robotsStage = iota
	robotsAsked
	robotsKnown  // pages may be requested until it is due again
	robotsClosed // it could not be read: no pages until it is due again
)

// line is the queue in which a ready host waits.
type line uint8

const (
	noLine   line = iota
	inReady       // for a place in the worker pool
	inHungry      // for URLs from the store
)

// host is a host with work, or one that recently had some. There are many: its fields
// are ordered to avoid padding, and rare fields are kept in rarity.
type host struct {
	name    string
	next    *host  // in its chain of the hash table
	number  uint64 // sequence number of its last turn, or of its creation: the smallest goes first
	domain  *domain
	address *address           // nil before the first response, and where no address interval applies
	policy  *politeness.Policy // the strictest of all jobs with work here
	queues  *queue             // one per job, the next to be served first
	*rarity
	state politeness.State

	robotsDue moment // when robots.txt is fetched again
	until     moment // when to re-evaluate it; none: after an event
	idleAt    tick   // when it last had work
	lastAt    tick   // when it last responded: its connection may be open
	diedAt    tick   // when its owner before us died; 0: it did not, or long ago

	index   int32 // index in Frontier.list
	sibling int32 // index in its domain
	place   int32 // index in the clock; -1 when not in it
	leaving int32 // handed out, not known to have been sent
	flights int32 // handed out, no response yet
	settled int32 // settled, not committed

	stage         stage
	asked         bool // a load is in progress
	stale         bool // the load in progress was requested before the domain was yielded
	robots        robotsStage
	robotsEver    bool // its robots.txt was received once
	turn          bool // an errand comes before a page next
	stalled       bool // in Frontier.stalled
	behind        bool // waits for a request of another host of the domain to be sent
	reading       bool // queued to request robots.txt
	slow          bool // its last request stalled
	lingering     bool // queued for a slow place
	line          line
	passedErrands uint8   // pages that came before the errands that wait, up to dryRunTurn
	passed        uint8   // times it was passed over for one with an open connection
	standing      [3]bool // queues that contain it, including stale entries
	wait          State   // what it waits for; NoWork is nothing
	booked        State
}

func (h *host) key() string   { return h.name }
func (h *host) chain() **host { return &h.next }

// rarity holds fields that few hosts need. Hosts without share noRarity, which is
// never changed; rare returns one that may be changed.
type rarity struct {
	pages   map[job.ID]int // of jobs with a limit per host that have no queue
	errands []Errand       // in order, those of dry runs last
	lookups int32          // flights in DNS lookup
}

var noRarity rarity

// rare returns the rarely used fields, for changes.
func (h *host) rare() *rarity {
	if h.rarity == &noRarity {
		h.rarity = &rarity{}
	}
	return h.rarity
}

// Errand is a request that is not a page: a sitemap. It shares the host's interval,
// alternates with pages, and is not stored.
type Errand struct {
	URL weburl.URL
	Job job.ID
}

// domain is what the hosts of a registrable domain share.
type domain struct {
	name  string
	next  *domain // in its chain of the hash table
	first *host   // most domains have one host; nil: none
	*company
	interval politeness.Interval
	leaving  int32 // requests handed out, not known to have been sent
	spaced   int32 // those of them that count for the domain's interval
	under    int32 // requests and parks in flight or not committed
	giving   bool  // another process wants it, and it is not yielded yet
	quiet    bool  // it was reported that nothing is in flight any more
	yielding bool  // it was yielded
}

func (d *domain) key() string     { return d.name }
func (d *domain) chain() **domain { return &d.next }

// company holds fields of domains with more than one host. The others share
// noCompany, which is never changed; shared returns one that may be changed.
type company struct {
	others  []*host // after the first
	waiters []*host // hosts that wait until a request of the domain is sent
}

var noCompany company

// shared returns the fields of a domain with more than one host, for changes.
func (d *domain) shared() *company {
	if d.company == &noCompany {
		d.company = &company{}
	}
	return d.company
}

// hosts is the number of hosts.
func (d *domain) hosts() int {
	if d.first == nil {
		return 0
	}
	return 1 + len(d.others)
}

// host returns the i-th host.
func (d *domain) host(i int) *host {
	if i == 0 {
		return d.first
	}
	return d.others[i-1]
}

// join adds a host.
func (d *domain) join(h *host) {
	h.domain, h.sibling = d, int32(d.hosts())
	if d.first == nil {
		d.first = h
		return
	}
	c := d.shared()
	c.others = append(c.others, h)
}

// leave removes a host; the last one takes its index.
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

// address is what the hosts on one IP address share.
type address struct {
	addr     netip.Addr
	hosts    int // with work
	others   int // with work, of other workers
	known    int // that are known to be on it
	interval politeness.Interval
}

// queue returns the queue of a job on the host, or nil.
func (h *host) queue(id job.ID) *queue {
	for q := h.queues; q != nil; q = q.next {
		if q.job.ID == id {
			return q
		}
	}
	return nil
}

// push appends a queue.
func (h *host) push(q *queue) {
	end := &h.queues
	for *end != nil {
		end = &(*end).next
	}
	*end, q.next = q, nil
}

// rotate moves a queue that was served to the end.
func (h *host) rotate(q *queue) {
	if h.queues == q && q.next == nil {
		return
	}
	h.unlink(q)
	h.push(q)
}

// unlink removes a queue from the list.
func (h *host) unlink(q *queue) {
	for at := &h.queues; ; at = &(*at).next {
		if *at == q {
			*at = q.next
			return
		}
	}
}

// remove removes the queue of a dropped job.
func (h *host) remove(q *queue) {
	h.unlink(q)
	if h.rarity != &noRarity {
		delete(h.pages, q.job.ID)
	}
	h.merge()
}

// hasWork reports whether anything of the host waits or is in flight.
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

// merge sets the policy to the strictest of the jobs that have work here. Dry runs count
// only among themselves.
func (h *host) merge() {
	crawled := false
	for q := h.queues; q != nil; q = q.next {
		crawled = crawled || !q.job.DryRun
	}
	first := true
	for q := h.queues; q != nil; q = q.next {
		if crawled && q.job.DryRun {
			continue
		}
		switch p := q.policy; {
		case first:
			h.policy, first = p, false
		case p != h.policy:
			m := politeness.Merge(*h.policy, *p)
			h.policy = &m
		}
	}
}

// addErrand queues an errand, before those of dry runs if it is not one itself.
func (h *host) addErrand(f *Frontier, e Errand) {
	at := len(h.errands)
	if !f.isDryRun(e.Job) {
		for at > 0 && f.isDryRun(h.errands[at-1].Job) {
			at--
		}
	}
	rare := h.rare()
	rare.errands = slices.Insert(rare.errands, at, e)
}

// isDryRun reports whether a job is a dry run.
func (f *Frontier) isDryRun(id job.ID) bool {
	j := f.jobs[id]
	return j != nil && j.DryRun
}

// forgetErrands drops the errands of a job, and reports whether there were any.
func (h *host) forgetErrands(id job.ID) bool {
	n := len(h.errands)
	if n > 0 {
		h.errands = slices.DeleteFunc(h.errands, func(e Errand) bool { return e.Job == id })
	}
	return len(h.errands) < n
}

// hasErrand reports whether a job has errands on the host.
func (h *host) hasErrand(id job.ID) bool {
	return slices.ContainsFunc(h.errands, func(e Errand) bool { return e.Job == id })
}

// tidy frees what is empty, and removes the queues of jobs that have no more work
// here.
func (h *host) tidy(now time.Time) {
	if h.rarity != &noRarity && len(h.errands) == 0 && len(h.pages) == 0 && h.lookups == 0 {
		h.rarity = &noRarity
	}
	only := h.queues
	if only == nil || only.next == nil {
		if only != nil {
			only.tidy()
		}
		return // the last one is kept: more links to the host are likely
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
		q.book(now, NoWork)
		*at = q.next
		dropped = true
	}
	if dropped {
		h.merge()
	}
}

// States that doing returns often.
var (
	waitingInFlight = Waiting(visit.WaitInFlight)
	waitingDNS      = Waiting(visit.WaitDNS)
	waitingNetwork  = Waiting(visit.WaitNetwork)
	waitingStorage  = Waiting(visit.WaitStorage)
)

// doing returns the state of the host. A host with requests in flight is fetching,
// unless all of them wait for DNS, or a higher limit would allow more of them.
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
		return waitingStorage // for the commit of settled requests
	default:
		return h.wait
	}
}
