package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

func (a *API) registerContent() {
	text := &huma.Schema{Type: huma.TypeString}
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-content", Method: http.MethodGet, Path: "/v1/jobs/{job}/content", Tags: []string{"pages"}, Summary: "Get what a page says: its main text, Markdown or links, or what the server sent",
		Description: "The job must have kept it: settings content (text, markdown), links and raw. Text is text/plain, Markdown text/markdown, links are a JSON object with the links from the page. Raw is the body of the response, without content codings such as gzip, as a file to download.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"text/plain": {Schema: text}, "text/markdown": {Schema: text}, "application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}, "application/json": {Schema: &huma.Schema{Type: huma.TypeObject}},
		}}},
	}, a.getContent, NotFound, ContentNotKept)
}

// contentInput names a page, and what to get of it.
type contentInput struct {
	OneJob
	URL string `query:"url" required:"true" minLength:"1" maxLength:"8192" doc:"An absolute URL." example:"https://example.com/article"`
	As  string `query:"as" default:"text" enum:"text,markdown,links,raw" doc:"What to get of the page."`
}

// contentOutput is a document with its type. A browser that opens it must not run or guess
// anything.
type contentOutput struct {
	Type    string `header:"Content-Type"`
	Sniff   string `header:"X-Content-Type-Options"`
	Sandbox string `header:"Content-Security-Policy"`
	File    string `header:"Content-Disposition"`
	Body    []byte
}

func (a *API) getContent(ctx context.Context, in *contentInput) (*contentOutput, error) {
	j, err := a.findJob(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	u, err := weburl.Parse(in.URL)
	if err != nil {
		return nil, badURL(err)
	}
	out := &contentOutput{Type: "text/plain; charset=utf-8", Sniff: "nosniff", Sandbox: "sandbox"}
	switch in.As {
	case "links":
		out.Type = "application/json"
		out.Body, err = a.linksOf(ctx, &j, u)
		return out, err
	case "raw":
		out.Type, out.File = "application/octet-stream", "attachment"
		out.Body, err = a.rawOf(ctx, &j, u)
		return out, err
	}
	c, err := a.store.Content(ctx, j.ID, u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(NotFound, fmt.Sprintf("job %d has no page %s", j.ID, u), "check the URL against the list of pages")
	}
	if err != nil {
		return nil, err
	}
	text := ""
	if c != nil {
		text = c.Text
		if in.As == "markdown" {
			text, out.Type = c.Markdown, "text/markdown; charset=utf-8"
		}
	}
	if text == "" {
		return nil, newProblem(ContentNotKept, fmt.Sprintf("job %d has no %s of %s", j.ID, in.As, u))
	}
	out.Body = []byte(text)
	return out, nil
}

// Archive is where what servers sent is read from.
type Archive interface {
	// Body reads the body of a response, or returns [fs.ErrNotExist].
	Body(ctx context.Context, at visit.Archived) ([]byte, error)
}

// rawOf returns what the server sent for a page.
func (a *API) rawOf(ctx context.Context, j *store.Job, u weburl.URL) ([]byte, error) {
	e, err := a.store.Lookup(ctx, j.ID, u)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, problem(NotFound, fmt.Sprintf("job %d has no page %s", j.ID, u), "check the URL against the list of pages")
	case err != nil:
		return nil, err
	case e.Visit == nil || e.Visit.Answer.Archived.IsZero():
		return nil, newProblem(ContentNotKept, fmt.Sprintf("job %d has no raw response of %s", j.ID, u))
	case a.archive == nil:
		return nil, problem(ContentNotKept, "this server has no archive", "start it with the --archive of the workers: headway serve --archive")
	}
	body, err := a.archive.Body(ctx, e.Visit.Answer.Archived)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem(ContentNotKept, fmt.Sprintf("the response of %s is not in the archive of this server", u), "check that headway serve and the workers have the same --archive")
	}
	return body, err
}

// linksOf returns the links from a page as JSON.
func (a *API) linksOf(ctx context.Context, j *store.Job, u weburl.URL) ([]byte, error) {
	links, err := answer.ReadLinks(ctx, answer.LinkQuestion{Store: a.store, Job: j.ID, URL: u, Out: true, Max: store.MaxPage})
	switch {
	case err != nil:
		return nil, err
	case !links.Seen:
		return nil, problem(NotFound, fmt.Sprintf("job %d has no page %s", j.ID, u), "check the URL against the list of pages")
	case links.Out.Missing:
		return nil, newProblem(ContentNotKept, fmt.Sprintf("job %d has no links of %s", j.ID, u))
	}
	return json.Marshal(links)
}
