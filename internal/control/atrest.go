package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/ask"
	"headway/internal/borrow"
	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
)

// Errors of [OrderAtRest].
var (
	ErrHostUnknown = errors.New("nothing is stored about this host")
	ErrHostTaken   = errors.New("another crawl is using this host")
)

// OrderAtRest applies an order to the stored state of a host that no crawl is using: the
// next crawl that loads the host follows it. The error is [ErrHostUnknown] if no crawl has
// seen the host, and [ErrHostTaken] if a crawl does not release its domain.
func OrderAtRest(ctx context.Context, st store.Store, q ask.Question) (change ask.Change, err error) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		return change, err
	}
	careful, _ := politeness.Preset(politeness.DefaultPreset)
	d, err := borrow.Take(ctx, st, u.Domain(), careful)
	switch {
	case errors.Is(err, borrow.ErrTaken):
		return change, fmt.Errorf("%s: %w", q.Host, ErrHostTaken)
	case err != nil:
		return change, err
	}
	defer func() { err = errors.Join(err, d.Return(ctx)) }()
	i := slices.IndexFunc(d.Hosts, func(h store.Host) bool { return h.Host == q.Host })
	if i < 0 {
		return change, fmt.Errorf("%s: %w", q.Host, ErrHostUnknown)
	}
	h := d.Hosts[i]
	if waits, ok := d.Back[q.Host]; ok {
		h = waits
	}
	var state politeness.State
	if err := state.UnmarshalBinary(h.Politeness); err != nil {
		return change, fmt.Errorf("read stored state of %s: %w", q.Host, err)
	}
	change = ask.Change{At: time.Now().UTC(), By: q.By, Order: q.Kind, Host: q.Host, Before: describeState(state)}
	state = orderOf(q).apply(state)
	change.After = describeState(state)
	if err := pace.Write(&h, state, pace.Of(&h)); err != nil {
		return change, err
	}
	d.Back[q.Host] = h
	return change, nil
}
