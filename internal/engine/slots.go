package engine

import (
	"context"
	"fmt"
	"time"

	"headway/internal/loop"
	"headway/store"
)

// rebalance acquires free slots up to our fair share, and releases those beyond it when
// workers join.
func (m *member) rebalance(work context.Context, now time.Time) {
	if !m.rebalancing.due(now) {
		return
	}
	own, most := m.slots.Len(), m.slots.Counted()
	read := m.read
	loop.Once(work, m.loop, func(ctx context.Context) (balance, error) {
		return read.balance(ctx, most, own)
	}, func(now time.Time, b balance, err error) {
		m.rebalancing.done(now.Add(m.cfg.Terms.Renew))
		if err != nil {
			m.rebalancing.at = now.Add(loop.RetryLast)
			m.onStoreError(work, fmt.Errorf("share the slots: %w", err))
			return
		}
		m.acquired(work, now, b)
		m.shed(b.share)
	})
}

// acquired starts the work that waits in new slots.
func (m *member) acquired(work context.Context, now time.Time, b balance) {
	if len(b.leases) == 0 {
		return
	}
	slots := slotsOf(b.leases)
	m.suspects.addSlots(slots, b.found)
	m.slots.Add(now, b.leases)
	m.control.ReadNow(now) // messages to the previous owner
	m.cfg.Log.Info("slots acquired", "slots", len(b.leases), "owned", m.slots.Len())
	m.queues.readHosts(work, store.HostQuery{Slots: slots})
}

// shed marks slots beyond our share for release.
func (m *member) shed(share int) {
	hosts := map[store.Slot]int{}
	for _, s := range m.sites {
		hosts[s.slot]++
	}
	if n := m.slots.Shed(share, hosts); n > 0 {
		m.cfg.Log.Info("releasing slots", "slots", n, "owned", m.slots.Len())
	}
}

// releaseSlots releases marked slots once they have no requests under way and everything is
// stored.
func (m *member) releaseSlots(work context.Context, now time.Time) {
	if m.slots.Leaving() == 0 || m.domains.Querying() || m.queues.refilling || len(m.queues.refills) > 0 {
		return
	}
	unstored := m.commits.Unstored(m.hosts.domainOf)
	domains := map[store.Slot][]string{}
	waits := map[store.Slot]bool{}
	for d := range unstored { // also of evicted hosts
		if s := store.SlotOf(m.key, d); m.slots.Leaves(s) {
			m.commits.FlushNow()
			waits[s] = true
		}
	}
	for _, s := range m.sites {
		if !m.slots.Leaves(s.slot) {
			continue
		}
		switch {
		case m.domains.StartYield(s.domain):
			m.queues.yield(now, s.domain)
			waits[s.slot] = true
		case !m.domains.IsQuiet(s.domain):
			waits[s.slot] = true
		case unstored[s.domain]:
			m.commits.FlushNow()
			waits[s.slot] = true
		}
		domains[s.slot] = append(domains[s.slot], s.domain)
	}
	leases := m.slots.Release(waits)
	if len(leases) == 0 {
		return
	}
	for _, l := range leases {
		for _, d := range domains[l.Slot] {
			m.f.Release(now, d)
			m.domains.Forget(d)
		}
	}
	for name, s := range m.sites {
		if _, ours := m.slots.Lease(s.slot); !ours {
			delete(m.sites, name)
		}
	}
	shutdownContext, st, worker := m.shutdownContext, m.st, m.worker
	loop.Do(work, m.loop, func(context.Context) error {
		last, done := shutdownContext()
		defer done()
		return st.Release(last, worker, leases...)
	}, func(_ time.Time, err error) {
		m.slots.Released(len(leases))
		if err != nil {
			m.loop.FailUnless(work, fmt.Errorf("release slots: %w", err)) // no other worker gets them while our lease lasts
		}
	})
}
