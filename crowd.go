package headway

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
func (c *crawler) tellCrowds(work context.Context, now time.Time) {
	f := c.fleet
	teller, ok := c.st.(store.Crowds)
	if !ok || !f.crowds.due(now) {
		return
	}
	crowds := c.f.Crowds(store.MaxCrowds)
	if len(crowds) == 0 && !f.crowding {
		f.crowds.done(now.Add(c.cfg.Terms.Renew))
		return
	}
	mine := make([]store.Crowd, len(crowds))
	for i, x := range crowds {
		mine[i] = store.Crowd(x)
	}
	worker := c.worker
	loop.Once(work, c.loop, func(ctx context.Context) ([]store.Crowd, error) {
		return teller.Crowds(ctx, worker, mine)
	}, func(now time.Time, others []store.Crowd, err error) {
		f.crowds.done(now.Add(c.cfg.Terms.Renew))
		if err != nil {
			f.crowds.at = now.Add(loop.RetryLast)
			c.lostStore(work, fmt.Errorf("share addresses: %w", err))
			return
		}
		f.crowding = len(mine) > 0
		list := make([]frontier.Crowd, len(others))
		for i, x := range others {
			list[i] = frontier.Crowd(x)
		}
		c.f.SetCrowds(list)
	})
}
