package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Add implements [store.URLs].
func (s *Store) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	if len(found) > store.MaxFound {
		return store.Receipt{}, fmt.Errorf("add %d URLs, at most %d", len(found), store.MaxFound)
	}
	for i := range found {
		if err := found[i].Check(); err != nil {
			return store.Receipt{}, err
		}
	}
	if err := s.begin(ctx, "add"); err != nil {
		return store.Receipt{}, err
	}
	defer s.mu.Unlock()
	if err := s.known(found); err != nil {
		return store.Receipt{}, err
	}
	return s.add(now, 0, found), nil
}

// known reports a found URL of a job that does not exist.
func (s *Store) known(found []store.Found) error {
	for i := range found {
		if id := found[i].Item.Job; s.jobs[id] == nil {
			return fmt.Errorf("add to job %d: %w", id, store.ErrNotFound)
		}
	}
	return nil
}

// add stores checked found URLs, for a worker or, with 0, for none.
func (s *Store) add(now time.Time, w store.WorkerID, found []store.Found) store.Receipt {
	var receipt store.Receipt
	for i := range found {
		f := &found[i]
		r := s.jobs[f.Item.Job]
		if f.Aside() {
			if _, known := r.aside[f.Item.URL]; !known {
				r.aside[f.Item.URL] = stored(f.Item)
				receipt.Seen++
			}
			continue
		}
		x := r.urls[f.Item.URL]
		isNew := x == nil
		if isNew {
			x = &row{seq: len(r.order), outcome: cmp.Or(f.Outcome, visit.Pending), reason: f.Reason, item: stored(f.Item), seenAt: store.Stored(now)}
			r.urls[f.Item.URL] = x
			r.order = append(r.order, x)
			receipt.Seen++
		}
		switch {
		case isNew && x.outcome != visit.Pending:
			x.end(x.outcome, x.reason, now)
			continue
		case !isNew && !(f.Outcome == "" && x.outcome == visit.Skipped && x.reason.Provisional()):
			continue
		case !isNew:
			x.item, x.outcome, x.reason, x.endedAt, x.visit = stored(f.Item), visit.Pending, "", time.Time{}, nil
		}
		r.admitted++
		receipt.Fresh = append(receipt.Fresh, i)
		host := f.Item.URL.Host()
		if s.ledger.Slots[s.slotOf(host)].Owner != w {
			s.arrive(f.Item.Job, host)
		}
	}
	return receipt
}

// stored returns an item as it is read back.
func stored(it visit.Item) visit.Item {
	it.NotBefore = store.Stored(it.NotBefore)
	it.Chain = slices.Clone(it.Chain)
	return it
}

// Heads implements [store.URLs].
func (s *Store) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("heads of %d queues, at most %d", len(wants), store.MaxWants)
	}
	if err := s.begin(ctx, "heads"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var items []visit.Item
	for _, w := range wants {
		r := s.jobs[w.Job]
		if r == nil {
			continue
		}
		var ready, later []*row
		for _, x := range r.waiting(w.Host) {
			if x.item.NotBefore.After(now) {
				later = append(later, x)
			} else {
				ready = append(ready, x)
			}
		}
		slices.SortStableFunc(later, func(a, b *row) int { return a.item.NotBefore.Compare(b.item.NotBefore) })
		for i, x := range append(ready, later...) {
			if i == w.Max {
				break
			}
			items = append(items, x.item)
		}
	}
	return items, nil
}

// Lookup implements [store.URLs].
func (s *Store) Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error) {
	if err := s.begin(ctx, "lookup"); err != nil {
		return store.Entry{}, err
	}
	defer s.mu.Unlock()
	if r := s.jobs[id]; r != nil {
		if x := r.urls[u]; x != nil {
			e := x.entry(store.Query{})
			for _, v := range x.attempts {
				e.Attempts = append(e.Attempts, x.as(v))
			}
			return e, nil
		}
	}
	return store.Entry{}, fmt.Errorf("look up %s in job %d: %w", u, id, store.ErrNotFound)
}

// Content implements [store.URLs].
func (s *Store) Content(ctx context.Context, id job.ID, u weburl.URL) (*visit.Content, error) {
	if err := s.begin(ctx, "content"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if r := s.jobs[id]; r != nil {
		if x := r.urls[u]; x != nil {
			if x.visit == nil {
				return nil, nil
			}
			return x.visit.Page.Content, nil
		}
	}
	return nil, fmt.Errorf("read the content of %s in job %d: %w", u, id, store.ErrNotFound)
}

// entry is a row without its attempts, with the texts and links that a query asks for.
func (x *row) entry(q store.Query) store.Entry {
	e := store.Entry{Item: x.item, Outcome: x.outcome, Reason: x.reason, SeenAt: x.seenAt, EndedAt: x.endedAt}
	if x.visit != nil {
		v := x.as(*x.visit)
		if !q.Texts {
			v.Page.Content = v.Page.Content.Facts()
		}
		if !q.Links {
			v.Links = nil
		}
		e.Visit = &v
	}
	return e
}

// as returns a visit with the item of its row.
func (x *row) as(v visit.Visit) visit.Visit {
	attempt := v.Item.Attempt
	v.Item = x.item
	v.Item.Attempt = attempt
	return v
}

// List implements [store.URLs].
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := s.begin(ctx, "list"); err != nil {
		return store.Page{}, err
	}
	defer s.mu.Unlock()
	r := s.jobs[q.Job]
	if r == nil {
		return store.Page{}, fmt.Errorf("list job %d: %w", q.Job, store.ErrNotFound)
	}
	from := 0
	if q.After != "" {
		var err error
		if from, err = strconv.Atoi(string(q.After)); err != nil {
			return store.Page{}, fmt.Errorf("list job %d: cursor %q", q.Job, q.After)
		}
	}
	limit := min(q.Max, store.MaxPage)
	var page store.Page
	size := 0
	for _, x := range r.order[min(from, len(r.order)):] {
		if q.Host != "" && x.item.URL.Host() != q.Host || q.Outcome != "" && x.outcome != q.Outcome || q.Reason != "" && x.reason != q.Reason {
			continue
		}
		if len(page.Entries) == limit || size >= store.MaxTexts {
			page.Next = store.Cursor(strconv.Itoa(x.seq))
			break
		}
		e := x.entry(q)
		if e.Visit != nil {
			size += e.Visit.BulkSize()
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}

// Arrivals implements [store.URLs].
func (s *Store) Arrivals(ctx context.Context, w store.WorkerID, most int) ([]store.Arrival, error) {
	if err := s.begin(ctx, "arrivals"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Arrival
	for a := range s.arrivals {
		if s.ledger.Slots[s.slotOf(a.Host)].Owner == w && len(list) < most {
			list = append(list, a)
			delete(s.arrivals, a)
		}
	}
	slices.SortFunc(list, func(a, b store.Arrival) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Job, b.Job))
	})
	return list, nil
}
