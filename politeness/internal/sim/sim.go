// Package sim crawls one simulated host in virtual time, with the real rules of package
// politeness.
//
// It is used to choose the constants of the rules and to check their bars: a deterministic
// loop without goroutines or clocks that calls Admit, sends to a [Server], and observes the
// answers when they arrive. Hours pass in milliseconds, and the same crawl always gives the
// same [Result].
//
// It does not model HTTP, robots.txt or several hosts.
package sim

import (
	"time"

	"headway/politeness"
)

// Epoch is the start of simulated time: fixed, so that results repeat.
var Epoch = time.Date(2026, time.November, 15, 10, 0, 0, 0, time.UTC)

// Crawl is one host and the pages to fetch from it.
type Crawl struct {
	Policy politeness.Policy
	State  politeness.State
	Server Server
	Pages  int           // URLs to fetch
	Start  time.Time     // when it begins; Epoch if zero
	For    time.Duration // when to stop at the latest; no limit if zero

	// Trace, if set, is called for every request and every answer.
	Trace func(Event)
}

// Event is a request or an answer.
type Event struct {
	At     time.Time
	Sent   bool              // a request was sent; otherwise an answer arrived
	Answer politeness.Answer // of an answer
	Effect politeness.Effect // of an answer
	State  politeness.State  // after it
	Pages  int               // fetched so far
}

// Result is the result of a crawl.
type Result struct {
	Pages        int // fetched
	GivenUp      int // URLs that used up their retries
	Requests     int
	Refusals     int
	LateRefusals int // of these, after half of the pages
	Took         time.Duration
	End          time.Time
	State        politeness.State
}

// underWay is a request in flight.
type underWay struct {
	due    time.Time
	answer politeness.Answer
	item   item
}

// item is a waiting URL, and what it was charged with.
type item struct {
	url   int
	tries politeness.Tries
}

// Run crawls until every URL is fetched or given up, or until the time limit.
func (c Crawl) Run() Result {
	if c.Start.IsZero() {
		c.Start = Epoch
	}
	r := run{Crawl: c, now: c.Start, waiting: make([]item, c.Pages)}
	for i := range r.waiting {
		r.waiting[i].url = i
	}
	r.State = c.State
	for r.step() {
	}
	return Result{
		Pages: r.pages, GivenUp: r.givenUp, Requests: r.requests, Refusals: r.refusals, LateRefusals: r.late,
		Took: r.now.Sub(c.Start), End: r.now, State: r.State,
	}
}

type run struct {
	Crawl
	now      time.Time
	waiting  []item     // the queue of URLs
	underWay []underWay // by due time

	pages, givenUp, requests, refusals, late int
}

// step processes the next event, and reports whether there was one.
func (r *run) step() bool {
	if len(r.underWay) > 0 && !r.underWay[0].due.After(r.now) {
		r.observe()
		return true
	}
	if len(r.waiting) == 0 && len(r.underWay) == 0 {
		return false
	}
	var next time.Time
	if len(r.waiting) > 0 {
		wait := r.Policy.Admit(r.State, r.now)
		if wait.Go() {
			r.send()
			return true
		}
		next = wait.Until
	}
	if len(r.underWay) > 0 && (next.IsZero() || r.underWay[0].due.Before(next)) {
		next = r.underWay[0].due
	}
	if r.For > 0 && next.Sub(r.Start) > r.For {
		r.now = r.Start.Add(r.For)
		return false
	}
	r.now = next
	return true
}

func (r *run) send() {
	it := r.waiting[0]
	r.waiting = r.waiting[1:]
	a := r.Server.Serve(Request{At: r.now, InFlight: r.State.InFlight() + 1, Number: r.requests, URL: it.url})
	a.SentAt, a.Tries = r.now, it.tries
	r.State = r.Policy.Sent(r.State, r.now)
	r.requests++
	u := underWay{due: r.now.Add(a.Latency), answer: a, item: it}
	i := len(r.underWay)
	for i > 0 && r.underWay[i-1].due.After(u.due) {
		i--
	}
	r.underWay = append(r.underWay, underWay{})
	copy(r.underWay[i+1:], r.underWay[i:])
	r.underWay[i] = u
	r.trace(Event{Sent: true})
}

func (r *run) observe() {
	u := r.underWay[0]
	r.underWay = r.underWay[1:]
	var e politeness.Effect
	r.State, e = r.Policy.Observe(r.State, r.now, u.answer)
	switch {
	case u.answer.Status == 429 || u.answer.Status == 503:
		r.refusals++
		if 2*r.pages >= r.Pages {
			r.late++
		}
		r.again(u.item, e)
	case u.answer.Fault != politeness.NoFault || u.answer.Status >= 500:
		r.again(u.item, e)
	default:
		r.pages++
	}
	r.trace(Event{Answer: u.answer, Effect: e})
}

// again puts a URL at the end of the queue, so that each canary is a different one.
func (r *run) again(it item, e politeness.Effect) {
	it.tries = it.tries.Add(e.Charge())
	if !r.Policy.Retries(it.tries) {
		r.givenUp++
		return
	}
	r.waiting = append(r.waiting, it)
}

func (r *run) trace(e Event) {
	if r.Trace != nil {
		e.At, e.State, e.Pages = r.now, r.State, r.pages
		r.Trace(e)
	}
}
