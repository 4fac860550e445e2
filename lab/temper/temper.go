// Package temper says how a host of the lab treats a request: at once or
// late, with a page or with a refusal, and how long it asks the client to
// stay away.
//
// The rules are plain data and the decision is pure: it takes the memory of
// one host and the present instant, and touches no clock, socket or lock. The
// lab asks it with real time over TCP; a simulation asks it with virtual time
// over pipes. Both get one model of a refusing, failing or tiring server.
//
// It promises that the same calls on a fresh [State] of the same seed give the
// same verdicts. It does not know pages, headers or robots.txt rules: what a
// host holds is the business of the lab.
package temper

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Rules is the temper of one host. The zero value answers everything at once.
type Rules struct {
	// Latency is the wait before any answer.
	Latency Latency

	// Slope is added to the latency for each other request in flight.
	Slope time.Duration

	// Crowd is added to the latency for each other request of the last second.
	Crowd time.Duration

	// Queue makes requests wait for each other, as behind one busy worker.
	Queue Queue

	// Limits refuse what comes too often. The last one that has begun is in
	// force, so that a list describes a limit that changes.
	Limits []Limit

	// Outages are the times in which nothing is served.
	Outages []Outage

	// Overload fails requests while too many are in flight or arrive.
	Overload Overload

	// ErrorRate is the share of page requests, drawn at random, that are
	// refused whatever the rate: with ErrorStatus, 503 when zero, and a
	// Retry-After of one second in ErrorForm.
	ErrorRate   float64
	ErrorStatus int
	ErrorForm   Form

	// Skew is how far the host's own clock, as its Date header and its
	// Retry-After dates show it, is ahead of the real one.
	Skew time.Duration
}

// Queue is one worker behind the host: each request takes Service of its time,
// one after the other. Below one request per Service nobody waits; above it
// the wait grows with every request.
type Queue struct {
	Service time.Duration // zero means no queue
	Longest time.Duration // a request that would wait longer is answered 502; zero means it waits
}

// Overload is the point from which a host fails without saying why. Requests
// that fail count towards it like all others.
type Overload struct {
	InFlight int           // more than this many at once; zero means any number
	Max      int           // more than Max arrivals within Window; zero means any number
	Window   time.Duration //
	Reset    bool          // reset the connection instead of answering 502
}

// Pages picks some of a host's pages by number: page From, and each Every-th
// after it unless Every is zero. The zero value is all requests, whatever they
// are for.
type Pages struct{ From, Every int }

// has tells whether a request is one of those picked.
func (p Pages) has(kind Kind, page int) bool {
	if p == (Pages{}) {
		return true
	}
	beyond := page - p.From
	return kind == Page && (beyond == 0 || beyond > 0 && p.Every > 0 && beyond%p.Every == 0)
}

func (p Pages) validate() error {
	if p.From < 0 || p.Every < 0 {
		return errors.New("Pages must not be negative")
	}
	return nil
}

// Kind is what a request is for, as far as tempers care.
type Kind uint8

// The kinds of request.
const (
	Page   Kind = iota // a linked page: the only kind ErrorRate strikes
	Other              // any other path
	Robots             // robots.txt: limits never count it
)

// Action is what becomes of a request.
type Action uint8

// The actions.
const (
	Serve     Action = iota // answer what the path holds
	Refuse                  // answer with the verdict's status and nothing else
	Reset                   // cut the connection
	Challenge               // answer with a page that asks for proof of being human
)

// Verdict is the treatment of one request.
type Verdict struct {
	Action Action
	Status int           // of a refusal
	Wait   time.Duration // before the answer, whatever it is
	Idle   time.Duration // of that wait, what it would be with nothing else to do

	// RetryAfter is how long a refusal asks the client to stay away, in whole
	// seconds, and Form how it says so; with the form None it says nothing.
	RetryAfter time.Duration
	Form       Form
}

// State is what a host remembers of the requests it has had. It is not safe
// for concurrent use. The zero value is ready; [NewState] seeds its draws.
type State struct {
	pcg      rand.PCG
	first    time.Time // the first arrival; what changes with time counts from here
	requests int
	inFlight int
	free     time.Time // when the worker behind the queue is idle
	limit    int       // the limit that meter belongs to
	meter    meter
	arrivals window
	second   []time.Time // the arrivals of the last second, if they matter
	outages  []time.Time // when each outage that waits for a number of requests began
}

// NewState gives the memory of a host that has had no request. Two states of
// the same seed draw the same latencies and errors.
func NewState(seed, host uint64) State {
	return State{pcg: *rand.NewPCG(seed, host)}
}

// InFlight is how many requests have arrived and not left.
func (s *State) InFlight() int { return s.inFlight }

// Arrive decides about a request that starts now and counts it as in flight
// until [State.Leave]. page is the number of a linked page, and nothing for
// other kinds. Instants must not go backwards.
func (s *State) Arrive(r *Rules, now time.Time, kind Kind, page int) Verdict {
	if s.first.IsZero() {
		s.first = now
	}
	s.requests++
	s.inFlight++
	wait, idle, full := s.latency(r, now)
	v := s.decide(r, now, kind, page, full)
	v.Wait, v.Idle = wait, idle
	return v
}

// Leave notes that a request has been answered or given up.
func (s *State) Leave() { s.inFlight-- }

// latency draws the wait, and what of it is not due to other requests; full
// says that the queue is too long to join.
func (s *State) latency(r *Rules, now time.Time) (wait, idle time.Duration, full bool) {
	wait = r.Latency.draw(&s.pcg)
	idle = wait + r.Queue.Service
	wait += r.Slope*time.Duration(s.inFlight-1) + r.Crowd*time.Duration(s.crowd(r, now))
	if r.Queue.Service == 0 {
		return wait, idle, false
	}
	if s.free.Before(now) {
		s.free = now
	}
	queued := s.free.Sub(now)
	if r.Queue.Longest > 0 && queued > r.Queue.Longest {
		return wait, idle, true
	}
	s.free = s.free.Add(r.Queue.Service)
	return wait + queued + r.Queue.Service, idle, false
}

// crowd counts the other requests of the last second, if that matters.
func (s *State) crowd(r *Rules, now time.Time) int {
	if r.Crowd == 0 {
		return 0
	}
	for len(s.second) > 0 && now.Sub(s.second[0]) >= time.Second {
		s.second = s.second[1:]
	}
	others := len(s.second)
	if others < maxCrowd {
		s.second = append(s.second, now)
	}
	return others
}

// maxCrowd bounds how many requests of a second are told apart.
const maxCrowd = 10_000

// decide asks the rules in the order in which a real site would: what is
// overloaded cannot refuse politely, and what is down does not count.
func (s *State) decide(r *Rules, now time.Time, kind Kind, page int, full bool) Verdict {
	if full || s.overloaded(&r.Overload, now) {
		if r.Overload.Reset {
			return Verdict{Action: Reset}
		}
		return Verdict{Action: Refuse, Status: 502, Form: None}
	}
	for i := range r.Outages {
		if !r.Outages[i].Pages.has(kind, page) {
			continue
		}
		if v, struck := s.outage(&r.Outages[i], i, len(r.Outages), now, kind); struck {
			return v
		}
	}
	if kind != Robots {
		if v, refused := s.limited(r.Limits, now, kind, page); refused {
			return v
		}
	}
	if kind == Page && r.ErrorRate > 0 && rand.New(&s.pcg).Float64() < r.ErrorRate {
		return Verdict{Action: Refuse, Status: cmp.Or(r.ErrorStatus, 503), RetryAfter: time.Second, Form: r.ErrorForm}
	}
	return Verdict{}
}

func (s *State) overloaded(o *Overload, now time.Time) bool {
	if o.InFlight > 0 && s.inFlight > o.InFlight {
		return true
	}
	if o.Max == 0 {
		return false
	}
	over := s.arrivals.wait(o.Max, o.Window, now) > 0
	s.arrivals.note(now)
	return over
}

// Validate reports every rule that makes no sense, by field.
func (r *Rules) Validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if r.Slope < 0 {
		bad("Slope: %v must not be negative", r.Slope)
	}
	if r.Crowd < 0 {
		bad("Crowd: %v must not be negative", r.Crowd)
	}
	if r.Queue.Service < 0 || r.Queue.Longest < 0 {
		bad("Queue: times must not be negative")
	}
	if o := r.Overload; o.InFlight < 0 || o.Max < 0 || (o.Max > 0) != (o.Window > 0) {
		bad("Overload: InFlight must not be negative, and Max and Window must be both positive or both zero")
	}
	if r.ErrorRate < 0 || r.ErrorRate > 1 {
		bad("ErrorRate: %v is out of range, use 0 to 1", r.ErrorRate)
	}
	for i := range r.Limits {
		if err := r.Limits[i].validate(); err != nil {
			bad("Limits[%d]: %w", i, err)
		}
	}
	for i := range r.Outages {
		if err := r.Outages[i].validate(); err != nil {
			bad("Outages[%d]: %w", i, err)
		}
	}
	return errors.Join(problems...)
}
