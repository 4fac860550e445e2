package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Error implements error: what is wrong, and what to do next.
func (p *Problem) Error() string {
	text := p.Detail
	for _, e := range p.Errors {
		text += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// readProblem reads an answer that is not good, and closes it. One that is none of
// Headway's becomes a problem all the same.
func readProblem(a *http.Response) *Problem {
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxProblem))
	p := new(Problem)
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")) // what has none is none of ours
	if err == nil && media == "application/problem+json" && json.Unmarshal(text, p) == nil && p.Status == int64(a.StatusCode) {
		return p
	}
	detail := fmt.Sprintf("%s answers %q", a.Request.URL.Host, strings.TrimSpace(a.Status))
	if to := a.Header.Get("Location"); to != "" {
		detail += " and sends to " + to
	}
	return &Problem{
		Type: "about:blank", Title: http.StatusText(a.StatusCode), Status: int64(a.StatusCode), Detail: detail,
		Hint: "this is no answer of headway serve: look at the address, and at what stands in front of the server",
	}
}
