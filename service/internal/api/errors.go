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

// Problem is an error response of the API: RFC 9457, with a code for programs and
// a next step for people.
type Problem struct {
	Type   string             `json:"type" doc:"Always about:blank; code identifies the kind of problem." example:"about:blank"`
	Title  string             `json:"title" doc:"The standard text of the HTTP status." example:"Not Found"`
	Status int                `json:"status" doc:"The HTTP status of the response." example:"404"`
	Code   Code               `json:"code" doc:"The kind of problem, for programs."`
	Detail string             `json:"detail" doc:"What is wrong with this request, in one sentence."`
	Hint   string             `json:"hint" doc:"What to do next, in one sentence."`
	Errors []huma.ErrorDetail `json:"errors,omitempty" doc:"The errors in the request, one by one."`
	header http.Header        // sent with it
}

// Code is a kind of problem.
type Code string

// The codes.
const (
	Invalid      Code = "invalid"      // the request does not match the schema
	Unauthorised Code = "unauthorised" // no key, or one that was revoked or has expired
	Forbidden    Code = "forbidden"    // the scope of the key is too narrow
	NotFound     Code = "not_found"    // it does not exist, or belongs to another tenant
	NotAllowed   Code = "not_allowed"  // the path exists, but not for this method
	Conflict     Code = "conflict"     // not possible in the current state
	TooLarge     Code = "too_large"    // the request body is too large
	TooMany      Code = "too_many"     // the rate limit of the key is exceeded
	Unavailable  Code = "unavailable"  // the database is not responding, or the server is stopping
	Internal     Code = "internal"     // an error of the server
)

// Codes lists the closed set.
var Codes = []Code{Invalid, Unauthorised, Forbidden, NotFound, NotAllowed, Conflict, TooLarge, TooMany, Unavailable, Internal}

// kinds gives the code and the hint of a status, for problems without a hint of
// their own.
var kinds = map[int]struct {
	code Code
	hint string
}{
	http.StatusUnauthorized:          {Unauthorised, "send Authorization: Bearer hw_… with a valid key; create one with headway admin key create"},
	http.StatusForbidden:             {Forbidden, "use a key with a wider scope"},
	http.StatusNotFound:              {NotFound, "check the id against the list endpoint"},
	http.StatusMethodNotAllowed:      {NotAllowed, "the Allow header lists the allowed methods"},
	http.StatusConflict:              {Conflict, "check the current state and try again"},
	http.StatusRequestEntityTooLarge: {TooLarge, "send a smaller request body"},
	http.StatusUnsupportedMediaType:  {Invalid, "send JSON with Content-Type: application/json"},
	http.StatusTooManyRequests:       {TooMany, "wait as long as the Retry-After header says"},
	http.StatusServiceUnavailable:    {Unavailable, "try again in a moment"},
}

// newProblem makes a problem with the hint of its status.
func newProblem(status int, detail string) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: Invalid, Detail: detail, Hint: "see docs/guide/api.md for examples and docs/reference/openapi.json for the schema"}
	if k, ok := kinds[status]; ok {
		p.Code, p.Hint = k.code, k.hint
	} else if status >= http.StatusInternalServerError {
		p.Code, p.Hint = Internal, "try again; if it keeps failing, check the server log"
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

// retryAfter sets when the client may retry.
func (p *Problem) retryAfter(d time.Duration) *Problem {
	p.header = http.Header{"Retry-After": {strconv.Itoa(max(1, int((d + time.Second - 1).Seconds())))}}
	return p
}

// useProblems makes huma report its own errors as problems. It is a setting of the
// whole process.
var useProblems = sync.OnceFunc(func() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := newProblem(status, msg)
		for _, err := range errs {
			if err == nil || len(p.Errors) == maxDetails {
				continue
			}
			d := huma.ErrorDetail{Message: err.Error()}
			if is, ok := err.(huma.ErrorDetailer); ok {
				// The value is not sent back: it may be long, or secret.
				d = huma.ErrorDetail{Message: is.ErrorDetail().Message, Location: is.ErrorDetail().Location}
			}
			p.Errors = append(p.Errors, d)
		}
		return p
	}
})

// explain turns an error of a handler into a problem. Server-side errors are
// logged here and reported in general terms.
func (a *API) explain(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return problem(http.StatusUnprocessableEntity, bad.Error(), bad.Hint)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return newProblem(http.StatusNotFound, "not found")
	case errors.Is(err, store.ErrConflict):
		return newProblem(http.StatusConflict, err.Error())
	case ctx.Err() != nil:
		return newProblem(http.StatusServiceUnavailable, "the request was cancelled")
	default:
		a.log.ErrorContext(ctx, "request failed", "err", err)
		return newProblem(http.StatusServiceUnavailable, "the database is not responding").retryAfter(time.Second)
	}
}
