// Package temper models how a host of the lab treats a request (its profile): with or
// without delay, with a page or a refusal, and with which Retry-After.
//
// The rules are plain data and the decision is pure: it depends on the state of one host
// and the current time, and uses no clock, socket or lock. The lab uses it in real time
// over TCP, simulations in virtual time over pipes, so both have the same model of a
// refusing, failing or overloaded server.
//
// The same calls on a new [State] with the same seed give the same verdicts. Pages,
// headers and robots.txt rules are not modelled here but in package lab.
package temper

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Rules is the profile of one host. The zero value serves everything at once.
type Rules struct {
	// Latency is the delay before any response.
	Latency Latency

	// Slope is added to the latency for each other request in flight.
	Slope time.Duration

	// Crowd is added to the latency for each other request of the last second.
	Crowd time.Duration

	// Queue makes requests wait for each other, as with one busy worker.
	Queue Queue

	// Limits are rate limits. The last one that has started applies, so that a list
	// describes a limit that changes over time.
	Limits []Limit

	// Outages are times in which nothing is served.
	Outages []Outage

	// Overload fails requests while too many are in flight or arrive.
	Overload Overload

	// ErrorRate is the random share of page requests that are refused at any rate,
	// with ErrorStatus (default 503) and a Retry-After of one second in ErrorForm.
	ErrorRate   float64
	ErrorStatus int
	ErrorForm   Form

	// Skew is how far the host's clock, as in Date and Retry-After dates, is ahead of
	// the real one.
	Skew time.Duration
}

// Queue is a single worker behind the host: each request takes Service, one after the
// other. Below one request per Service there is no wait; above it the wait grows with
// every request.
type Queue struct {
	Service time.Duration // zero means no queue
	Longest time.Duration // a request that would wait longer gets 502; zero means no limit
}

// Overload is the load at which a host fails without explanation. Failed requests count
// towards it like all others.
type Overload struct {
	InFlight int           // more than this many at once; zero means no limit
	Max      int           // more than Max arrivals within Window; zero means no limit
	Window   time.Duration //
	Reset    bool          // reset the connection instead of responding 502
}

// Pages selects pages of a host by number: page From, and each Every-th after it unless
// Every is zero. The zero value selects all requests of any kind.
type Pages struct{ From, Every int }

// has reports whether a request is selected.
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

// Kind is what a request is for.
type Kind uint8

// The kinds of request.
const (
	Page   Kind = iota // a linked page: the only kind affected by ErrorRate
	Other              // any other path
	Robots             // robots.txt: never counted by limits
)

// Action is what happens to a request.
type Action uint8

// The actions.
const (
	Serve     Action = iota // serve the content of the path
	Refuse                  // respond with the verdict's status only
	Reset                   // reset the connection
	Challenge               // respond with a page that asks for proof of being human
)

// Verdict is the treatment of one request.
type Verdict struct {
	Action Action
	Status int           // of a refusal
	Wait   time.Duration // before any response
	Idle   time.Duration // the part of Wait that is not caused by other requests

	// RetryAfter is the announced wait of a refusal, in whole seconds, and Form its
	// format; None means no header.
	RetryAfter time.Duration
	Form       Form
}

// State is the state of a host. It is not safe for concurrent use. The zero value is
// ready; [NewState] seeds its random choices.
type State struct {
	pcg      rand.PCG
	first    time.Time // the first arrival, from which times count
	requests int
	inFlight int
	free     time.Time // when the worker of the queue is idle
	limit    int       // the limit that meter belongs to
	meter    meter
	arrivals window
	second   []time.Time // the arrivals of the last second, if needed
	outages  []time.Time // start of each outage that waits for a number of requests
}

// NewState returns the state of a host without requests. Two states of the same seed draw
// the same latencies and errors.
func NewState(seed, host uint64) State {
	return State{pcg: *rand.NewPCG(seed, host)}
}

// InFlight is the number of requests in flight.
func (s *State) InFlight() int { return s.inFlight }

// Arrive decides about a request that starts now and counts it as in flight until
// [State.Leave]. page is the number of a linked page, and ignored for other kinds. Times
// must not go backwards.
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

// Leave records that a request was answered or cancelled.
func (s *State) Leave() { s.inFlight-- }

// latency draws the delay, and the part of it that is not caused by other requests; full
// means that the queue is too long.
func (s *State) latency(r *Rules, now time.Time) (wait, idle time.Duration, full bool) {
	wait = r.Latency.draw(&s.pcg)
	idle = wait + r.Queue.Service
	wait += r.Slope*time.Duration(s.inFlight-1) + r.Crowd*time.Duration(s.recentRequests(r, now))
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

// recentRequests counts the other requests of the last second, if needed.
func (s *State) recentRequests(r *Rules, now time.Time) int {
	if r.Crowd == 0 {
		return 0
	}
	for len(s.second) > 0 && now.Sub(s.second[0]) >= time.Second {
		s.second = s.second[1:]
	}
	others := len(s.second)
	if others < maxRecent {
		s.second = append(s.second, now)
	}
	return others
}

// maxRecent limits how many requests of a second are counted.
const maxRecent = 10_000

// decide applies the rules in the order of a real site: an overloaded host cannot refuse
// politely, and requests during an outage do not count.
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

// Validate reports every invalid rule, by field.
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
