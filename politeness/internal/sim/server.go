package sim

import (
	"net/http"
	"time"

	"headway/politeness"
)

// Request is what a server sees of us.
type Request struct {
	At       time.Time
	InFlight int // requests in flight, including this one
	Number   int // of the request, from 0
	URL      int // which of the URLs it is for, from 0
}

// Server serves requests. The Latency of an answer says when it arrives.
type Server interface {
	Serve(r Request) politeness.Answer
}

// ServerFunc is a server in one function.
type ServerFunc func(r Request) politeness.Answer

// Serve implements [Server].
func (f ServerFunc) Serve(r Request) politeness.Answer { return f(r) }

// Limited serves within a limit and refuses beyond it.
type Limited struct {
	Limit      Limit
	RetryAfter bool // whether refusals name the time, in whole seconds rounded up
	Latency    time.Duration
	Status     int // of a refusal; 429 when zero
}

// Serve implements [Server].
func (s *Limited) Serve(r Request) politeness.Answer {
	wait := s.Limit.Take(r.At)
	if wait == 0 {
		return OK(s.Latency)
	}
	a := Refuse(s.Latency)
	if s.Status != 0 {
		a.Status = s.Status
	}
	if s.RetryAfter {
		a.HasRetryAfter = true
		a.RetryAfter = (wait + time.Second - 1).Truncate(time.Second)
	}
	return a
}

// OK is the answer of a working server.
func OK(latency time.Duration) politeness.Answer {
	return politeness.Answer{Status: http.StatusOK, Latency: latency}
}

// Refuse is a refusal without Retry-After.
func Refuse(latency time.Duration) politeness.Answer {
	return politeness.Answer{Status: http.StatusTooManyRequests, Latency: latency}
}
