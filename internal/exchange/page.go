package exchange

import (
	"context"
	"net/http"

	"headway/content"
	"headway/fetch"
	"headway/parse"
	"headway/visit"
)

// PageRequest returns the request for a page.
func PageRequest(it visit.Item, h Host) fetch.Request {
	return fetch.Request{
		URL: it.URL, Method: http.MethodGet, Owned: h.Owned, Secrets: h.Secrets,
		ETag: it.Validators.ETag, LastModified: it.Validators.LastModified,
	}
}

// Page requests a page, parses it and records it in the visit, unless the error is local.
func (a *Requester) Page(ctx context.Context, req fetch.Request, v *visit.Visit) *Answer {
	res, err := a.Fetcher.Do(ctx, req)
	answer := &Answer{Result: res, Err: err}
	if answer.LocalErr = a.localErr(ctx, err); answer.LocalErr != nil {
		return answer
	}
	answer.At = a.now()
	r := reading{res: res, err: err, agent: a.Agent, key: a.Key, at: answer.At, links: a.Links, signals: a.Content != (content.Options{}), rules: a.Rules}
	read := func() { a.read(&r) }
	switch {
	case err != nil:
	case a.Parse != nil:
		a.Parse(read)
	default:
		read()
	}
	record(v, r)
	answer.Challenge = !r.page.Challenge.IsZero()
	return answer
}

// read parses the body of a response. The text of a page is extracted from the same tokens.
func (a *Requester) read(r *reading) {
	res := r.res
	o := parse.Options{Agent: a.Agent, KeepBody: a.Extract.Apply(res.URL), Labels: a.Links}
	var text content.Reader
	if a.Content != (content.Options{}) && isFetched(res) {
		text = content.NewReader()
		o.Beside = text
	}
	r.page, r.parseErr = parse.Read(parse.Answer{URL: res.URL, Status: res.Status, Header: res.Header, Body: res.Body}, o)
	if o.KeepBody || o.Beside != nil {
		r.content = contentOf(r, text, a.Content, a.Extract)
	}
}

// isFetched reports whether the response is a page, by its status.
func isFetched(res *fetch.Result) bool {
	outcome, _ := visit.OfStatus(res.Status)
	return outcome == visit.Fetched
}
