package headway

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
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
	c.background.Go(func() {
		others, err := teller.Crowds(work, c.worker, mine)
		c.post(func(now time.Time) {
			f.crowds.done(now.Add(c.cfg.Terms.Renew))
			if err != nil {
				f.crowds.at = now.Add(retryLast)
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
	})
}
