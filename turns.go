package headway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/store"
)

// askTurns asks for turns of tenants with a rate: stretches of time in which no other
// worker asks for them. One alone has them all.
func (c *crawler) askTurns(ctx context.Context, now time.Time, wants []frontier.Turns) {
	if len(wants) == 0 {
		return
	}
	turns := slices.Clone(wants)
	list := make([]store.Stretch, len(turns))
	for i, t := range turns {
		list[i] = store.Stretch{Tenant: t.Tenant, Length: t.Length()}
	}
	shared, ok := c.st.(store.Stretches)
	if !ok || c.fleet == nil {
		for i, t := range turns {
			c.f.Given(t, now.Add(c.rates.Take(now, list[i])))
		}
		return
	}
	c.background.Go(func() {
		var waits []time.Duration
		var answered time.Time
		err := c.insist(ctx, func() (err error) {
			waits, err = shared.Stretch(ctx, c.now(), list)
			answered = c.now() // counted from here they begin late rather than early
			return err
		})
		c.post(func(time.Time) {
			if err != nil {
				c.failUnless(ctx, fmt.Errorf("ask for turns: %w", err))
				return
			}
			for i, t := range turns {
				c.f.Given(t, answered.Add(waits[i]))
			}
		})
	})
}
