package memory

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/store"
)

// ListAside implements [store.URLs].
func (s *Store) ListAside(ctx context.Context, id job.ID, after store.Cursor, most int) (store.AsidePage, error) {
	if err := s.begin(ctx, "list aside"); err != nil {
		return store.AsidePage{}, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return store.AsidePage{}, err
	}
	list := make([]store.Aside, 0, len(r.aside))
	for u, it := range r.aside {
		if x := (store.Aside{Mark: u.Fingerprint128(s.key), Item: it}); asideCursor(&x) > after {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b store.Aside) int { return bytes.Compare(a.Mark[:], b.Mark[:]) })
	page := store.AsidePage{URLs: list}
	if most = min(max(most, 1), store.MaxPage); len(list) > most {
		page.URLs, page.Next = list[:most], asideCursor(&list[most-1])
	}
	return page, nil
}

func asideCursor(x *store.Aside) store.Cursor {
	return store.Cursor(hex.EncodeToString(x.Mark[:]))
}

// Readmit implements [store.URLs].
func (s *Store) Readmit(ctx context.Context, now time.Time, id job.ID, rows []store.Aside) (int, error) {
	if len(rows) > store.MaxFound {
		return 0, fmt.Errorf("readmit %d URLs, at most %d", len(rows), store.MaxFound)
	}
	if err := s.begin(ctx, "readmit"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return 0, err
	}
	var found []store.Found
	for i := range rows {
		u := rows[i].Item.URL
		if it, ok := r.aside[u]; ok {
			delete(r.aside, u)
			found = append(found, store.Found{Item: it})
		}
	}
	return len(s.add(now, 0, found).Fresh), nil
}
