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

// reserveRate reserves windows of the request rate of tenants, during which no other worker
// sends for them. A crawl on one machine needs no coordination.
func (qs *queues) reserveRate(ctx context.Context, now time.Time, wants []frontier.Turns) {
	if len(wants) == 0 {
		return
	}
	turns := slices.Clone(wants)
	list := make([]store.RateWindow, len(turns))
	for i, t := range turns {
		list[i] = store.RateWindow{Tenant: t.Tenant, Length: t.Length()}
	}
	shared, ok := qs.st.(store.RateWindows)
	if !ok || qs.solo {
		for i, t := range turns {
			qs.f.Given(t, now.Add(qs.rates.Take(now, list[i])))
		}
		return
	}
	type reserved struct {
		waits []time.Duration
		at    time.Time // start of the waits; a late start never exceeds the rate
	}
	loop.Ask(ctx, qs.loop, func(ctx context.Context) (s reserved, err error) {
		s.waits, err = shared.ReserveRate(ctx, qs.loop.Now(), list)
		s.at = qs.loop.Now()
		return s, err
	}, func(_ time.Time, s reserved, err error) {
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("reserve request rate: %w", err))
			return
		}
		for i, t := range turns {
			qs.f.Given(t, s.at.Add(s.waits[i]))
		}
	})
}
