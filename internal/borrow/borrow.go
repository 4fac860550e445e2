// Package borrow takes a domain for a moment, outside a crawl: to look at its hosts, or
// to change what is kept of one. While it is borrowed no crawl asks its hosts.
package borrow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
)

// How long a crawl is waited for that has the domain, and how often it is asked.
const (
	patience = 5 * time.Second
	every    = 20 * time.Millisecond
)

// ErrTaken says that a crawl does not let go of the domain.
var ErrTaken = errors.New("another crawl has it")

// Domain is one that was borrowed.
type Domain struct {
	Name    string
	Hosts   []store.Host          // what is kept of its hosts
	Unclean bool                  // its owner died: what was sent last is not known
	Back    map[string]store.Host // what is to be kept of them from now on, by host
	shared  store.Domains         // nil where the store shares nothing
}

// Take borrows a domain. It is to be given back.
func Take(ctx context.Context, st store.Store, name string, careful politeness.Policy) (*Domain, error) {
	d := &Domain{Name: name, Back: map[string]store.Host{}}
	shared, ok := st.(store.Domains)
	if !ok {
		return d, nil
	}
	claim, err := claim(ctx, shared, name)
	if err != nil {
		return nil, err
	}
	d.shared, d.Hosts, d.Unclean = shared, claim.Hosts, slices.Contains(claim.Unclean, name)
	if len(claim.Unclean) == 0 {
		return d, nil
	}
	for _, h := range claim.Hosts {
		if err := resume(&h, careful); err != nil {
			return nil, errors.Join(err, d.Return(ctx))
		}
		d.Back[h.Host] = h
	}
	return d, nil
}

// resume is a host whose owner died, as it is handed on though nobody asks it: what was
// sent to it last is not known, so it waits its pace from now.
func resume(h *store.Host, careful politeness.Policy) error {
	var state politeness.State
	if state.UnmarshalBinary(h.Politeness) != nil {
		state = politeness.New(h.Host) // unreadable state starts over
	}
	before := pace.Of(h)
	return pace.Write(h, careful.Resume(state, time.Now()), before)
}

// Return gives the domain back.
func (d *Domain) Return(ctx context.Context) error {
	if d.shared == nil {
		return nil
	}
	return d.shared.Yield(context.WithoutCancel(ctx), time.Now().UTC(), []string{d.Name}, slices.Collect(maps.Values(d.Back)))
}

// claim takes a domain that may be shared with other crawls.
func claim(ctx context.Context, shared store.Domains, name string) (store.Claim, error) {
	for began := time.Now(); ; {
		claim, err := shared.Claim(ctx, time.Now().UTC(), []string{name})
		switch {
		case err != nil:
			return claim, fmt.Errorf("claim %s: %w", name, err)
		case len(claim.Granted) > 0:
			return claim, nil
		case time.Since(began) > patience:
			return claim, fmt.Errorf("%s: %w", name, ErrTaken)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return claim, context.Cause(ctx)
		}
	}
}
