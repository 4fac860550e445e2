package headway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/loop"
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
	type stretched struct {
		waits []time.Duration
		at    time.Time // counted from here they begin late rather than early
	}
	loop.Ask(ctx, c.loop, func(ctx context.Context) (s stretched, err error) {
		s.waits, err = shared.Stretch(ctx, c.loop.Now(), list)
		s.at = c.loop.Now()
		return s, err
	}, func(_ time.Time, s stretched, err error) {
		if err != nil {
			c.loop.FailUnless(ctx, fmt.Errorf("ask for turns: %w", err))
			return
		}
		for i, t := range turns {
			c.f.Given(t, s.at.Add(s.waits[i]))
		}
	})
}
