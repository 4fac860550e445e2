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

// readProblem reads an unsuccessful response, and closes it. A response that is not from
// Headway also becomes a problem.
func readProblem(a *http.Response) *Problem {
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxProblem))
	p := new(Problem)
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")) // a response without a type is not from Headway
	if err == nil && media == "application/problem+json" && json.Unmarshal(text, p) == nil && p.Status == int64(a.StatusCode) {
		return p
	}
	detail := fmt.Sprintf("%s returned %q", a.Request.URL.Host, strings.TrimSpace(a.Status))
	if to := a.Header.Get("Location"); to != "" {
		detail += " and redirects to " + to
	}
	return &Problem{
		Type: "about:blank", Title: http.StatusText(a.StatusCode), Status: int64(a.StatusCode), Detail: detail,
		Hint: "this response is not from headway serve: check the server URL and any proxy in front of it",
	}
}
