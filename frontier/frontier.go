package frontier

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// Defaults of [Config].
const (
	DefaultHotHosts = 500_000
	DefaultMaxItems = 100_000
	DefaultRobots   = 64
	DefaultSlow     = 4096
)

// Bounds that need no setting.
const (
	maxRefills  = 2048             // queues that are being refilled at once
	maxLoads    = 4096             // hosts whose state is being read at once
	maxBypassed = 16               // times a host is passed over for one with an open connection
	warmFor     = 30 * time.Second // how long after a response a connection is assumed to be open
	sweepEvery  = 10 * time.Second // how often all hosts are swept from memory
	sweepHosts  = 4096             // hosts examined in one sweep
	maxCharged  = 10_000           // failures that may be refunded
	restAfter   = 30 * time.Second // hosts that wait longer than this make room for others
	doubtFor    = 20 * time.Second // how long a failure may still be attributed to our own network
	maxCanaries = 256              // hosts examined at a time for a canary while our network is down
	canaryAgain = time.Second      // how long until others are examined when none qualified
)

// Config sets up a Frontier; zero fields have the defaults.
type Config struct {
	// Head is how many URLs of a queue are kept in memory.
	Head int
	// MaxItems is how many URLs are kept in memory in total.
	MaxItems int
	// HotHosts is how many hosts are kept in memory; the others stay in the store.
	HotHosts int
	// Robots is how many robots.txt are requested at once.
	Robots int
	// Slow is how many stalled requests may be in flight; see [Frontier.Slow].
	Slow int
	// Addresses reports whether the interval per address applies to an address. Nil
	// means to none.
	Addresses func(netip.Addr) bool
	// Forbidden is called for URLs that wait on hosts whose robots.txt is known. For a
	// forbidden URL it returns the visit that ends it without a request; see
	// [Batch.Resolved]. Nil means that no URL is forbidden.
	Forbidden func(it *visit.Item) *visit.Visit
	// Suspects are URLs that were in flight at a crash; see [Frontier.Suspect].
	Suspects []weburl.URL
	// Trace observes the schedule.
	Trace Trace
}

// Frontier is the scheduler. Make one with [New].
type Frontier struct {
	cfg    Config
	number uint64 // the last number given to a host or URL, for age

	hosts     table[host, *host]
	list      []*host // the same hosts in a deterministic order
	domains   table[domain, *domain]
	addresses map[netip.Addr]*address
	shared    map[*address]struct{} // those on which other workers have hosts, too
	jobs      map[job.ID]*jobState
	jobList   []*jobState // by number
	byTenant  map[string]*tenant

	clock   clock
	tenants contest[*tenant] // those with ready hosts

	rated    []*tenant // those with a rate
	unrated  []*tenant // those that lost their rate, until their hosts are re-evaluated
	turnsDue bool      // something happened since turns were last given
	turnAt   time.Time // when the next turn comes; zero: after something happened

	hungry deque // hosts that would be ready if their URLs were in memory
	short  visit.Wait

	items   int     // URLs in all heads
	page    *beyond // of the page of the last URL
	refills int     // in progress
	loads   int     // in progress
	loading deque
	flights int
	working int // hosts with work

	outage   politeness.Outage
	stalled  []*host   // hosts that wait for our network
	canary   *host     // the one of them that may send a request
	canaryAt time.Time // when to look for a canary again
	upAt     time.Time // when our network last came back: results of earlier requests say nothing about hosts
	readers  int       // robots.txt requests in flight
	toRead   deque     // hosts that wait to request theirs
	charged  []charged // failures that our network may have caused
	doubts   []doubt

	slow slowness

	forbidding int // URLs ended without a request, not committed

	suspects map[weburl.URL]struct{}
	suspect  *flight    // the one in flight
	watched  int        // other watched requests in flight
	aside    []setAside // URLs that wait for either

	account *Account
	store   stopwatch // runs while the store is at work
	sweepAt time.Time
	swept   int // index in list at which sweeping continues
	cold    coldness
	batch   Batch // collected since the last Next
	out     Batch // the last one returned
}

// Kind is what a request is for.
type Kind uint8

// The kinds.
const (
	Page Kind = iota
	Robots
	Sitemap
)

// Request is one request to be made.
type Request struct {
	Kind Kind
	Host string
	Item visit.Item // for Page
	URL  weburl.URL // for Sitemap
	Job  job.ID     // for Page and Sitemap

	*flight
}

// Payer is the job whose turn and tokens the request uses.
func (r Request) Payer() job.ID { return r.payer.ID }

// flight is a request in flight, until it is committed.
type flight struct {
	host    *host
	queue   *queue // nil unless it is a page
	entry   *entry
	job     *jobState // nil for robots.txt
	payer   *jobState // the job that holds the place
	turn    tick      // when it was handed out, where the tenant has a rate
	takenAt time.Time // when it was handed out
	kind    Kind

	forbidden bool // ended without a request

	sent    bool
	sentAt  time.Time
	settled bool
	again   bool
	tokens  [tokenKinds]bool // those it uses
	spaced  bool             // counted in its domain's spaced
	looking bool             // counted in its host's lookups (DNS)
	apart   bool             // holds a slow place instead of an ordinary one
	dragged bool             // has stalled
	watched bool             // see [Request.Watched]
}

// Batch is what the caller has to do now.
type Batch struct {
	// Requests may be made now, in this order.
	Requests []Request
	// Refill are queues whose head runs low; answer with [Frontier.Refilled].
	Refill []Want
	// Load are hosts whose state is needed; answer with [Frontier.Loaded].
	Load []string
	// Tokens are jobs that need tokens; answer with [Frontier.Grant].
	Tokens []Tokens
	// Take are hosts that jobs want to reserve; answer with [Frontier.Took].
	Take []Taking
	// Turns are wanted for tenants with a rate; answer with [Frontier.Given].
	Turns []Turns
	// Sift are queues whose URLs in the store are to be checked; see [Sift].
	Sift []Sift
	// Parks end what waits for a job on a host; answer with [Frontier.Parked].
	Parks []Park
	// Resolved are visits that were in doubt, and visits that end URLs without a
	// request.
	Resolved []Resolved
	// Rest are hosts removed from memory. The caller stores those with work, with the
	// time at which they will be ready.
	Rest []Rest
	// Quiet are domains to be yielded that have nothing in flight any more.
	Quiet []string
	// Cold says that there is room in memory and that the store may have more hosts
	// with work; answer with [Frontier.Warm].
	Cold bool
	// Wake is when to call Next again at the latest; zero: after the next event.
	Wake time.Time
}

// Want requests the head of a queue.
type Want struct {
	Host string
	Job  job.ID
	Max  int
}

// Tokens requests tokens for a job.
type Tokens struct {
	Job  job.ID
	Kind TokenKind
	N    int
}

// Taking requests the reservation of a host for a job.
type Taking struct {
	Host string
	Job  job.ID
}

// Park ends what waits for a job on a host.
type Park struct {
	Job     job.ID
	Host    string
	Outcome visit.Outcome
	Reason  visit.Reason
}

// Rest is a host removed from memory.
type Rest struct {
	Host  string
	Until time.Time // when it will be ready; zero when it has no work
	State politeness.State
}

// Resolved is a visit that is no longer in doubt.
type Resolved struct {
	Request Request
	Visit   *visit.Visit
	Settled Settled
	// Forbidden says that the URL ended without a request; see [Config.Forbidden].
	Forbidden bool
}

// New returns an empty frontier.
func New(cfg Config, now time.Time) *Frontier {
	if cfg.Head <= 0 {
		cfg.Head = DefaultHead
	}
	if cfg.MaxItems <= 0 {
		cfg.MaxItems = DefaultMaxItems
	}
	if cfg.HotHosts <= 0 {
		cfg.HotHosts = DefaultHotHosts
	}
	if cfg.Robots <= 0 {
		cfg.Robots = DefaultRobots
	}
	if cfg.Slow <= 0 {
		cfg.Slow = DefaultSlow
	}
	f := &Frontier{
		cfg: cfg, hosts: newTable[host](), domains: newTable[domain](), addresses: map[netip.Addr]*address{}, shared: map[*address]struct{}{},
		jobs: map[job.ID]*jobState{}, byTenant: map[string]*tenant{}, short: visit.WaitWorkers, account: NewAccount(now), sweepAt: now.Add(sweepEvery),
		suspects: map[weburl.URL]struct{}{},
	}
	f.account.store = &f.store
	f.Suspect(cfg.Suspects)
	return f
}

// AddJob adds a job, or changes a known one.
func (f *Frontier) AddJob(j Job) {
	if known := f.jobs[j.ID]; known != nil {
		changed := known.Rate != j.Rate
		if known.Job = j; changed {
			f.setRate(known.tenant)
		}
		return
	}
	t := f.byTenant[j.Tenant]
	if t == nil {
		t = &tenant{claim: claim{place: -1}, name: j.Tenant}
		f.byTenant[j.Tenant] = t
	}
	added := &jobState{Job: j, claim: claim{place: -1}, tenant: t, account: NewAccount(time.Time{})}
	added.account.store = &f.store
	if t.all = append(t.all, added); j.Rate > 0 {
		f.setRate(t)
	}
	f.jobs[j.ID] = added
	i, _ := slices.BinarySearchFunc(f.jobList, j.ID, func(s *jobState, id job.ID) int { return cmp.Compare(s.ID, id) })
	f.jobList = slices.Insert(f.jobList, i, added)
}

// StopJob hands out no more requests for a job; requests in flight continue.
func (f *Frontier) StopJob(now time.Time, id job.ID) {
	j := f.jobs[id]
	if j == nil || j.stopped {
		return
	}
	j.stopped = true
	for k := range j.pools {
		j.pools[k].starved = deque{}
	}
	if j.tenant.rate > 0 {
		f.forgetTurns(j)
	}
	for _, h := range f.list {
		forgot := h.forgetErrands(id)
		if q := h.queue(id); q != nil {
			q.drop(f)
			q.starving, q.turnless = [tokenKinds]bool{}, false
			f.look(h, now)
		} else if forgot {
			f.look(h, now)
		}
	}
}

// DropJob forgets a stopped job. It reports false while anything of the job is in
// flight.
func (f *Frontier) DropJob(now time.Time, id job.ID) bool {
	j := f.jobs[id]
	if j == nil {
		return true
	}
	if !j.stopped || j.pools[PageToken].asking || j.pools[RequestToken].asking {
		return false
	}
	for _, h := range f.list {
		if q := h.queue(id); q != nil && (len(q.busy) > 0 || q.asked > 0 || q.sifting || q.parking) {
			return false
		}
	}
	for _, h := range f.list {
		q := h.queue(id)
		if q == nil {
			continue
		}
		q.drop(f)
		q.dropAside(f)
		q.book(now, NoWork)
		h.remove(q)
		f.look(h, now)
	}
	for j.ready.len() > 0 {
		h := j.ready.pop(0)
		j.tenant.lined--
		if h.standing[inReady] = false; h.line == inReady {
			f.look(h, now)
		}
	}
	f.contend(j)
	t := j.tenant
	if t.all = slices.DeleteFunc(t.all, func(s *jobState) bool { return s == j }); len(t.all) == 0 {
		delete(f.byTenant, j.Tenant)
	}
	if t.rate > 0 {
		f.setRate(t)
	}
	delete(f.jobs, id)
	f.jobList = slices.DeleteFunc(f.jobList, func(s *jobState) bool { return s == j })
	return true
}

// Next returns what to do now: at most limit requests, and the reads and writes that
// are due. Ready hosts that get no place wait for short. The batch is valid until
// the next call.
func (f *Frontier) Next(now time.Time, limit int, short visit.Wait) *Batch {
	b := &f.batch
	f.shortOf(now, short)
	f.resolve(now)
	for len(f.clock) > 0 && f.clock[0].until.past(now) {
		f.look(f.clock[0], now)
	}
	f.chooseCanary(now)
	f.giveTurns(now)
	for limit > 0 {
		if len(f.tenants) == 0 {
			if f.spend(now) || f.giveTurns(now) {
				continue
			}
			break
		}
		t := f.tenants[0]
		t.waking = true
		if h := f.pick(t.jobs[0], now); h != nil {
			r := f.take(h, now)
			if b.Requests = append(b.Requests, r); !r.Apart() || short == visit.WaitBudget {
				limit-- // a budget counts slow requests, too
			}
		}
		t.waking = false
	}
	f.feed(now)
	f.load()
	f.ask()
	f.giveTurns(now)
	if !now.Before(f.sweepAt) {
		f.sweep(now)
	}
	b.Wake = earlier(earlier(f.clock.next(), f.turnAt), f.canaryDue())
	if f.turnsDue {
		b.Wake = now
	}
	if len(f.doubts) > 0 {
		b.Wake = earlier(b.Wake, f.doubts[0].at.Add(doubtFor))
	}
	if f.hosts.len() > 0 || f.cold.some {
		b.Wake = earlier(b.Wake, f.sweepAt)
	}
	f.out, f.batch = f.batch, f.out
	f.batch = Batch{
		Requests: f.batch.Requests[:0], Refill: f.batch.Refill[:0], Load: f.batch.Load[:0], Tokens: f.batch.Tokens[:0], Turns: f.batch.Turns[:0],
		Sift: f.batch.Sift[:0], Take: f.batch.Take[:0], Parks: f.batch.Parks[:0], Resolved: f.batch.Resolved[:0], Rest: f.batch.Rest[:0], Quiet: f.batch.Quiet[:0],
	}
	return &f.out
}

// shortOf changes the wait reason of ready hosts.
func (f *Frontier) shortOf(now time.Time, short visit.Wait) {
	if short == f.short {
		return
	}
	f.short = short
	for _, j := range f.jobList {
		for i := range j.ready.len() {
			if h := j.ready.at(i); h.line == inReady {
				h.wait = Waiting(short)
				f.move(h, now)
			}
		}
	}
}

// pick takes the next host out of the queue of a job, preferring one whose connection
// is probably open. No host is passed over for long, nor for another host of its
// domain, because it would have to wait for the domain's interval again. It returns
// nil if the host left the queue, or cannot be contacted for this job now.
func (f *Frontier) pick(j *jobState, now time.Time) *host {
	if j.tenant.rate > 0 && f.lapsed(j.tenant, now) {
		return nil
	}
	i, first := 0, j.ready.at(0)
	if first.line == inReady && first.passed < maxBypassed {
		for k := 0; k < j.ready.len() && k < maxBypassed; k++ {
			if h := j.ready.at(k); h.line == inReady && (k == 0 || h.domain != first.domain) && h.lastAt.since(now) < warmFor {
				i = k
				break
			}
		}
	}
	if i > 0 {
		first.passed++
	}
	h := j.ready.pop(i)
	j.tenant.lined--
	f.contend(j)
	h.standing[inReady] = false
	f.turnsDue = f.turnsDue || j.tenant.turnless > 0 // the turn it waited with may go to another host
	if h.line != inReady {
		return nil
	}
	h.line = noLine
	if _, reason := f.admit(h, now); reason != "" || f.needsRefill(h) {
		f.look(h, now)
		return nil
	}
	if _, _, turn := f.turn(h, now); turn != j {
		f.lineUp(h, now) // to the end of the queue of the job that is next on it now
		return nil
	}
	return h
}

// take hands out the next request of a ready host.
func (f *Frontier) take(h *host, now time.Time) Request {
	kind, q, j := f.turn(h, now)
	fl := &flight{host: h, kind: kind, payer: j, takenAt: now, apart: h.slow}
	r := Request{Host: h.name, flight: fl}
	if fl.apart {
		f.slow.use++
	} else {
		f.served(j)
	}
	f.useTurn(fl, j.tenant, now)
	h.number, h.passed = f.number, 0
	switch kind {
	case Robots:
		h.robots = robotsAsked
		if !fl.apart {
			f.readers++
		}
	case Sitemap:
		at := f.nextErrand(h)
		e := h.errands[at]
		h.errands = slices.Delete(h.errands, at, at+1)
		h.passedErrands = 0
		h.turn = false
		fl.job, r.URL, r.Job = j, e.URL, e.Job
	case Page:
		if len(h.errands) > 0 {
			h.passedErrands = min(h.passedErrands+1, dryRunTurn)
		}
		h.turn = true
		f.takePage(q, fl)
		r.Item, r.Job = fl.entry.item(fl.job.ID), fl.job.ID
	}
	fl.use(RequestToken, j)
	r.Kind = fl.kind
	if f.cfg.Trace.Taken != nil {
		f.cfg.Trace.Taken(now, r, f.promise(h))
	}
	h.leaving++
	h.flights++
	h.domain.under++
	f.flights++
	h.domain.leaving++
	if f.gap(h) > 0 {
		fl.spaced = true
		h.domain.spaced++
	}
	if h.address != nil {
		h.address.interval = h.address.interval.Sent(now)
	}
	if f.outage = f.outage.Sent(now); f.canary == h {
		f.canary = nil
	}
	f.look(h, now)
	return r
}

// turn returns what comes next on a ready host: the kind of request, the queue if it
// is a page, and the job.
func (f *Frontier) turn(h *host, now time.Time) (Kind, *queue, *jobState) {
	q, errand := f.nextPage(h), f.nextErrand(h)
	switch {
	case f.robotsWanted(h, now):
		return Robots, nil, h.reader(f, q)
	case errand >= 0 && f.errandNext(h, f.jobs[h.errands[errand].Job], q):
		return Sitemap, nil, f.jobs[h.errands[errand].Job]
	default:
		return Page, q, q.job
	}
}

// nextErrand is the place of the first errand whose job may send a request; -1 for none.
func (f *Frontier) nextErrand(h *host) int {
	return slices.IndexFunc(h.errands, func(e Errand) bool { return !f.jobs[e.Job].lacks(RequestToken) })
}

// errandNext reports whether an errand of a job comes before a page: every other time,
// unless the tenant of one of them has no turn, and one of a dry run after dryRunTurn pages.
func (f *Frontier) errandNext(h *host, j *jobState, page *queue) bool {
	if page == nil {
		return true
	}
	if j.DryRun && !page.job.DryRun {
		return h.passedErrands >= dryRunTurn
	}
	if shut := page.job.tenant.shut(); shut != j.tenant.shut() {
		return shut
	}
	return h.turn
}

// reader is the job for which robots.txt is fetched: the next one that needs it,
// preferably of a tenant that has turns.
func (h *host) reader(f *Frontier, page *queue) *jobState {
	if page != nil {
		return page.job
	}
	var first *jobState
	for q := h.queues; q != nil; q = q.next {
		switch {
		case !q.waits() || !q.may():
		case !q.job.tenant.shut():
			return q.job
		case first == nil:
			first = q.job
		}
	}
	if first != nil {
		return first
	}
	return f.jobs[h.errands[f.nextErrand(h)].Job]
}

// takePage takes the first URL of a queue.
func (f *Frontier) takePage(q *queue, fl *flight) {
	q.host.rotate(q)
	e := q.take(f)
	fl.queue, fl.entry, fl.job = q, e, q.job
	q.start(fl)
	f.watch(fl)
	fl.use(PageToken, q.job)
}

// use takes a token of a job, if it needs one.
func (fl *flight) use(k TokenKind, j *jobState) {
	if j.needs(k) {
		j.pools[k].tokens--
		j.pools[k].out++
		fl.tokens[k] = true
	}
}

// may reports whether the job's limits allow another page of the queue.
func (q *queue) may() bool { return q.job.may() && q.open() }

// hopes reports whether they would after the job got a token.
func (q *queue) hopes() bool { return q.job.hopes() && q.open() }

// open reports whether the job wants another page of the host.
func (q *queue) open() bool {
	return !q.parking && !q.closing && !q.undecided() && (q.job.MaxPagesPerHost == 0 || int(q.pages)+len(q.busy) < q.job.MaxPagesPerHost)
}

// undecided reports whether the job has not reserved the host yet.
func (q *queue) undecided() bool { return q.job.HostLimited && q.choice != taken }

// nextPage returns the queue of the job that is next for a page. It is nil if no URL
// in memory may be requested, or only after a token has come: near its limit a job
// gets single tokens, and would never have its turn on a host that others keep busy.
// Tenants without a turn are passed over but keep their place in front.
func (f *Frontier) nextPage(h *host) *queue {
	if h.turn && f.errandHopes(h) {
		return nil
	}
	var first *queue
	for q := h.queues; q != nil; q = q.next {
		switch {
		case q.may() && f.peel(q):
			if !q.job.tenant.shut() {
				return q
			}
			if first == nil {
				first = q
			}
		case q.hopes() && f.peel(q):
			return nil
		}
	}
	return first
}

// errandHopes reports whether the first errand waits for a token that its job may still be
// given.
func (f *Frontier) errandHopes(h *host) bool {
	if len(h.errands) == 0 {
		return false
	}
	j := f.jobs[h.errands[0].Job]
	return j.lacks(RequestToken) && !j.pools[RequestToken].exhausted && !j.DryRun
}

// robotsWanted reports whether robots.txt comes next.
func (f *Frontier) robotsWanted(h *host, now time.Time) bool {
	switch h.robots {
	case robotsUnknown:
		return true
	case robotsAsked:
		return false
	case robotsClosed:
		return h.robotsDue.past(now)
	default:
		return h.robotsDue != 0 && h.robotsDue.past(now)
	}
}

// needsRefill reports whether no URL in memory may be requested.
func (f *Frontier) needsRefill(h *host) bool {
	switch {
	case f.nextErrand(h) >= 0:
		return false
	case h.robots == robotsUnknown:
		for q := h.queues; q != nil; q = q.next {
			if q.waits() && q.may() {
				return false
			}
		}
		return true
	default:
		return f.nextPage(h) == nil
	}
}

// feed requests URLs: for hosts that have none, then for heads that run low.
func (f *Frontier) feed(now time.Time) {
	for f.hungry.len() > 0 && f.refills < maxRefills {
		h := f.hungry.pop(0)
		h.standing[inHungry] = false
		if h.line != inHungry {
			continue
		}
		h.line = noLine
		asked := false
		for q := h.queues; q != nil; q = q.next {
			if q.low(f) && q.may() {
				f.refill(q, now)
				asked = true
			}
		}
		if !asked {
			f.look(h, now) // the job used its last token meanwhile
		}
	}
}

// refill requests the head of a queue.
func (f *Frontier) refill(q *queue, now time.Time) {
	f.refills++
	f.batch.Refill = append(f.batch.Refill, Want{Host: q.host.name, Job: q.job.ID, Max: q.want(now, f)})
}

// load requests the states of hosts.
func (f *Frontier) load() {
	for f.loading.len() > 0 && f.loads < maxLoads {
		if h := f.loading.pop(0); h.stage == loading {
			f.loads++
			h.asked = true
			f.batch.Load = append(f.batch.Load, h.name)
		}
	}
}

// ask requests tokens: when a host waits for one, and those for pages when half of those
// kept in advance are used. None are kept for requests: what is reserved counts as sent if
// the worker dies.
func (f *Frontier) ask() {
	for _, j := range f.jobList {
		for k := range tokenKinds {
			p := &j.pools[k]
			if !j.needs(k) || p.asking || p.exhausted || j.stopped {
				continue
			}
			if hungry := p.tokens == 0 && p.starved.len() > 0; hungry || !p.scarce && p.tokens < (p.stock+1)/2 {
				p.asking = true
				p.wanted = min(tokensAtOnce, max(p.starved.len(), p.stock-p.tokens))
				f.batch.Tokens = append(f.batch.Tokens, Tokens{Job: j.ID, Kind: k, N: p.wanted})
			}
		}
	}
}

// spend re-evaluates hosts that wait for tokens while there are some, because hosts
// woken before may not have used theirs. It reports whether one became ready.
func (f *Frontier) spend(now time.Time) bool {
	woke := false
	for _, j := range f.jobList {
		for k := range tokenKinds {
			if p := &j.pools[k]; j.needs(k) && !j.stopped && p.tokens > 0 && p.starved.len() > 0 {
				woke = f.wakeStarved(j, k, now) || woke
			}
		}
	}
	return woke
}
