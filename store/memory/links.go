package memory

import (
	"context"
	"fmt"
	"slices"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Links implements [store.URLs].
func (s *Store) Links(ctx context.Context, id job.ID, u weburl.URL) ([]visit.Link, error) {
	if err := s.begin(ctx, "links"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if r := s.jobs[id]; r != nil {
		if x := r.urls[u]; x != nil {
			if x.visit == nil {
				return nil, nil
			}
			return slices.Clone(x.visit.Links), nil
		}
	}
	return nil, fmt.Errorf("read the links of %s in job %d: %w", u, id, store.ErrNotFound)
}

// KeepsLinks implements [store.URLs].
func (s *Store) KeepsLinks(ctx context.Context, id job.ID) (bool, error) {
	if err := s.begin(ctx, "keeps links"); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return false, err
	}
	return r.links, nil
}

// Inlinks implements [store.URLs]. It reads all pages.
func (s *Store) Inlinks(ctx context.Context, q store.InlinkQuery) (store.InlinkPage, error) {
	if err := s.begin(ctx, "inlinks"); err != nil {
		return store.InlinkPage{}, err
	}
	defer s.mu.Unlock()
	r := s.jobs[q.Job]
	if r == nil {
		return store.InlinkPage{}, fmt.Errorf("read the links to %s in job %d: %w", q.URL, q.Job, store.ErrNotFound)
	}
	from, position, err := q.Place()
	if err != nil {
		return store.InlinkPage{}, fmt.Errorf("read the links to %s in job %d: %w", q.URL, q.Job, err)
	}
	var page store.InlinkPage
	for _, x := range r.order[min(int(from), len(r.order)):] {
		if x.visit == nil {
			continue
		}
		for i, l := range x.visit.Links {
			if l.URL != q.URL || int64(x.seq) == from && i < position {
				continue
			}
			if len(page.Links) == min(max(q.Max, 1), store.MaxPage) {
				page.Next = store.InlinkCursor(int64(x.seq), i)
				return page, nil
			}
			page.Links = append(page.Links, store.Inlink{Page: x.item.URL, Position: i, Link: l})
		}
	}
	return page, nil
}
