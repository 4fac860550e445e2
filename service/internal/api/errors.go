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
	Type   problemURI         `json:"type" doc:"The URI of the type of problem; docs/reference/problems.md lists them."`
	Title  string             `json:"title" doc:"The type of problem, in words for people." example:"Wrong state"`
	Status int                `json:"status" doc:"The HTTP status of the response." example:"409"`
	Code   Code               `json:"code" doc:"The type of problem, for programs: the last part of type."`
	Detail string             `json:"detail" doc:"What is wrong with this request, in one sentence."`
	Hint   string             `json:"hint" doc:"What to do next, in one sentence."`
	Errors []huma.ErrorDetail `json:"errors,omitempty" doc:"The errors in the request, one by one."`
	header http.Header        // sent with it
}

// newProblem makes a problem with the hint of its type.
func newProblem(code Code, detail string) *Problem {
	t := typeOfProblem(code)
	return &Problem{Type: problemURI(code.URI()), Title: t.title, Status: t.status, Code: code, Detail: detail, Hint: t.hint}
}

// problem makes a problem with a hint of its own.
func problem(code Code, detail, hint string) *Problem {
	p := newProblem(code, detail)
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
		p := newProblem(codeOfStatus(status), msg)
		if status != 0 { // huma asks for an example of none
			p.Status = status
		}
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
		return problem(InvalidValue, bad.Error(), bad.Hint)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return newProblem(NotFound, "not found")
	case errors.Is(err, store.ErrConflict):
		return newProblem(Conflict, err.Error())
	case ctx.Err() != nil:
		return newProblem(Unavailable, "the request was cancelled")
	default:
		a.log.ErrorContext(ctx, "request failed", "err", err)
		return newProblem(Unavailable, "the database is not responding").retryAfter(time.Second)
	}
}
