package frontier

import (
	"math"
	"net/netip"
	"strings"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// HostState is what the store knows about a host.
type HostState struct {
	Host  string
	State politeness.State
	// Unclean says that unrecorded requests may have been sent: the host waits its
	// full pace from now.
	Unclean bool
	// DomainAsked is when a host of its domain last got a request, as far as the store
	// knows; hosts that are not in memory count, too.
	DomainAsked time.Time
	// Acquired is when the host came from another worker, whose clock may differ: it
	// waits its full pace from then. Zero if it was ours all the time.
	Acquired time.Time
	// Died is when a worker that owned the host died; zero if none did. URLs that may
	// have been in flight then are watched for a while; see [Request.Watched].
	Died   time.Time
	Robots RobotsState
}

// RobotsState is what the schedule needs to know about a host's robots.txt. With the
// zero value it is fetched.
type RobotsState struct {
	Known  bool // it was evaluated
	Closed bool // no page may be requested until Due
	// Due is when robots.txt is fetched again; zero means never.
	Due time.Time
	// Ever says that robots.txt was received once.
	Ever bool
	// Delay is its Crawl-delay.
	Delay time.Duration
}

// Added takes URLs that were added to the store as waiting. Those for which there is
// no room stay there.
func (f *Frontier) Added(now time.Time, items []visit.Item) {
	for i := range items {
		it := &items[i]
		q := f.queueFor(it.URL, it.Job, now)
		if q == nil {
			continue
		}
		switch {
		case q.has(it.URL) || f.suspended(q, it.URL):
		case q.parking || q.job.stopped:
			q.spill()
		default:
			q.add(now, it, f)
		}
		f.look(q.host, now)
	}
}

// Warm takes a host that has URLs waiting in the store, and reports whether there is
// room for more.
func (f *Frontier) Warm(now time.Time, u weburl.URL, jobs []job.ID) (more bool) {
	for _, id := range jobs {
		if j := f.jobs[id]; j == nil || j.stopped {
			continue
		}
		q := f.queueFor(u, id, now)
		if q == nil {
			return false
		}
		q.spill() // the refill in progress may have read before it was stored
		f.look(q.host, now)
	}
	if f.hosts.len() >= f.cfg.HotHosts {
		f.cold.rest() // there may be more after the point where the caller stops reading
		return false
	}
	return true
}

// Warmed reports that the store was read to its end since [Batch.Cold] requested it.
func (f *Frontier) Warmed() { f.cold.read() }

// coldness tracks whether hosts with work are only in the store. A host stored after
// the read began may have been missed by it.
type coldness struct {
	rested uint64 // times a host was left in the store
	asked  uint64 // the same when the read began
	asking bool
	some   bool
}

// rest records that a host with work is only in the store.
func (c *coldness) rest() {
	c.rested++
	c.some = true
}

// ask records that a read of the store begins.
func (c *coldness) ask() {
	if !c.asking {
		c.asking, c.asked = true, c.rested
	}
}

// read records that the store was read to its end.
func (c *coldness) read() {
	c.some = c.asked != c.rested
	c.asking = false
}

// queueFor returns the queue of a URL. It creates one if there is room for its host,
// else it returns nil.
func (f *Frontier) queueFor(u weburl.URL, id job.ID, now time.Time) *queue {
	j := f.jobs[id]
	if j == nil {
		return nil
	}
	h := f.hosts.find(u.Host())
	if h == nil {
		switch {
		case j.stopped:
			return nil
		case f.hosts.len() >= f.cfg.HotHosts:
			f.cold.rest()
			return nil
		}
		h = f.newHost(u)
	}
	q := h.queue(id)
	if q == nil {
		if j.stopped {
			return nil
		}
		q = &queue{
			job: j, host: h, held: &nothing, limit: int32(min(f.cfg.Head, math.MaxInt32)), tenure: politeness.NewTenure(now),
			policy: j.Policy(h.name), pages: int32(h.pages[id]),
		}
		h.push(q)
		h.merge()
		h.watchFirst(q, now)
	}
	return q
}

func (f *Frontier) newHost(u weburl.URL) *host {
	// Clone, so that the host's name does not keep the memory of the whole URL.
	name, domain := strings.Clone(u.Host()), u.Domain()
	domain = name[strings.LastIndex(name, domain):][:len(domain)]
	f.number++
	h := &host{name: name, number: f.number, rarity: &noRarity, state: politeness.New(name), place: -1, index: int32(len(f.list))}
	f.domain(domain).join(h)
	f.hosts.insert(h)
	f.list = append(f.list, h)
	f.loading.push(h)
	return h
}

// domain returns a domain, and creates it if needed.
func (f *Frontier) domain(name string) *domain {
	d := f.domains.find(name)
	if d == nil {
		d = &domain{name: name, company: &noCompany}
		f.domains.insert(d)
	}
	return d
}

// Loaded reports the stored state of a host; see [Batch.Load].
func (f *Frontier) Loaded(now time.Time, s HostState) {
	f.loads--
	h := f.hosts.find(s.Host)
	if h == nil || h.stage != loading || h.policy == nil {
		return
	}
	h.asked = false
	if h.stale {
		h.stale = false
		f.loading.push(h)
		return
	}
	h.stage, h.state = live, s.State
	if h.domain.giving {
		h.stage = yielding
	}
	h.domain.yielding = false
	if h.diedAt = 0; !s.Died.IsZero() {
		h.diedAt = tickAt(s.Died)
	}
	for q := h.queues; q != nil; q = q.next {
		h.watchFirst(q, now)
	}
	// What was in flight when the state was stored is over.
	for h.state.InFlight() > 0 {
		h.state, _ = h.policy.Observe(h.state, now, politeness.Answer{Fault: politeness.Ours})
	}
	sent := h.state.LastSent()
	last := later(sent, s.DomainAsked)
	switch {
	case s.Unclean:
		h.state = h.policy.Resume(h.state, now)
		last = now
	case s.Acquired.IsZero():
	case sent.IsZero():
		last = s.Acquired
	case sent.Before(s.Acquired) || sent.After(now): // sent by another worker
		h.state = h.policy.Resume(h.state, s.Acquired)
		last = s.Acquired
	}
	if last.After(h.domain.interval.Last()) {
		h.domain.interval = h.domain.interval.Sent(last)
	}
	f.setRobots(h, s.Robots)
	f.Judge(now, s.Host)
	f.look(h, now)
}

// LeaseWait reports that a host to be loaded is leased by another process.
func (f *Frontier) LeaseWait(now time.Time, name string) {
	if h := f.hosts.find(name); h != nil && h.stage == loading {
		h.domain.yielding = true
		f.look(h, now)
	}
}

// SetRobots reports a newly read robots.txt. It applies to pages from now on.
func (f *Frontier) SetRobots(now time.Time, name string, r RobotsState) {
	if h := f.hosts.find(name); h != nil {
		f.setRobots(h, r)
		f.look(h, now)
	}
}

func (f *Frontier) setRobots(h *host, r RobotsState) {
	h.robotsDue = at(r.Due)
	h.robotsEver = h.robotsEver || r.Ever
	switch {
	case !r.Known:
		h.robots = robotsUnknown
	case r.Closed:
		h.robots = robotsClosed
	default:
		h.robots = robotsKnown
	}
	h.state = h.state.WithCrawlDelay(r.Delay)
}

// Refilled takes the URLs that a refill returned.
func (f *Frontier) Refilled(now time.Time, wants []Want, items []visit.Item) {
	type key struct {
		host string
		job  job.ID
	}
	groups := make(map[key][]visit.Item, len(wants))
	for _, it := range items {
		k := key{it.URL.Host(), it.Job}
		groups[k] = append(groups[k], it)
	}
	f.refills -= len(wants)
	for _, w := range wants {
		h := f.hosts.find(w.Host)
		if h == nil {
			continue
		}
		if q := h.queue(w.Job); q != nil && q.asked > 0 {
			q.refill(now, groups[key{w.Host, w.Job}], f)
		}
		f.look(h, now)
	}
}

// Parked reports that a park was written, and how many URLs it left waiting. Call it
// after [Frontier.Added] of the same commit, whose URLs the park may have ended.
func (f *Frontier) Parked(now time.Time, p Park, left int) {
	h := f.hosts.find(p.Host)
	if h == nil {
		return
	}
	q := h.queue(p.Job)
	if q == nil || !q.parking {
		return
	}
	q.parking = false
	h.domain.under--
	if left == 0 {
		q.closing = false
		if q.given != nil {
			q.given = nil
		}
	}
	q.complete = left == 0 && !q.spilled
	q.spilled = false
	f.look(h, now)
}

// Took reports whether a job may use a host; see [Batch.Take]. If not, what waits
// there ends as deferred, now and whenever more is added. Pages are those the job has had of
// the host, if it has a limit per host.
func (f *Frontier) Took(now time.Time, t Taking, ok bool, pages int) {
	h := f.hosts.find(t.Host)
	if h == nil {
		return
	}
	q := h.queue(t.Job)
	if q == nil {
		return
	}
	if q.choice = refused; ok {
		q.choice = taken
	}
	q.pages = max(q.pages, int32(pages)) // the schedule may know of pages that are not stored yet
	f.look(h, now)
}

// Run queues an errand. The host must be reserved if the job is host-limited. At most
// maxErrands wait per host; it reports whether there was room.
func (f *Frontier) Run(now time.Time, e Errand) bool {
	q := f.queueFor(e.URL, e.Job, now)
	if q == nil || q.job.stopped || len(q.host.errands) >= maxErrands {
		return false
	}
	q.host.addErrand(f, e)
	f.look(q.host, now)
	return true
}

// maxErrands bounds the waiting errands of a host.
const maxErrands = 1000

// addressOf records the IP address of a host.
func (f *Frontier) addressOf(h *host, addr netip.Addr) {
	if !addr.IsValid() || f.cfg.Addresses == nil || !f.cfg.Addresses(addr) || h.address != nil && h.address.addr == addr {
		return
	}
	f.leaveAddress(h)
	a := f.addresses[addr]
	if a == nil {
		a = &address{addr: addr}
		f.addresses[addr] = a
	}
	h.address = a
	a.known++
	if h.booked != NoWork {
		a.hosts++
	}
}

// leaveAddress records that a host is no longer on its address.
func (f *Frontier) leaveAddress(h *host) {
	a := h.address
	if a == nil {
		return
	}
	h.address = nil
	a.known--
	if h.booked != NoWork {
		a.hosts--
	}
	if a.known == 0 {
		delete(f.addresses, a.addr)
	}
}

// Yield stops sending to the hosts of a domain that another process wants; see
// [Batch.Quiet].
func (f *Frontier) Yield(now time.Time, name string) {
	d := f.domain(name)
	if d.giving {
		return
	}
	d.giving, d.quiet = true, false
	for i := range d.hosts() {
		if h := d.host(i); h.stage == live {
			h.stage = yielding
		}
	}
	for i := range d.hosts() {
		f.look(d.host(i), now)
	}
	f.quiet(d)
}

// quiet reports a domain to be yielded once it has nothing in flight.
func (f *Frontier) quiet(d *domain) {
	if d.giving && !d.quiet && d.under == 0 {
		d.quiet = true
		f.batch.Quiet = append(f.batch.Quiet, d.name)
	}
}

// Yielded reports that a domain was yielded. Its hosts wait until they are loaded
// again.
func (f *Frontier) Yielded(now time.Time, name string) {
	d := f.domains.find(name)
	if d == nil {
		return
	}
	d.giving, d.quiet, d.yielding = false, false, true
	for i := range d.hosts() {
		h := d.host(i)
		switch {
		case h.stage == yielding:
			h.stage = loading
			f.loading.push(h)
		case h.stage == loading && h.asked:
			h.stale = true
		}
		f.look(h, now)
	}
	f.forgetDomain(d)
}

// forgetDomain removes a domain without hosts.
func (f *Frontier) forgetDomain(d *domain) {
	if d.first == nil && !d.giving {
		f.domains.remove(d)
	}
}

// Hosts returns the hosts of a domain whose state is in memory.
func (f *Frontier) Hosts(name string) []string {
	d := f.domains.find(name)
	if d == nil {
		return nil
	}
	names := make([]string, 0, d.hosts())
	for i := range d.hosts() {
		if h := d.host(i); h.stage == live || h.stage == yielding {
			names = append(names, h.name)
		}
	}
	return names
}

// sweep removes hosts without work, the heads of hosts that wait long if there is
// little room for URLs, and such hosts altogether if the store has others with work.
// It examines a part of the hosts at a time, to stay short, and all of them within
// sweepEvery.
func (f *Frontier) sweep(now time.Time) {
	crowded := f.cold.some && f.hosts.len() >= f.cfg.HotHosts
	full := f.items > f.cfg.MaxItems*3/4
	f.swept = min(f.swept, len(f.list))
	if f.swept == 0 {
		f.swept = len(f.list)
	}
	// From the end, because the last host takes the index of a removed one.
	for end := max(f.swept-sweepHosts, 0); f.swept > end; {
		f.swept--
		f.sweepHost(f.list[f.swept], now, crowded, full)
	}
	f.sweepAt = now.Add(sweepEvery * time.Duration(min(sweepHosts, len(f.list)+1)) / time.Duration(len(f.list)+1))
	if f.cold.some && f.hosts.len() < f.cfg.HotHosts {
		f.cold.ask()
		f.batch.Cold = true
	}
}

func (f *Frontier) sweepHost(h *host, now time.Time, crowded, full bool) {
	if h.flights > 0 || h.settled > 0 || h.stage != live || h.line != noLine || h.standing != [3]bool{} || h.behind || h.reading || h.lingering {
		return
	}
	stopped := true
	for q := h.queues; q != nil; q = q.next {
		if q.asked > 0 || q.sifting || q.parking || q.starving != [tokenKinds]bool{} || q.turnless || q.aside > 0 {
			return
		}
		stopped = stopped && q.job.stopped
	}
	if now.Sub(h.state.LastSent()) < restAfter {
		return // its state may not be stored yet, and other hosts of the domain need it
	}
	switch {
	case h.booked == NoWork:
		if h.idleAt.since(now) >= max(restAfter, h.policy.Pace(h.state)) {
			f.rest(h, now, time.Time{})
		}
	case stopped && crowded:
		f.rest(h, now, now)
	case h.until.time().Sub(now) < restAfter:
	case crowded && len(h.errands) == 0:
		f.rest(h, now, h.until.time())
	case full:
		for q := h.queues; q != nil; q = q.next {
			q.drop(f)
		}
	}
}

// rest removes a host from memory.
func (f *Frontier) rest(h *host, now, until time.Time) {
	f.remove(h, now)
	if !until.IsZero() {
		f.cold.rest()
	}
	f.batch.Rest = append(f.batch.Rest, Rest{Host: h.name, Until: until, State: h.state})
}

// remove removes a host from all structures.
func (f *Frontier) remove(h *host, now time.Time) {
	for q := h.queues; q != nil; q = q.next {
		q.drop(f)
		q.book(now, NoWork)
	}
	h.queues, h.rarity = nil, &noRarity
	h.until = 0
	f.clock.remove(h)
	f.move(h, now)
	f.leaveAddress(h)
	f.hosts.remove(h)
	last := f.list[len(f.list)-1]
	f.list[h.index], last.index = last, h.index
	f.list[len(f.list)-1] = nil
	f.list = f.list[:len(f.list)-1]
	h.domain.leave(h)
	f.forgetDomain(h.domain)
}

// Release removes a quiet domain from memory; see [Batch.Quiet]. Its hosts now belong
// to another owner. No load or refill may be in progress: its result would be stale
// when the domain comes back.
func (f *Frontier) Release(now time.Time, name string) {
	d := f.domains.find(name)
	if d == nil {
		return
	}
	d.giving, d.quiet = false, false
	if d.first == nil {
		f.forgetDomain(d)
		return
	}
	for d.first != nil { // the domain is removed with its last host
		h := d.host(d.hosts() - 1)
		for q := h.queues; q != nil; q = q.next {
			q.dropAside(f)
		}
		f.remove(h, now)
		h.stage, h.line = gone, noLine // queues that contain it skip it
	}
}

// GiveUp ends what waits on a host, for all jobs: it cannot be contacted at all.
func (f *Frontier) GiveUp(now time.Time, name string, o visit.Outcome, r visit.Reason) {
	h := f.hosts.find(name)
	if h == nil {
		return
	}
	for q := h.queues; q != nil; q = q.next {
		if !q.parking && q.waits() {
			q.own().given = &Park{Job: q.job.ID, Host: name, Outcome: o, Reason: r}
		}
	}
	if len(h.errands) > 0 {
		h.errands = nil
	}
	f.look(h, now)
}

// Reconsider re-evaluates the policies of all jobs for a host, because something was
// learned about it.
func (f *Frontier) Reconsider(now time.Time, name string) {
	h := f.hosts.find(name)
	if h == nil {
		return
	}
	f.reconsider(now, h, name)
}

func (f *Frontier) reconsider(now time.Time, h *host, name string) {
	for q := h.queues; q != nil; q = q.next {
		q.policy = q.job.Policy(name)
	}
	h.merge()
	f.look(h, now)
}

// ReconsiderJob re-evaluates the policies for all hosts of a job, because the job has
// changed.
func (f *Frontier) ReconsiderJob(now time.Time, id job.ID) {
	for _, h := range f.list {
		if h.queue(id) != nil {
			f.reconsider(now, h, h.name)
		}
	}
}

// Wake re-evaluates all hosts of a job, because its limits have changed.
func (f *Frontier) Wake(now time.Time, id job.ID) {
	for _, h := range f.list {
		if h.queue(id) != nil {
			f.look(h, now)
		}
	}
}
