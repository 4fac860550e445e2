package memory

import (
	"context"
	"fmt"
	"slices"

	"headway/store"
	"headway/weburl"
)

// errands adds the errands of a commit, then ends those that were run or parked. It
// returns the indexes of those that were added.
func (s *Store) errands(c *store.Commit) (fresh []int) {
	for i, e := range c.Errands {
		r, host := s.jobs[e.Job], e.URL.Host()
		if r.errand(e.URL) != nil || r.errandsOn(host) >= store.MaxErrands {
			continue
		}
		r.errands = append(r.errands, &errand{Errand: e})
		r.admitted++
		fresh = append(fresh, i)
		if s.ledger.Slots[s.slotOf(host)].Owner != c.Worker {
			s.arrive(e.Job, host)
		}
	}
	for i := range c.Ran {
		if r := s.jobs[c.Ran[i].Job]; r != nil {
			if e := r.errand(c.Ran[i].URL); e != nil {
				e.ended = true
			}
		}
	}
	for _, p := range c.Parks {
		for _, e := range s.jobs[p.Job].errands {
			e.ended = e.ended || e.URL.Host() == p.Host
		}
	}
	return fresh
}

// errand finds an errand of a run; nil for none.
func (r *run) errand(u weburl.URL) *errand {
	if at := slices.IndexFunc(r.errands, func(e *errand) bool { return e.URL == u }); at >= 0 {
		return r.errands[at]
	}
	return nil
}

// errandsOn counts the errands of a run on a host, waiting and ended.
func (r *run) errandsOn(host string) (n int) {
	for _, e := range r.errands {
		if e.URL.Host() == host {
			n++
		}
	}
	return n
}

// Errands implements [store.URLs].
func (s *Store) Errands(ctx context.Context, wants []store.Want) ([]store.Errand, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("errands of %d queues, at most %d", len(wants), store.MaxWants)
	}
	if err := s.begin(ctx, "errands"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Errand
	for _, w := range wants {
		r := s.jobs[w.Job]
		if r == nil {
			continue
		}
		left := w.Max
		for _, e := range r.errands {
			if left > 0 && !e.ended && e.URL.Host() == w.Host {
				list = append(list, e.Errand)
				left--
			}
		}
	}
	return list, nil
}
