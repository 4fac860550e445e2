package simweb_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	"headway/frontier"
	"headway/internal/simweb"
	"headway/politeness"
	"headway/visit"
)

// driver is the smallest crawler that keeps the rules: hosts with queues, one
// event loop, a bounded number of requests under way. It asks package
// politeness before each request and charges every host-second to a cause. It
// stands in for the schedule of package frontier until that exists, and so it
// is test code.
//
// It is deterministic. Goroutines of one instant run in any order, so the loop
// waits until all of them rest, and takes the answers of that instant in the
// order in which their requests were sent.
type driver struct {
	web     *simweb.Web
	client  *http.Client
	workers int                 // requests under way, at most
	timeout time.Duration       // of one request
	ignores []politeness.Reason // for tests of the judge

	begin  time.Time
	hosts  []*host
	jobs   []*job
	coming []*job // those still to start, by time

	outage    politeness.Outage
	charged   []charged // failures that may turn out to be our own network's
	domains   map[string]politeness.Interval
	addresses map[string]politeness.Interval

	results chan result // as large as workers, so that nobody blocks
	arrived []result    // taken from it, not yet looked at
	busy    int         // requests under way
	sends   int         // requests ever sent
	turn    int         // the host that is looked at first
	ctx     context.Context
	kill    context.CancelFunc

	account *frontier.Account
	checked time.Time     // when the account was last checked
	working int           // hosts that had work then
	worked  time.Duration // host-seconds with work, counted apart from the account
	checks  int

	disk     map[string][]byte // what a store would hold of each host
	trace    trace
	problems []string
}

// longest is when a run without a time limit has failed to end.
const longest = 90 * 24 * time.Hour

func newDriver(web *simweb.Web, hosts []*host, jobs []*job, workers int, timeout time.Duration) *driver {
	d := &driver{
		web: web, client: newClient(web), workers: workers, timeout: timeout,
		begin: time.Now(), hosts: hosts, jobs: jobs, coming: slices.Clone(jobs),
		results: make(chan result, workers), disk: map[string][]byte{},
	}
	slices.SortStableFunc(d.coming, func(a, b *job) int { return int(a.start - b.start) })
	d.boot()
	return d
}

// boot starts a process: nothing is in memory.
func (d *driver) boot() {
	d.ctx, d.kill = context.WithCancel(context.Background())
	d.outage, d.charged = politeness.Outage{}, nil
	d.domains, d.addresses = map[string]politeness.Interval{}, map[string]politeness.Interval{}
	d.account = frontier.NewAccount(time.Now())
	d.checked, d.working, d.worked = time.Now(), 0, 0
	for _, h := range d.hosts {
		h.booked = frontier.NoWork
	}
}

// run crawls until the given time has passed or nothing is left to do. Requests
// may still be under way then: see stop.
func (d *driver) run(span time.Duration) {
	limited := span > 0
	if !limited {
		span = longest
	}
	until := time.Now().Add(span)
	for {
		now := d.settle()
		d.welcome(now)
		if d.idle() || !now.Before(until) {
			break
		}
		wake := d.dispatch(now)
		d.check(now, true)
		if len(d.coming) > 0 {
			wake = earlier(wake, d.begin.Add(d.coming[0].start))
		}
		if d.idle() {
			break // what was left has been parked
		}
		if wake.IsZero() && d.busy == 0 {
			d.problem(now, "hosts have work and nothing to wait for")
			break
		}
		d.sleep(earlier(wake, until))
	}
	if !limited && !d.idle() {
		d.problem(time.Now(), "work is left after %v", span)
	}
}

// drain waits for the answers that are due, and sends nothing.
func (d *driver) drain() {
	for {
		now, wake := time.Now(), time.Time{}
		for _, h := range d.hosts {
			d.look(h, now, false)
			wake = earlier(wake, h.until)
		}
		d.check(now, false)
		if d.busy == 0 {
			return
		}
		d.sleep(wake)
		d.settle()
	}
}

// sleep waits for an answer or for a clock, where a zero time is no clock.
func (d *driver) sleep(wake time.Time) {
	var clock <-chan time.Time
	if !wake.IsZero() {
		timer := time.NewTimer(time.Until(wake))
		defer timer.Stop()
		clock = timer.C
	}
	select {
	case r := <-d.results:
		d.arrived = append(d.arrived, r)
	case <-clock:
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// settle lets everything happen that happens at this instant, and takes in
// the answers.
func (d *driver) settle() time.Time {
	synctest.Wait()
	now := time.Now()
	for len(d.results) > 0 {
		d.arrived = append(d.arrived, <-d.results)
	}
	slices.SortFunc(d.arrived, func(a, b result) int { return a.number - b.number })
	for _, r := range d.arrived {
		d.answer(now, r)
	}
	d.arrived = d.arrived[:0]
	return now
}

// welcome takes in the jobs whose time has come.
func (d *driver) welcome(now time.Time) {
	for len(d.coming) > 0 && now.Sub(d.begin) >= d.coming[0].start {
		j := d.coming[0]
		d.coming = d.coming[1:]
		for _, h := range d.hosts {
			if h.enqueue(j, now) {
				d.look(h, now, false)
			}
		}
	}
}

// idle reports whether no job has work or will have.
func (d *driver) idle() bool {
	return len(d.coming) == 0 && !slices.ContainsFunc(d.hosts, (*host).hasWork)
}

// dispatch sends what may be sent now and returns when to look again; an
// answer may come sooner.
func (d *driver) dispatch(now time.Time) (wake time.Time) {
	for again := true; again; d.turn++ {
		again, wake = false, time.Time{}
		for i := range d.hosts {
			d.serve(d.hosts[(d.turn+i)%len(d.hosts)], now)
		}
		for _, h := range d.hosts {
			// An answer of this instant may have freed a host or a worker.
			again = again || d.due(h, now)
			if h.hasWork() {
				wake = earlier(wake, h.until)
			}
		}
	}
	return wake
}

// serve sends what one host may be asked now.
func (d *driver) serve(h *host, now time.Time) {
	for d.due(h, now) && d.look(h, now, true) {
		if d.look(h, now, false); d.due(h, now) {
			d.settle() // a second request of one instant leaves when the first has arrived
		}
	}
}

// due reports whether a host should be looked at now.
func (d *driver) due(h *host, now time.Time) bool {
	switch h.reason {
	case visit.WaitIdle:
		return true
	case visit.WaitWorkers:
		return d.busy < d.workers
	default:
		return !h.until.IsZero() && !now.Before(h.until)
	}
}

// look works out what a host waits for, and sends its next request if that is
// nothing and the caller wants it sent.
func (d *driver) look(h *host, now time.Time, send bool) (sent bool) {
	d.park(h, now)
	h.tidy()
	h.until, h.reason = time.Time{}, ""
	if h.waiting() > 0 {
		if h.until, h.reason = d.admit(h, now); h.reason == "" {
			if send {
				d.send(h, now)
				sent = true
			} else {
				h.reason = visit.WaitIdle
			}
		}
	}
	d.move(h, now)
	return sent
}

// admit asks one clock after the other. Without a reason the host may be
// asked; without a time only an answer ends the wait.
func (d *driver) admit(h *host, now time.Time) (time.Time, visit.Wait) {
	if h.robots == robotsAsked {
		return time.Time{}, visit.WaitRobots
	}
	waits := []politeness.Wait{
		h.policy.Admit(h.state, now),
		d.outage.Admit(now),
		d.domains[h.domain].Admit(now, h.policy.DomainGap(h.state), politeness.DomainInterval),
	}
	if h.address != "" {
		waits = append(waits, d.addresses[h.address].Admit(now, d.addressGap(h), politeness.AddressInterval))
	}
	for _, w := range waits {
		if !w.Go() && !slices.Contains(d.ignores, w.Reason) {
			return w.Until, visit.Wait(w.Reason.String())
		}
	}
	if d.busy >= d.workers {
		return time.Time{}, visit.WaitWorkers
	}
	return time.Time{}, ""
}

// addressGap depends on how many hosts on the address have work.
func (d *driver) addressGap(h *host) time.Duration {
	if h.address == "" {
		return 0
	}
	n := 0
	for _, other := range d.hosts {
		if other.address == h.address && other.hasWork() {
			n++
		}
	}
	return h.policy.AddressGap(n, n)
}

// send starts the host's next request.
func (d *driver) send(h *host, now time.Time) {
	r := request{host: h, number: d.sends, at: now, path: "/robots.txt"}
	if h.robots == robotsKnown {
		r.queue, r.target = h.next()
		r.path = r.target.path
	} else {
		h.robots = robotsAsked
	}
	d.trace.send(h, r, now, d.addressGap(h))
	h.state = h.policy.Sent(h.state, now)
	d.domains[h.domain] = d.domains[h.domain].Sent(now)
	if h.address != "" {
		d.addresses[h.address] = d.addresses[h.address].Sent(now)
	}
	d.outage = d.outage.Sent(now)
	d.busy++
	d.sends++
	go func() { d.results <- visitURL(d.ctx, d.client, d.timeout, r) }()
}

// answer learns from the outcome of a request.
func (d *driver) answer(now time.Time, r result) {
	h, a := r.host, r.answer
	d.busy--
	d.notice(now, &r)
	if _, down := d.outage.Down(); down && r.attempt.Fault != politeness.NoFault {
		a.Fault = politeness.Ours
	}
	var e politeness.Effect
	h.state, e = h.policy.Observe(h.state, now, a)
	d.trace.effect(h, now, e)
	if r.target == nil {
		h.readRobots(&r)
	} else {
		tries, tenure := r.target.tries, r.queue.tenure
		r.queue.tenure = tenure.Observe(e)
		r.queue.settle(h, r.target, a, e)
		if e.Charge() == politeness.ChargeFailure {
			d.charged = append(d.charged, charged{now, r.queue, r.target, tries, tenure})
		}
	}
	d.save(h)
	d.look(h, now, false)
}

// save keeps what a store would.
func (d *driver) save(h *host) {
	b, err := h.state.MarshalBinary()
	if err != nil {
		d.problem(time.Now(), "%s: encode state: %v", h.name, err)
	}
	d.disk[h.name] = b
}

// charged is a failure that was put down to a host, as it was before.
type charged struct {
	at     time.Time
	queue  *queue
	target *target
	tries  politeness.Tries
	tenure politeness.Tenure
}

// refundable is how far back failures are taken to be our own network's when
// it turns out to be down, though some request got through meanwhile: as far as
// the outage looks back.
const refundable = 10 * time.Second

// notice tells the outage of an attempt. When it thereby sees that our own
// network is down, the failures it saw it by are taken back: those of the last
// seconds, and all since something last got through.
func (d *driver) notice(now time.Time, r *result) {
	_, before := d.outage.Down()
	d.outage = d.outage.Observe(now, r.attempt)
	_, down := d.outage.Down()
	if r.attempt.Fault == politeness.NoFault {
		d.charged = slices.DeleteFunc(d.charged, func(c charged) bool { return now.Sub(c.at) > refundable })
	}
	if down && !before {
		d.refund()
	}
	if down != before {
		for _, h := range d.hosts {
			d.look(h, now, false)
		}
	}
}

// refund takes back the failures that were put down to hosts.
func (d *driver) refund() {
	for _, c := range slices.Backward(d.charged) {
		h := c.queue.host
		h.state = h.policy.Pardon(h.state)
		c.queue.tenure, c.target.tries = c.tenure, c.tries
		if c.target.ended() {
			c.queue.reopen(c.target)
		}
		d.save(h)
	}
	d.charged = nil
}

// park ends what jobs no longer wait for.
func (d *driver) park(h *host, now time.Time) {
	for _, q := range h.queues {
		switch q.job.policy.Park(h.state, q.tenure, now, q.job.patience) {
		case politeness.ParkedByFailures:
			q.park(visit.Failed, visit.HostParked)
		case politeness.ParkedByPatience:
			q.park(visit.Deferred, "")
		case politeness.NotParked:
		}
	}
}

// move tells the account what a host does now.
func (d *driver) move(h *host, now time.Time) {
	to := h.doing()
	if to == h.booked {
		return
	}
	d.account.Move(now, h.booked, to)
	d.trace.move(h, now, to)
	h.booked = to
}

// stop ends the process. After a clean stop everything has been answered and
// stored; a crash loses what was under way and is not known to have been sent.
func (d *driver) stop(crash bool) {
	d.trace.shares(d.account.Shares(time.Now()))
	if !crash {
		d.drain()
		for _, h := range d.hosts {
			d.save(h)
		}
	}
	d.kill()
	for d.busy > 0 {
		d.sleep(time.Time{})
		synctest.Wait()
		for len(d.results) > 0 {
			d.arrived = append(d.arrived, <-d.results)
		}
		slices.SortFunc(d.arrived, func(a, b result) int { return b.number - a.number })
		for _, r := range d.arrived {
			d.busy--
			r.host.takeBack(&r)
		}
		d.arrived = d.arrived[:0]
	}
	now := time.Now()
	for _, h := range d.hosts {
		d.look(h, now, false)
	}
	d.check(now, false)
	d.trace.down(now)
}

// restart begins a new process from what was stored.
func (d *driver) restart(crash bool) {
	now := time.Now()
	d.trace.up(now)
	domains, addresses := d.domains, d.addresses
	d.boot()
	for _, h := range d.hosts {
		var s politeness.State
		if b, ok := d.disk[h.name]; !ok {
			s = politeness.New(h.name)
		} else if err := s.UnmarshalBinary(b); err != nil {
			d.problem(now, "%s: decode state: %v", h.name, err)
		} else if !crash && s != h.state {
			d.problem(now, "%s: the state changed by being stored", h.name)
		}
		if crash {
			s = h.policy.Resume(s, now)
			d.domains[h.domain] = d.domains[h.domain].Sent(now)
			d.addresses[h.address] = d.addresses[h.address].Sent(now)
		}
		h.state = s
		for _, q := range h.queues {
			q.tenure = politeness.NewTenure(now)
		}
	}
	if !crash {
		d.domains, d.addresses = domains, addresses
	}
	for _, h := range d.hosts {
		d.look(h, now, false)
	}
}

func (d *driver) problem(now time.Time, format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf("%v: ", now.Sub(d.begin))+fmt.Sprintf(format, args...))
}

// check holds the account of waits against a count of its own: every host
// with work is in exactly one state, and the host-seconds add up.
func (d *driver) check(now time.Time, dispatched bool) {
	d.worked += time.Duration(d.working) * now.Sub(d.checked)
	d.checked, d.working = now, 0
	for _, h := range d.hosts {
		if h.hasWork() {
			d.working++
		}
	}
	d.checks++
	if every := 1 + len(d.hosts)/100; d.checks%every != 0 {
		return // the recount costs as much as there are hosts
	}
	count := map[frontier.State]int{}
	for _, h := range d.hosts {
		state := h.doing()
		if state != h.booked {
			d.problem(now, "%s is in state %s, booked as %s", h.name, state, h.booked)
		}
		if dispatched && state == frontier.Waiting(visit.WaitIdle) {
			d.problem(now, "%s may be asked and was not", h.name)
		}
		count[state]++
	}
	delete(count, frontier.NoWork)
	var spent time.Duration
	var parts float64
	for _, s := range d.account.Shares(now) {
		if s.Hosts != count[s.State] {
			d.problem(now, "%d hosts in state %s, the account says %d", count[s.State], s.State, s.Hosts)
		}
		delete(count, s.State)
		spent += s.Spent
		parts += s.Part
	}
	if len(count) > 0 {
		d.problem(now, "states the account does not know: %v", count)
	}
	if spent != d.worked {
		d.problem(now, "hosts had work for %v, the account says %v", d.worked, spent)
	}
	if d.worked > 0 && math.Abs(parts-1) > 1e-9 {
		d.problem(now, "the shares add up to %v", parts)
	}
}
