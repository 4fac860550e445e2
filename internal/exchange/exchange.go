// Package exchange sends one request for a robots.txt, a page or a sitemap, and interprets
// the response. It is the only code that does, for crawls, single visits and surveys. It
// does not wait for the host's pace: the caller has done that.
package exchange

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/politeness"
	"headway/robots"
	"headway/weburl"
)

// Host is the host to contact.
type Host struct {
	Home    weburl.URL
	Owned   bool          // the operator declared it as owned
	Secrets fetch.Secrets // for owned hosts
}

// Requester sends requests. Fetcher and Agent are required.
type Requester struct {
	Fetcher fetch.Fetcher
	Agent   string          // our product token in robots.txt
	Key     weburl.Key      // of the fingerprints in redirect chains
	Content content.Options // what to keep of a page's main text; zero for nothing
	Rules   *robots.Rules   // of the host's robots.txt, whose AI-use signals are recorded with the content; nil for none
	Extract *extract.Rules  // for the fields of pages; nil for none
	Links   bool            // keep the links of a page, with their words

	Keep     func(body []byte) *robots.File             // parses and caches a robots.txt; nil: [robots.Parse]
	Parse    func(read func())                          // runs the parser when there is capacity; nil: at once
	LocalErr func(ctx context.Context, err error) error // the local error behind an error; nil: [LocalError]
	Now      func() time.Time                           // nil: the system time
}

func (a *Requester) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now().UTC()
}

func (a *Requester) localErr(ctx context.Context, err error) error {
	if a.LocalErr != nil {
		return a.LocalErr(ctx, err)
	}
	return LocalError(ctx, err)
}

// Answer is the result of a request: a response or an error. It must be closed.
type Answer struct {
	*fetch.Result
	LocalErr  error     // a local error: nothing is known about the host
	Err       error     // an error of the host or the network
	At        time.Time // when it ended
	Challenge bool      // the response is a challenge page of a protection service
}

// Success reports whether the host responded with a 2xx status.
func (a *Answer) Success() bool {
	return a.Err == nil && a.Status >= http.StatusOK && a.Status < http.StatusMultipleChoices
}

// Sent reports whether the request was sent.
func (a *Answer) Sent() bool { return !a.Timing.Sent.IsZero() }

// Heard reports whether anything responded, even with a negative answer: a name server
// without such a name, a host that refuses the connection or fails TLS.
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

// Polite converts the result for package politeness.
func (a *Answer) Polite() politeness.Answer {
	return politeAnswer(a.Result, a.Err, a.Challenge, a.At)
}

// LocalError returns the error if it is ours, such as the end of ctx, and nil if it says
// something about the host.
func LocalError(ctx context.Context, err error) error {
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

// hostError reports whether an error says something about the host, not about us.
func hostError(err error) bool {
	_, ok := errors.AsType[*fetch.Error](err)
	_, hop := errors.AsType[*fetch.RefusedHopError](err)
	return ok || hop || errors.Is(err, fetch.ErrTooManyRedirects) || errors.Is(err, fetch.ErrNoLocation)
}
