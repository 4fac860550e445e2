package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/internal/jobspec"
	"headway/store"
)

// maxDetails is how many faults of a request are listed.
const maxDetails = 20

// Problem is an error as the API tells it: RFC 9457, with a code for programs and
// a next step for people.
type Problem struct {
	Type   string             `json:"type" doc:"Always about:blank; the code tells problems apart." example:"about:blank"`
	Title  string             `json:"title" doc:"The status in words." example:"Not Found"`
	Status int                `json:"status" doc:"The status of the answer." example:"404"`
	Code   Code               `json:"code" doc:"What kind of problem it is."`
	Detail string             `json:"detail" doc:"What is wrong with this request, in a sentence."`
	Hint   string             `json:"hint" doc:"What to do next, in a sentence."`
	Errors []huma.ErrorDetail `json:"errors,omitempty" doc:"The faults of the request, one by one."`
	header http.Header        // sent with it
}

// Code is a kind of problem.
type Code string

// The codes.
const (
	Invalid      Code = "invalid"      // the request does not fit the description
	Unauthorised Code = "unauthorised" // no key, or one that opens nothing any more
	Forbidden    Code = "forbidden"    // the key opens less than that
	NotFound     Code = "not_found"    // there is no such thing, or it is not yours
	NotAllowed   Code = "not_allowed"  // there is something, but not for this method
	Conflict     Code = "conflict"     // it is not in a state for that
	TooLarge     Code = "too_large"    //
	TooMany      Code = "too_many"     // more requests than the key may send
	Unavailable  Code = "unavailable"  // the store does not answer, or the server stops
	Internal     Code = "internal"     // our fault
)

// Codes lists the closed set.
var Codes = []Code{Invalid, Unauthorised, Forbidden, NotFound, NotAllowed, Conflict, TooLarge, TooMany, Unavailable, Internal}

// kinds says what a status means here and what to do about it where nothing more
// is known.
var kinds = map[int]struct {
	code Code
	hint string
}{
	http.StatusUnauthorized:          {Unauthorised, "send a key as Authorization: Bearer hw_…; headway admin key create makes one"},
	http.StatusForbidden:             {Forbidden, "use a key with a wider scope"},
	http.StatusNotFound:              {NotFound, "look at the list for what is there"},
	http.StatusMethodNotAllowed:      {NotAllowed, "the field Allow names the methods"},
	http.StatusConflict:              {Conflict, "look how it stands and try again"},
	http.StatusRequestEntityTooLarge: {TooLarge, "send less at a time"},
	http.StatusUnsupportedMediaType:  {Invalid, "send JSON, and say so: Content-Type: application/json"},
	http.StatusTooManyRequests:       {TooMany, "wait as long as Retry-After says"},
	http.StatusServiceUnavailable:    {Unavailable, "try again in a moment"},
}

// newProblem makes a problem with the hint of its status.
func newProblem(status int, detail string) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: Invalid, Detail: detail, Hint: "docs/guide/api.md has examples, docs/reference/openapi.json every detail"}
	if k, ok := kinds[status]; ok {
		p.Code, p.Hint = k.code, k.hint
	} else if status >= http.StatusInternalServerError {
		p.Code, p.Hint = Internal, "try again; if it stays, the log of the server says more"
	}
	return p
}

// problem makes a problem with a hint of its own.
func problem(status int, detail, hint string) *Problem {
	p := newProblem(status, detail)
	p.Hint = hint
	return p
}

// Error is the sentence of the problem.
func (p *Problem) Error() string { return p.Detail }

// GetStatus makes the problem an error of huma.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders makes huma send the fields that belong to it.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// retryAfter tells the client when to come again.
func (p *Problem) retryAfter(d time.Duration) *Problem {
	p.header = http.Header{"Retry-After": {strconv.Itoa(max(1, int((d + time.Second - 1).Seconds())))}}
	return p
}

// ourErrors makes huma speak of its own findings in our words. It can only be told
// once for the whole process.
var ourErrors = sync.OnceFunc(func() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := newProblem(status, msg)
		for _, err := range errs {
			if err == nil || len(p.Errors) == maxDetails {
				continue
			}
			d := huma.ErrorDetail{Message: err.Error()}
			if is, ok := err.(huma.ErrorDetailer); ok {
				// What was sent is not sent back: it may be long, or secret.
				d = huma.ErrorDetail{Message: is.ErrorDetail().Message, Location: is.ErrorDetail().Location}
			}
			p.Errors = append(p.Errors, d)
		}
		return p
	}
})

// explain turns an error of a handler into a problem. What is not the client's
// fault is logged here and told in general words.
func (a *API) explain(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return problem(http.StatusUnprocessableEntity, bad.Error(), bad.Hint)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return newProblem(http.StatusNotFound, "there is no such thing")
	case errors.Is(err, store.ErrConflict):
		return newProblem(http.StatusConflict, err.Error())
	case ctx.Err() != nil:
		return newProblem(http.StatusServiceUnavailable, "the request was given up")
	default:
		a.log.ErrorContext(ctx, "request failed", "err", err)
		return newProblem(http.StatusServiceUnavailable, "the store does not answer").retryAfter(time.Second)
	}
}
