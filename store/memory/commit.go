package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/store"
	"headway/visit"
)

// Commit implements [store.URLs]. Everything that can reject the commit is checked before
// anything is changed.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if err := c.Check(); err != nil {
		return store.Receipt{}, err
	}
	if err := c.CheckLeases(s.key); err != nil {
		return store.Receipt{}, err
	}
	if err := s.begin(ctx, "commit"); err != nil {
		return store.Receipt{}, err
	}
	defer s.mu.Unlock()
	repeated, err := s.ledger.Begin(&c)
	if err != nil || repeated {
		return store.Receipt{Repeated: repeated}, err
	}
	if err := s.mayCommit(&c); err != nil {
		return store.Receipt{}, fmt.Errorf("commit %d of worker %d: %w", c.Number, c.Worker, err)
	}
	spend, err := s.ledger.Spend(&c)
	if err != nil {
		return store.Receipt{}, err
	}
	s.ledger.Done(&c, spend)
	return s.apply(&c), nil
}

// mayCommit reports why a commit of a valid worker is rejected.
func (s *Store) mayCommit(c *store.Commit) error {
	for _, id := range c.RequiredJobs() {
		if s.jobs[id] == nil {
			return fmt.Errorf("job %d: %w", id, store.ErrNotFound)
		}
	}
	waits := func(it *visit.Item) error {
		r := s.jobs[it.Job]
		if r == nil || r.urls[it.URL] == nil || r.urls[it.URL].outcome != visit.Pending {
			return fmt.Errorf("%s of job %d: %w", it.URL, it.Job, store.ErrNotWaiting)
		}
		return nil
	}
	for i := range c.Visits {
		if err := waits(&c.Visits[i].Item); err != nil {
			return err
		}
	}
	for i := range c.Retries {
		if err := waits(&c.Retries[i].Visit.Item); err != nil {
			return err
		}
	}
	return nil
}

// apply applies a checked commit.
func (s *Store) apply(c *store.Commit) store.Receipt {
	for _, h := range c.HostTime {
		if r := s.jobs[h.Job]; r != nil {
			if r.hostTime == nil {
				r.hostTime = map[string]time.Duration{}
			}
			r.hostTime[h.State] += h.Spent
		}
	}
	for _, g := range c.Segments {
		s.jobs[g.Job].segments[g.Key] = true
	}
	for i := range c.Visits {
		v := c.Visits[i]
		v.Links = slices.Clone(v.Kept())
		s.jobs[v.Item.Job].links = s.jobs[v.Item.Job].links || len(v.Links) > 0
		x := s.jobs[v.Item.Job].urls[v.Item.URL]
		x.end(v.Outcome, v.Reason, c.At)
		x.visit = &v
	}
	for i := range c.Retries {
		r := &c.Retries[i]
		v := r.Visit
		x := s.jobs[v.Item.Job].urls[v.Item.URL]
		x.item.Attempt, x.item.NotBefore = r.Attempt, store.Stored(r.NotBefore)
		x.keep(v)
	}
	receipt := s.add(c.At, c.Worker, c.Found)
	for _, p := range c.Parks {
		rows := s.jobs[p.Job].waiting(p.Host)
		for i, x := range rows {
			if i == store.MaxPark {
				receipt.Left += len(rows) - i
				break
			}
			x.end(p.Outcome, p.Reason, c.At)
		}
	}
	receipt.Errands = s.errands(c)
	s.learn(c)
	s.meter(c)
	return receipt
}

// keep adds an attempt to the row, without links and texts.
func (x *row) keep(v visit.Visit) {
	v.Links, v.Page.Content = nil, v.Page.Content.Facts()
	x.attempts = append(x.attempts, v)
	x.attempts = x.attempts[max(0, len(x.attempts)-store.MaxAttempts):]
}

// end finishes a row.
func (x *row) end(o visit.Outcome, r visit.Reason, at time.Time) {
	x.outcome, x.reason, x.endedAt = o, r, store.Stored(at)
	x.item.NotBefore = time.Time{}
}

// learn stores what a commit says about hosts.
func (s *Store) learn(c *store.Commit) {
	for _, h := range c.Hosts {
		rest := store.Stored(h.Rest)
		if rest.IsZero() {
			rest = s.hosts[h.Host].Rest
		}
		h.HoldUntil, h.LastSent, h.Rest, h.Change = store.Stored(h.HoldUntil), store.Stored(h.LastSent), rest, store.Same
		h.Politeness, h.Robots = slices.Clone(h.Politeness), slices.Clone(h.Robots)
		s.hosts[h.Host] = h
	}
	for _, p := range c.Paces {
		p.At = store.Stored(p.At)
		list := slices.Concat(s.paces[p.Host], []store.PaceChange{p})
		s.paces[p.Host] = list[max(0, len(list)-store.MaxPaceChanges):]
	}
	for _, r := range c.Robots {
		if _, ok := s.robots[r.Sum]; !ok {
			r.Body, r.FetchedAt = slices.Clone(r.Body), store.Stored(r.FetchedAt)
			s.robots[r.Sum] = r
		}
	}
}
