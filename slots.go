package headway

import (
	"context"
	"fmt"
	"time"

	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/store"
)

// rebalance takes slots that are free, up to our share, and gives up those beyond
// it: somebody has come.
func (m *member) rebalance(work context.Context, now time.Time) {
	if !m.rebalancing.due(now) {
		return
	}
	own, most := m.slots.Len(), m.slots.Counted()
	loop.Once(work, m.loop, func(ctx context.Context) (balance, error) {
		return m.balance(ctx, most, own)
	}, func(now time.Time, b balance, err error) {
		m.rebalancing.done(now.Add(m.cfg.Terms.Renew))
		if err != nil {
			m.rebalancing.at = now.Add(loop.RetryLast)
			m.lostStore(work, fmt.Errorf("share the slots: %w", err))
			return
		}
		m.acquired(work, now, b.leases)
		m.shed(b.share)
	})
}

// balance is how slots are shared among workers.
type balance struct {
	share  int           // of ours
	leases []store.Lease // new ones
}

// balance asks for slots where we have less than our share. It belongs to the
// background.
func (m *member) balance(ctx context.Context, most, own int) (b balance, err error) {
	workers, err := m.st.Workers(ctx)
	b.share = ownership.FairShare(workers, m.worker)
	for _, w := range workers {
		if w.ID == m.worker && w.Slots > most {
			// The answer to a question for slots was lost, and nobody works on them.
			err = fmt.Errorf("the store counts %d slots as ours, we know of %d: %w", w.Slots, most, store.ErrFenced)
		}
	}
	if err == nil {
		// Also for none: it is here that the dead are noticed.
		b.leases, err = m.st.Acquire(ctx, m.loop.Now(), m.worker, max(b.share-own, 0))
	}
	return b, err
}

// acquired begins with the work that waits in new slots.
func (m *member) acquired(work context.Context, now time.Time, leases []store.Lease) {
	if len(leases) == 0 {
		return
	}
	slots := make([]store.Slot, len(leases))
	for i, l := range leases {
		slots[i] = l.Slot
	}
	m.slots.Add(now, leases)
	m.control.ReadNow(now) // what was asked of the owner before
	m.cfg.Log.Info("slots acquired", "slots", len(leases), "owned", m.slots.Len())
	m.queues.readHosts(work, store.HostQuery{Slots: slots})
}

// shed marks slots beyond our share to be given up.
func (m *member) shed(share int) {
	hosts := map[store.Slot]int{}
	for _, s := range m.sites {
		hosts[s.slot]++
	}
	if n := m.slots.Shed(share, hosts); n > 0 {
		m.cfg.Log.Info("slots to be given up", "slots", n, "owned", m.slots.Len())
	}
}

// giveUp releases slots to be given up, once nothing of them is under way and
// all of it is stored.
func (m *member) giveUp(work context.Context, now time.Time) {
	if m.slots.Leaving() == 0 || m.domains.Asking() || m.queues.refilling || len(m.queues.refills) > 0 {
		return
	}
	unstored := m.commits.Unstored(m.hosts.domainOf)
	domains := map[store.Slot][]string{}
	waits := map[store.Slot]bool{}
	for d := range unstored { // also of hosts that have left memory
		if s := store.SlotOf(m.key, d); m.slots.Leaves(s) {
			m.commits.Hurry()
			waits[s] = true
		}
	}
	for _, s := range m.sites {
		if !m.slots.Leaves(s.slot) {
			continue
		}
		switch {
		case m.domains.Give(s.domain):
			m.queues.yield(now, s.domain)
			waits[s.slot] = true
		case !m.domains.IsQuiet(s.domain):
			waits[s.slot] = true
		case unstored[s.domain]:
			m.commits.Hurry()
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
	loop.Do(work, m.loop, func(context.Context) error {
		last, done := m.afterlife()
		defer done()
		return m.st.Release(last, m.worker, leases...)
	}, func(_ time.Time, err error) {
		m.slots.Released(len(leases))
		if err != nil {
			m.loop.FailUnless(work, fmt.Errorf("release slots: %w", err)) // nobody else gets them while we live
		}
	})
}
