package jobrun

import (
	"context"

	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Hosts tracks the hosts that a job with a host limit has reserved, as far as known here.
// The store decides, and its decisions are final: a reserved host stays reserved, and a
// full limit stays full. It belongs to the loop; nil means no limit.
type Hosts struct {
	most  int64
	n     int64           // reserved by the job, as last reported
	taken map[string]bool // the known ones of them
}

// NewHosts returns an empty set with a limit.
func NewHosts(most int64) *Hosts { return &Hosts{most: most, taken: map[string]bool{}} }

// full reports whether the limit is reached: then all reserved hosts are known.
func (h *Hosts) full() bool { return h.n >= h.most }

// Out reports whether a host is known to be excluded by the limit.
func (h *Hosts) Out(host string) bool { return h != nil && h.full() && !h.taken[host] }

// Has reports whether a host may be crawled, as far as known.
func (h *Hosts) Has(host string) bool { return h == nil || h.taken[host] }

// Learn adds what the store reported, and returns how many hosts are new.
func (h *Hosts) Learn(t *store.Taken) int64 {
	for _, name := range t.Hosts {
		h.taken[name] = true
	}
	more := t.N - h.n
	h.n = t.N
	return more
}

// Take reserves hosts for the job, and reports whether hosts are limited at all. Without
// hosts it only reads the reservations.
func (s *Stored) Take(ctx context.Context, hosts []string) (t store.Taken, limited bool, err error) {
	most := s.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return t, false, nil
	}
	t, err = s.Store.TakeHosts(ctx, s.ID, most.Max, hosts)
	return t, true, err
}

// takeSeeds reserves the hosts of seeds before any others, in their order, and defers the
// seeds beyond the limit.
func (s *Stored) takeSeeds(ctx context.Context, found []store.Found) error {
	if !s.Limits.Of(limit.Hosts).Limited() {
		return nil
	}
	hosts := make([]string, 0, len(found))
	for i := range found {
		if found[i].Outcome == "" {
			hosts = append(hosts, found[i].Item.URL.Host())
		}
	}
	t, _, err := s.Take(ctx, hosts)
	if err != nil {
		return err
	}
	for i := range found {
		if f := &found[i]; f.Outcome == "" && !t.Has(f.Item.URL.Host()) {
			f.Outcome = visit.Deferred
		}
	}
	return nil
}

// exceededHosts returns the host limit if URLs were deferred because of it. URLs deferred by a
// worker that did not know of a raised limit are put back to waiting (again): then the job
// is not over.
func (s *Stored) exceededHosts(ctx context.Context) (over *limit.ExceededError, again bool, err error) {
	most := s.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return nil, false, nil
	}
	t, err := s.Store.TakeHosts(ctx, s.ID, 1, nil) // lists all reserved hosts: there is at least one
	if err != nil {
		return nil, false, err
	}
	q := store.Query{Job: s.ID, Outcome: visit.Deferred, Max: store.MaxPage}
	for {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return nil, false, err
		}
		var out []weburl.URL
		for i := range page.Entries {
			if u := page.Entries[i].Item.URL; !t.Has(u.Host()) {
				out = append(out, u)
			}
		}
		switch {
		case len(out) > 0 && most.Reached(t.N):
			return most.Exceeded(t.N), false, nil
		case len(out) > 0 && !s.Deferred:
			_, err := s.Store.Reopen(ctx, s.Now(), s.ID, out)
			return nil, true, err
		case page.Next == "":
			return nil, false, nil
		}
		q.After = page.Next
	}
}
