package engine

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/loop"
	"headway/store"
)

// tellCrowds tells the other workers how many hosts we are busy with on addresses
// that hosts share, and hears how many they are: an address is asked so often in
// all, whoever asks.
func (m *member) tellCrowds(work context.Context, now time.Time) {
	teller, ok := m.st.(store.Crowds)
	if !ok || !m.crowds.due(now) {
		return
	}
	crowds := m.f.Crowds(store.MaxCrowds)
	if len(crowds) == 0 && !m.crowding {
		m.crowds.done(now.Add(m.cfg.Terms.Renew))
		return
	}
	mine := make([]store.Crowd, len(crowds))
	for i, x := range crowds {
		mine[i] = store.Crowd(x)
	}
	worker := m.worker
	loop.Once(work, m.loop, func(ctx context.Context) ([]store.Crowd, error) {
		return teller.Crowds(ctx, worker, mine)
	}, func(now time.Time, others []store.Crowd, err error) {
		m.crowds.done(now.Add(m.cfg.Terms.Renew))
		if err != nil {
			m.crowds.at = now.Add(loop.RetryLast)
			m.lostStore(work, fmt.Errorf("share addresses: %w", err))
			return
		}
		m.crowding = len(mine) > 0
		list := make([]frontier.Crowd, len(others))
		for i, x := range others {
			list[i] = frontier.Crowd(x)
		}
		m.f.SetCrowds(list)
	})
}
