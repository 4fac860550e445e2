// Package orders carries out orders to a fleet, for callers of
// its API and of its store.
//
// Promises: the change and its entry in the control log, with who, what, before and
// after, are committed together or not at all. An order that changes nothing
// has no entry.
//
// It does not check permissions: that is up to its callers.
package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/service/internal/proof"
	"headway/store"
)

// Store is what orders change.
type Store interface {
	store.Control
	store.OptOuts
	store.OwnedHosts
}

// Do carries out an order and logs it.
func Do(ctx context.Context, st store.Control, by string, o store.Order, do func(context.Context) error) error {
	o.At, o.By = time.Now().UTC(), by
	return st.Together(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			return err
		}
		return st.LogOrder(ctx, o)
	})
}

// errSame ends an order that changes nothing.
var errSame = errors.New("nothing to change")

// unless is Do for an order that may change nothing: do says errSame then.
func unless(ctx context.Context, st store.Control, by string, o store.Order, do func(context.Context) error) error {
	if err := Do(ctx, st, by, o, do); !errors.Is(err, errSame) {
		return err
	}
	return nil
}

// OptOut adds a domain name and its subdomains to the opt-outs of a fleet. A name already on the list
// stays unchanged. ErrConflict says that there are [store.MaxOptOuts].
func OptOut(ctx context.Context, st Store, by, name string) (entry store.OptOut, err error) {
	err = unless(ctx, st, by, store.Order{What: "opt out", Host: name, Before: "crawled", After: "not crawled"}, func(ctx context.Context) error {
		var added bool
		var err error
		entry, added, err = st.AddOptOut(ctx, store.OptOut{Name: name, At: time.Now(), By: by})
		if err == nil && !added {
			return errSame
		}
		return err
	})
	return entry, err
}

// OptIn removes an opt-out, or returns ErrNotFound.
func OptIn(ctx context.Context, st Store, by, name string) error {
	return Do(ctx, st, by, store.Order{What: "opt in", Host: name, Before: "not crawled", After: "crawled"}, func(ctx context.Context) error {
		return st.DropOptOut(ctx, name)
	})
}

// Claim is a claim of a host by a tenant, with a token of its own.
func Claim(tenant, host string) store.OwnedHost {
	return store.OwnedHost{Tenant: tenant, Host: host, Token: proof.NewToken(), AskedAt: time.Now()}
}

// Own records the proof that a host belongs to a tenant, and claims the host if needed. A host
// already verified stays unchanged. ErrConflict says that there are [store.MaxOwnedHosts].
func Own(ctx context.Context, st Store, by string, claim store.OwnedHost, p store.Proof) (h store.OwnedHost, err error) {
	o := store.Order{What: "own host", Tenant: claim.Tenant, Host: claim.Host, Before: "not owned", After: "owned by " + string(p)}
	err = unless(ctx, st, by, o, func(ctx context.Context) error {
		var err error
		if h, err = st.ClaimHost(ctx, claim); err != nil {
			return err
		}
		if h.Owned() {
			return errSame
		}
		h.OwnedAt, h.Proof, h.By = store.Stored(time.Now()), p, by
		return st.ProveHost(ctx, h.OwnedAt, h.Tenant, h.Host, p, by)
	})
	return h, err
}

// Disown removes a claim of a tenant, or returns ErrNotFound. A claim without proof
// gave no rights, so it has no entry in the log.
func Disown(ctx context.Context, st Store, by, tenant, host string) error {
	list, err := st.OwnedHosts(ctx, tenant)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(h store.OwnedHost) bool { return h.Host == host })
	if at < 0 {
		return fmt.Errorf("host %s of %q: %w", host, tenant, store.ErrNotFound)
	}
	if !list[at].Owned() {
		return st.DropHost(ctx, tenant, host)
	}
	o := store.Order{What: "disown host", Tenant: tenant, Host: host, Before: "owned by " + string(list[at].Proof), After: "not owned"}
	return Do(ctx, st, by, o, func(ctx context.Context) error { return st.DropHost(ctx, tenant, host) })
}
