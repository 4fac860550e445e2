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
	texts := a.Content != (content.Options{})
	r := reading{res: res, err: err, agent: a.Agent, key: a.Key, at: answer.At, links: a.Links, signals: texts, rules: a.Rules}
	read := func() {
		wants := texts || a.Extract.Apply(res.URL)
		r.page, r.parseErr = parse.Read(parse.Answer{URL: res.URL, Status: res.Status, Header: res.Header, Body: res.Body}, parse.Options{Agent: a.Agent, KeepBody: wants, Labels: a.Links})
		if wants {
			r.content = contentOf(&r, a.Content, a.Extract)
		}
	}
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
