package engine

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
func (qs *queues) askTurns(ctx context.Context, now time.Time, wants []frontier.Turns) {
	if len(wants) == 0 {
		return
	}
	turns := slices.Clone(wants)
	list := make([]store.Stretch, len(turns))
	for i, t := range turns {
		list[i] = store.Stretch{Tenant: t.Tenant, Length: t.Length()}
	}
	shared, ok := qs.st.(store.Stretches)
	if !ok || qs.alone {
		for i, t := range turns {
			qs.f.Given(t, now.Add(qs.rates.Take(now, list[i])))
		}
		return
	}
	type stretched struct {
		waits []time.Duration
		at    time.Time // counted from here they begin late rather than early
	}
	loop.Ask(ctx, qs.loop, func(ctx context.Context) (s stretched, err error) {
		s.waits, err = shared.Stretch(ctx, qs.loop.Now(), list)
		s.at = qs.loop.Now()
		return s, err
	}, func(_ time.Time, s stretched, err error) {
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("ask for turns: %w", err))
			return
		}
		for i, t := range turns {
			qs.f.Given(t, s.at.Add(s.waits[i]))
		}
	})
}
