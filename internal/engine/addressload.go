package engine

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/loop"
	"headway/store"
)

// shareAddressLoad tells the other workers how many hosts we crawl on each shared IP
// address, and receives their numbers: the interval per address applies to the whole fleet.
func (m *member) shareAddressLoad(work context.Context, now time.Time) {
	shared, ok := m.st.(store.AddressLoads)
	if !ok || !m.addressLoads.due(now) {
		return
	}
	loads := m.f.AddressLoads(store.MaxAddressLoads)
	if len(loads) == 0 && !m.sharedLoad {
		m.addressLoads.done(now.Add(m.cfg.Terms.Renew))
		return
	}
	own := make([]store.AddressLoad, len(loads))
	for i, x := range loads {
		own[i] = store.AddressLoad(x)
	}
	worker := m.worker
	loop.Once(work, m.loop, func(ctx context.Context) ([]store.AddressLoad, error) {
		return shared.ShareAddressLoad(ctx, worker, own)
	}, func(now time.Time, others []store.AddressLoad, err error) {
		m.addressLoads.done(now.Add(m.cfg.Terms.Renew))
		if err != nil {
			m.addressLoads.at = now.Add(loop.RetryLast)
			m.onStoreError(work, fmt.Errorf("share addresses: %w", err))
			return
		}
		m.sharedLoad = len(own) > 0
		list := make([]frontier.AddressLoad, len(others))
		for i, x := range others {
			list[i] = frontier.AddressLoad(x)
		}
		m.f.SetAddressLoads(list)
	})
}
