package headway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"headway/internal/loop"
	"headway/store"
)

// owns tells whether a slot is ours to work on.
func (c *crawler) owns(s store.Slot) bool {
	_, ok := c.leases[s]
	return ok && (c.fleet == nil || !c.fleet.leaving[s])
}

// fairShare is how many slots a worker should own: all the same, and one more for
// the oldest where that does not come out even.
func fairShare(workers []store.Worker, w store.WorkerID) int {
	at := slices.IndexFunc(workers, func(x store.Worker) bool { return x.ID == w })
	if at < 0 {
		return 0
	}
	share := store.SlotCount / len(workers)
	if at < store.SlotCount%len(workers) {
		share++
	}
	return share
}

// rebalance takes slots that are free, up to our share, and gives up those beyond
// it: somebody has come.
func (c *crawler) rebalance(work context.Context, now time.Time) {
	f := c.fleet
	if !f.balance.due(now) {
		return
	}
	own, most := len(c.leases), len(c.leases)+f.released
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
		c.surplus(len(c.leases) - len(f.leaving) - b.share)
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
	b.share = fairShare(workers, c.worker)
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
		c.leases[l.Slot], slots[i] = l, l.Slot
		c.fleet.moved[l.Slot] = now
	}
	c.fleet.lettersAt = now // what was asked of the owner before
	c.cfg.Log.Info("slots acquired", "slots", len(leases), "owned", len(c.leases))
	c.readHosts(work, store.HostQuery{Slots: slots})
}

// surplus marks slots to be given up: some of each size, so that whoever has come
// gets its share of the hosts, too.
func (c *crawler) surplus(n int) {
	if n <= 0 {
		return
	}
	hosts := map[store.Slot]int{}
	for _, s := range c.sites {
		hosts[s.slot]++
	}
	var slots []store.Slot
	for s := range c.leases {
		if !c.fleet.leaving[s] {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b store.Slot) int { return cmp.Or(cmp.Compare(hosts[a], hosts[b]), cmp.Compare(a, b)) })
	n = min(n, len(slots))
	for i := range n {
		c.fleet.leaving[slots[(i+1)*len(slots)/n-1]] = true
	}
	c.cfg.Log.Info("slots to be given up", "slots", n, "owned", len(c.leases))
}

// giveUp releases slots to be given up, once nothing of them is under way and
// all of it is stored.
func (c *crawler) giveUp(work context.Context, now time.Time) {
	f := c.fleet
	if len(f.leaving) == 0 || c.loader.asking || c.refilling || len(c.refills) > 0 {
		return
	}
	unstored := c.commits.Unstored(c.domainOf)
	domains := map[store.Slot][]string{}
	waits := map[store.Slot]bool{}
	for d := range unstored { // also of hosts that have left memory
		if s := store.SlotOf(c.key, d); f.leaving[s] {
			c.commits.Hurry()
			waits[s] = true
		}
	}
	for _, s := range c.sites {
		if !f.leaving[s.slot] {
			continue
		}
		quiet, asked := c.loader.yields[s.domain]
		switch {
		case !asked:
			c.loader.yields[s.domain] = false
			c.yield(now, s.domain)
			waits[s.slot] = true
		case !quiet:
			waits[s.slot] = true
		case unstored[s.domain]:
			c.commits.Hurry()
			waits[s.slot] = true
		}
		domains[s.slot] = append(domains[s.slot], s.domain)
	}
	var leases []store.Lease
	for s := range f.leaving {
		if waits[s] {
			continue
		}
		for _, d := range domains[s] {
			c.f.Release(now, d)
			delete(c.loader.yields, d)
		}
		leases = append(leases, c.leases[s])
		delete(c.leases, s)
		delete(f.leaving, s)
		delete(f.moved, s)
	}
	if len(leases) == 0 {
		return
	}
	for name, s := range c.sites {
		if _, ours := c.leases[s.slot]; !ours {
			delete(c.sites, name)
		}
	}
	f.released += len(leases)
	loop.Do(work, c.loop, func(context.Context) error {
		last, done := c.afterlife()
		defer done()
		return c.st.Release(last, c.worker, leases...)
	}, func(_ time.Time, err error) {
		f.released -= len(leases)
		if err != nil {
			c.loop.FailUnless(work, fmt.Errorf("release slots: %w", err)) // nobody else gets them while we live
		}
	})
}
