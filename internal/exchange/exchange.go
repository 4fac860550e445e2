// Package exchange asks a host for one thing and says what came of it: robots.txt, a
// page or a sitemap. It is the only code that asks for any of them, for a crawl, for a
// single visit and for a look at a host before a crawl. When to ask is not its business:
// whoever calls has waited for the host's turn.
package exchange

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/politeness"
	"headway/robots"
	"headway/weburl"
)

// Host is who is asked, and as whom.
type Host struct {
	Home    weburl.URL
	Owned   bool          // the operator vouches for it
	Secrets fetch.Secrets // for owned hosts
}

// Asker asks hosts. Fetcher and Agent are needed; the rest is what a crawl has beside.
type Asker struct {
	Fetcher fetch.Fetcher
	Agent   string     // our product token in robots.txt
	Key     weburl.Key // of the fingerprints in redirect chains

	Keep  func(body []byte) *robots.File             // reads a robots.txt, and keeps it; nil: [robots.Parse]
	Parse func(read func())                          // gives a page its turn to be parsed; nil: at once
	Own   func(ctx context.Context, err error) error // our own trouble behind an error; nil: [OwnTrouble]
	Now   func() time.Time                           // nil: the time of the machine
}

func (a *Asker) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now().UTC()
}

func (a *Asker) own(ctx context.Context, err error) error {
	if a.Own != nil {
		return a.Own(ctx, err)
	}
	return OwnTrouble(ctx, err)
}

// Answer is what came of a request: an answer, or what went wrong. It is to be closed.
type Answer struct {
	*fetch.Result
	Own       error     // our own trouble: nothing is known of what was asked for
	Err       error     // what went wrong at the host, or on the way there
	At        time.Time // when it was over
	Challenge bool      // a page of a protection service stands in for what was asked for
}

// Success tells whether the host gave what was asked for.
func (a *Answer) Success() bool {
	return a.Err == nil && a.Status >= http.StatusOK && a.Status < http.StatusMultipleChoices
}

// Sent tells whether the request left.
func (a *Answer) Sent() bool { return !a.Timing.Sent.IsZero() }

// Heard tells whether somebody answered, if only to say no: a name server that knows of
// no such name, a host that refuses the connection or cannot prove itself.
func (a *Answer) Heard() bool {
	if a.Err == nil {
		return true
	}
	failure, ok := errors.AsType[*fetch.Error](a.Err)
	if !ok {
		return false
	}
	if dns, ok := errors.AsType[*guard.DNSError](a.Err); ok {
		return dns.Definite()
	}
	return failure.Reason == fetch.TLS || errors.Is(a.Err, syscall.ECONNREFUSED) || failure.Phase != fetch.PhaseConnect && failure.Phase != fetch.PhaseLookup && failure.Reason != fetch.Timeout
}

// Polite says to package politeness how the request ended.
func (a *Answer) Polite() politeness.Answer {
	return politeAnswer(a.Result, a.Err, a.Challenge, a.At)
}

// OwnTrouble tells our own trouble from the host's: it is nil where an error says
// something about the host.
func OwnTrouble(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if hostError(err) {
		return nil
	}
	return err
}

// hostError tells whether an error says something about the host, and not about
// us.
func hostError(err error) bool {
	_, ok := errors.AsType[*fetch.Error](err)
	_, hop := errors.AsType[*fetch.RefusedHopError](err)
	return ok || hop || errors.Is(err, fetch.ErrTooManyRedirects) || errors.Is(err, fetch.ErrNoLocation)
}
