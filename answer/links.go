package answer

import (
	"context"
	"errors"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// LinkQuestion asks for the links of a URL, of a crawl that kept links.
type LinkQuestion struct {
	Store   store.Reader
	Job     job.ID
	URL     weburl.URL
	In, Out bool // which links
	Max     int  // of each, at most [store.MaxPage]
}

// Links are the links to and from a URL.
type Links struct {
	URL     string        `json:"url"`
	Seen    bool          `json:"seen"`              // the crawl found the URL in scope
	Outcome visit.Outcome `json:"outcome,omitempty"` // how it ended; pending while it waits
	In      *LinkList     `json:"in,omitempty"`
	Out     *LinkList     `json:"out,omitempty"`
}

// LinkList is a list of links: those to a URL, or those from it.
type LinkList struct {
	Links []LinkRow `json:"links"`
	More  bool      `json:"more"`            // there are more
	Total int       `json:"total,omitempty"` // of links from the URL
	// Missing says that the links of the page were not kept: it was not fetched, or the
	// crawl did not keep links at the time. Cut says that only the first ones were kept.
	Missing bool `json:"missing,omitempty"`
	Cut     bool `json:"cut,omitempty"`
}

// LinkRow is one link.
type LinkRow struct {
	URL      string `json:"url"`      // the other end
	Position int    `json:"position"` // 1 is the first link of the page
	Kind     string `json:"kind"`     // the element or header that contained it
	Rel      string `json:"rel,omitempty"`
	Nofollow bool   `json:"nofollow"`
	Anchor   string `json:"anchor"`
}

// ReadLinks reads the links of a URL.
func ReadLinks(ctx context.Context, q LinkQuestion) (*Links, error) {
	a := &Links{URL: q.URL.String()}
	e, err := q.Store.Lookup(ctx, q.Job, q.URL)
	switch {
	case err == nil:
		a.Seen, a.Outcome = true, e.Outcome
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	if q.In {
		page, err := q.Store.Inlinks(ctx, store.InlinkQuery{Job: q.Job, URL: q.URL, Max: q.Max})
		if err != nil {
			return nil, err
		}
		a.In = &LinkList{Links: make([]LinkRow, 0, len(page.Links)), More: page.Next != ""}
		for _, l := range page.Links {
			a.In.Links = append(a.In.Links, linkRow(l.Page, l.Position, l.Link))
		}
	}
	if q.Out {
		if a.Out, err = linksFrom(ctx, q, e.Visit); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// linksFrom reads the links of a page.
func linksFrom(ctx context.Context, q LinkQuestion, v *visit.Visit) (*LinkList, error) {
	list := &LinkList{Links: []LinkRow{}}
	if v == nil || v.Page.Links == nil {
		list.Missing = true
		return list, nil
	}
	links, err := q.Store.Links(ctx, q.Job, q.URL)
	if err != nil {
		return nil, err
	}
	list.Total, list.Cut = len(links), v.Page.Links.Cut
	for i, l := range links[:min(len(links), q.Max)] {
		list.Links = append(list.Links, linkRow(l.URL, i, l))
	}
	list.More = len(list.Links) < len(links)
	return list, nil
}

func linkRow(u weburl.URL, position int, l visit.Link) LinkRow {
	return LinkRow{URL: u.String(), Position: position + 1, Kind: l.Kind, Rel: l.Rel, Nofollow: l.Nofollow, Anchor: l.Anchor}
}
