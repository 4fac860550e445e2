package jobrun

import (
	"context"

	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Hosts is which hosts a job may take up, where that is limited, as far as it is
// known here. The store decides, and what it said holds: a host that was taken stays
// taken, and where there is no room there will be none. It belongs to the loop; nil is
// no limit.
type Hosts struct {
	most  int64
	n     int64           // taken by the job, as last heard
	taken map[string]bool // those of them that we know of
}

// NewHosts returns what is known of the hosts of a job, of which there may be so many.
func NewHosts(most int64) *Hosts { return &Hosts{most: most, taken: map[string]bool{}} }

// full tells whether there is no room for more: then all that were taken are known.
func (h *Hosts) full() bool { return h.n >= h.most }

// Out tells whether a host is known to be left out.
func (h *Hosts) Out(host string) bool { return h != nil && h.full() && !h.taken[host] }

// Has tells whether a host may be asked, as far as is known.
func (h *Hosts) Has(host string) bool { return h == nil || h.taken[host] }

// Learn keeps what the store said, and tells how many hosts are new.
func (h *Hosts) Learn(t *store.Taken) int64 {
	for _, name := range t.Hosts {
		h.taken[name] = true
	}
	more := t.N - h.n
	h.n = t.N
	return more
}

// Take takes hosts up for the job, and tells whether that is limited at all; without
// hosts it only reads how it stands.
func (s *Stored) Take(ctx context.Context, hosts []string) (t store.Taken, limited bool, err error) {
	most := s.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return t, false, nil
	}
	t, err = s.Store.TakeHosts(ctx, s.ID, most.Max, hosts)
	return t, true, err
}

// takeSeeds takes the hosts of seeds up before any others, in their order, and puts
// off the seeds for which there is no room.
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

// leftOut is the limit of hosts, if URLs were put off because of it. Those that were
// put off though there is room, by a worker that had not heard yet of a higher limit,
// wait again: then the job is not over.
func (s *Stored) leftOut(ctx context.Context) (over *limit.ExceededError, again bool, err error) {
	most := s.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return nil, false, nil
	}
	t, err := s.Store.TakeHosts(ctx, s.ID, 1, nil) // all are told: it has at least one
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
