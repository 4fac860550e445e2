package headway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
)

// Errors of an order to what is kept of a host.
var (
	ErrHostUnknown = errors.New("nothing is kept of it")
	ErrHostTaken   = errors.New("another crawl has it")
)

// OrderAtRest gives an order about a host to what is kept of it, while no crawl has
// it: whoever meets it next obeys. The error is [ErrHostUnknown] for a host that was
// never met, and [ErrHostTaken] while a crawl does not let go of its domain.
func OrderAtRest(ctx context.Context, st store.Store, q ask.Question) (change ask.Change, err error) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		return change, err
	}
	t := &survey{cfg: Config{Store: st}.withDefaults()}
	claim, granted, err := t.claim(ctx, u.Domain())
	switch {
	case err != nil:
		return change, err
	case !granted:
		return change, fmt.Errorf("%s: %w", q.Host, ErrHostTaken)
	}
	hosts, err := t.waiting(claim)
	if err != nil {
		return change, err
	}
	defer func() {
		if shared, ok := st.(store.Domains); ok {
			err = errors.Join(err, shared.Yield(context.WithoutCancel(ctx), time.Now().UTC(), []string{u.Domain()}, slices.Collect(maps.Values(hosts))))
		}
	}()
	i := slices.IndexFunc(claim.Hosts, func(h store.Host) bool { return h.Host == q.Host })
	if i < 0 {
		return change, fmt.Errorf("%s: %w", q.Host, ErrHostUnknown)
	}
	h := claim.Hosts[i]
	if waits, ok := hosts[q.Host]; ok {
		h = waits
	}
	var state politeness.State
	if err := state.UnmarshalBinary(h.Politeness); err != nil {
		return change, fmt.Errorf("read what is kept of %s: %w", q.Host, err)
	}
	o := order{kind: q.Kind, delay: q.Delay.Duration()}
	change = ask.Change{At: time.Now().UTC(), By: q.By, Order: q.Kind, Host: q.Host, Before: inWords(state)}
	before := paceOf(&h)
	state = o.apply(state)
	change.After = inWords(state)
	if h.Politeness, err = state.MarshalBinary(); err != nil {
		return change, fmt.Errorf("encode the state of %s: %w", q.Host, err)
	}
	learned(&h, state, before)
	hosts[q.Host] = h
	return change, nil
}
