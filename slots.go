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
func (c *crawler) rebalance(work context.Context, now time.Time) {
	f := c.fleet
	if !f.balance.due(now) {
		return
	}
	own, most := c.slots.Len(), c.slots.Counted()
	loop.Once(work, c.loop, func(ctx context.Context) (balance, error) {
		return c.balance(ctx, most, own)
	}, func(now time.Time, b balance, err error) {
		f.balance.done(now.Add(c.cfg.Terms.Renew))
		if err != nil {
			f.balance.at = now.Add(loop.RetryLast)
			c.lostStore(work, fmt.Errorf("share the slots: %w", err))
			return
		}
		c.acquired(work, now, b.leases)
		c.shed(b.share)
	})
}

// balance is how slots are shared among workers.
type balance struct {
	share  int           // of ours
	leases []store.Lease // new ones
}

// balance asks for slots where we have less than our share. It belongs to the
// background.
func (c *crawler) balance(ctx context.Context, most, own int) (b balance, err error) {
	workers, err := c.st.Workers(ctx)
	b.share = ownership.FairShare(workers, c.worker)
	for _, w := range workers {
		if w.ID == c.worker && w.Slots > most {
			// The answer to a question for slots was lost, and nobody works on them.
			err = fmt.Errorf("the store counts %d slots as ours, we know of %d: %w", w.Slots, most, store.ErrFenced)
		}
	}
	if err == nil {
		// Also for none: it is here that the dead are noticed.
		b.leases, err = c.st.Acquire(ctx, c.loop.Now(), c.worker, max(b.share-own, 0))
	}
	return b, err
}

// acquired begins with the work that waits in new slots.
func (c *crawler) acquired(work context.Context, now time.Time, leases []store.Lease) {
	if len(leases) == 0 {
		return
	}
	slots := make([]store.Slot, len(leases))
	for i, l := range leases {
		slots[i] = l.Slot
	}
	c.slots.Add(now, leases)
	c.control.ReadNow(now) // what was asked of the owner before
	c.cfg.Log.Info("slots acquired", "slots", len(leases), "owned", c.slots.Len())
	c.readHosts(work, store.HostQuery{Slots: slots})
}

// shed marks slots beyond our share to be given up.
func (c *crawler) shed(share int) {
	hosts := map[store.Slot]int{}
	for _, s := range c.sites {
		hosts[s.slot]++
	}
	if n := c.slots.Shed(share, hosts); n > 0 {
		c.cfg.Log.Info("slots to be given up", "slots", n, "owned", c.slots.Len())
	}
}

// giveUp releases slots to be given up, once nothing of them is under way and
// all of it is stored.
func (c *crawler) giveUp(work context.Context, now time.Time) {
	if c.slots.Leaving() == 0 || c.domains.Asking() || c.refilling || len(c.refills) > 0 {
		return
	}
	unstored := c.commits.Unstored(c.domainOf)
	domains := map[store.Slot][]string{}
	waits := map[store.Slot]bool{}
	for d := range unstored { // also of hosts that have left memory
		if s := store.SlotOf(c.key, d); c.slots.Leaves(s) {
			c.commits.Hurry()
			waits[s] = true
		}
	}
	for _, s := range c.sites {
		if !c.slots.Leaves(s.slot) {
			continue
		}
		switch {
		case c.domains.Give(s.domain):
			c.yield(now, s.domain)
			waits[s.slot] = true
		case !c.domains.IsQuiet(s.domain):
			waits[s.slot] = true
		case unstored[s.domain]:
			c.commits.Hurry()
			waits[s.slot] = true
		}
		domains[s.slot] = append(domains[s.slot], s.domain)
	}
	leases := c.slots.Release(waits)
	if len(leases) == 0 {
		return
	}
	for _, l := range leases {
		for _, d := range domains[l.Slot] {
			c.f.Release(now, d)
			c.domains.Forget(d)
		}
	}
	for name, s := range c.sites {
		if _, ours := c.slots.Lease(s.slot); !ours {
			delete(c.sites, name)
		}
	}
	loop.Do(work, c.loop, func(context.Context) error {
		last, done := c.afterlife()
		defer done()
		return c.st.Release(last, c.worker, leases...)
	}, func(_ time.Time, err error) {
		c.slots.Released(len(leases))
		if err != nil {
			c.loop.FailUnless(work, fmt.Errorf("release slots: %w", err)) // nobody else gets them while we live
		}
	})
}
