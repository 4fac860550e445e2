package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"headway/store"
	"headway/visit"
)

// Hosts implements [store.Hosts].
func (s *Store) Hosts(ctx context.Context, q store.HostQuery) (store.HostPage, error) {
	if err := s.begin(ctx, "hosts"); err != nil {
		return store.HostPage{}, err
	}
	defer s.mu.Unlock()
	work := map[string]*store.HostWork{}
	for id, r := range s.jobs {
		if q.Job != id && (q.Job != 0 || !store.Active(r.State)) {
			continue
		}
		for _, host := range r.hostsWithWork() {
			if work[host] == nil {
				work[host] = s.work(host)
			}
			work[host].Jobs = append(work[host].Jobs, store.JobHost{Job: id, Host: host})
		}
	}
	var list []store.HostWork
	for host, w := range work {
		if slices.Contains(q.Slots, s.slotOf(host)) {
			slices.SortFunc(w.Jobs, func(a, b store.JobHost) int { return cmp.Compare(a.Job, b.Job) })
			list = append(list, *w)
		}
	}
	slices.SortFunc(list, func(a, b store.HostWork) int {
		return cmp.Or(a.Host.Rest.Compare(b.Host.Rest), cmp.Compare(a.Host.Host, b.Host.Host))
	})
	return pageOf(list, q), nil
}

// hostsWithWork lists the hosts on which something of a run waits, each once.
func (r *run) hostsWithWork() []string {
	hosts := map[string]bool{}
	for _, x := range r.order {
		if x.outcome == visit.Pending {
			hosts[x.item.URL.Host()] = true
		}
	}
	for _, e := range r.errands {
		if !e.ended {
			hosts[e.URL.Host()] = true
		}
	}
	return slices.Collect(maps.Keys(hosts))
}

// work returns a host without jobs.
func (s *Store) work(host string) *store.HostWork {
	h, ok := s.hosts[host]
	if !ok {
		h.Host = host
	}
	return &store.HostWork{Host: h}
}

// pageOf returns one page. The cursor is the ready time of the last host of the previous
// page, and its name.
func pageOf(list []store.HostWork, q store.HostQuery) store.HostPage {
	from := 0
	if q.After != "" {
		from = len(list)
		if at := slices.IndexFunc(list, func(w store.HostWork) bool { return cursorOf(w) > q.After }); at >= 0 {
			from = at
		}
	}
	to := min(len(list), from+min(q.Max, store.MaxPage))
	page := store.HostPage{Hosts: list[from:to]}
	if to < len(list) && to > from {
		page.Next = cursorOf(list[to-1])
	}
	return page
}

// cursorOf is the position of a host in the list.
func cursorOf(w store.HostWork) store.HostCursor {
	ms := int64(0)
	if !w.Host.Rest.IsZero() {
		ms = w.Host.Rest.UnixMilli()
	}
	return store.HostCursor(fmt.Sprintf("%020d %s", ms, w.Host.Host))
}

// Host implements [store.Hosts].
func (s *Store) Host(ctx context.Context, host string) (store.Host, error) {
	if err := s.begin(ctx, "host"); err != nil {
		return store.Host{}, err
	}
	defer s.mu.Unlock()
	h, ok := s.hosts[host]
	if !ok {
		return store.Host{}, fmt.Errorf("host %s: %w", host, store.ErrNotFound)
	}
	return h, nil
}

// PaceChanges implements [store.Hosts].
func (s *Store) PaceChanges(ctx context.Context, host string) ([]store.PaceChange, error) {
	if err := s.begin(ctx, "pace changes"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return slices.Clone(s.paces[host]), nil
}

// Robots implements [store.Hosts].
func (s *Store) Robots(ctx context.Context, sum [32]byte) (store.RobotsVersion, error) {
	if err := s.begin(ctx, "robots"); err != nil {
		return store.RobotsVersion{}, err
	}
	defer s.mu.Unlock()
	r, ok := s.robots[sum]
	if !ok {
		return store.RobotsVersion{}, fmt.Errorf("robots.txt %x: %w", sum, store.ErrNotFound)
	}
	return r, nil
}
