package temper

import (
	"errors"
	"time"
)

// Outage is a time in which a host serves nothing, or not some of its pages.
type Outage struct {
	// The outage starts After the host's first request and after AfterRequests
	// requests.
	After         time.Duration
	AfterRequests int

	For   time.Duration // duration; zero means forever
	Every time.Duration // repeats with this period; zero means once

	Action Action // default Refuse
	Status int    // of a refusal; default 503

	// RetryAfter is that of a refusal; zero means the rest of the outage, and none if
	// it never ends.
	RetryAfter time.Duration
	Form       Form

	Robots bool  // robots.txt is affected too
	Pages  Pages // affected pages
}

func (o *Outage) validate() error {
	switch {
	case o.After < 0 || o.AfterRequests < 0 || o.For < 0 || o.Every < 0 || o.RetryAfter < 0:
		return errors.New("values must not be negative")
	case o.Every > 0 && (o.For == 0 || o.For >= o.Every):
		return errors.New("a recurring outage (Every) needs For, shorter than Every")
	}
	return o.Pages.validate()
}

// outage reports whether outage i of n affects a request, and how.
func (s *State) outage(o *Outage, i, n int, now time.Time, kind Kind) (Verdict, bool) {
	if kind == Robots && !o.Robots {
		return Verdict{}, false
	}
	left, struck := o.left(s.begin(o, i, n, now), now)
	if !struck {
		return Verdict{}, false
	}
	v := Verdict{Action: o.Action, Status: o.Status, RetryAfter: wholeSeconds(o.RetryAfter), Form: o.Form}
	if v.Action == Serve {
		v.Action = Refuse
	}
	if v.Status == 0 {
		v.Status = 503
	}
	if o.RetryAfter == 0 {
		v.RetryAfter = wholeSeconds(left)
		if o.For == 0 {
			v.Form = None
		}
	}
	return v, true
}

// begin is when outage i of n started, or the zero time if it has not.
func (s *State) begin(o *Outage, i, n int, now time.Time) time.Time {
	if o.AfterRequests == 0 {
		return s.first.Add(o.After)
	}
	if s.outages == nil {
		s.outages = make([]time.Time, n)
	}
	if s.outages[i].IsZero() && s.requests > o.AfterRequests && now.Sub(s.first) >= o.After {
		s.outages[i] = now
	}
	return s.outages[i]
}

// left is how long an outage that started at begin still lasts.
func (o *Outage) left(begin, now time.Time) (time.Duration, bool) {
	if begin.IsZero() || now.Before(begin) {
		return 0, false
	}
	if o.For == 0 {
		return 0, true
	}
	age := now.Sub(begin)
	if o.Every > 0 {
		age %= o.Every
	}
	return o.For - age, age < o.For
}
