// Package orders carries out what people order of a fleet, for those who speak to
// its API and for those who speak to its store.
//
// Promises: what is changed and its line in the log, with who, what, before and
// after, are kept together or not at all. An order that changes nothing, because it
// is so already, has no line.
//
// Refusals: it asks nobody for leave. Who may order what is for its callers to know.
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

// Do carries out an order of somebody, and logs it.
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
var errSame = errors.New("it is so already")

// unless is Do for an order that may change nothing: do says errSame then.
func unless(ctx context.Context, st store.Control, by string, o store.Order, do func(context.Context) error) error {
	if err := Do(ctx, st, by, o, do); !errors.Is(err, errSame) {
		return err
	}
	return nil
}

// OptOut keeps a fleet from a name and all names below it. One that is on the list
// stays as it is. ErrConflict says that there are [store.MaxOptOuts].
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

// OptIn takes a name off the list, or says ErrNotFound.
func OptIn(ctx context.Context, st Store, by, name string) error {
	return Do(ctx, st, by, store.Order{What: "opt in", Host: name, Before: "not crawled", After: "crawled"}, func(ctx context.Context) error {
		return st.DropOptOut(ctx, name)
	})
}

// Claim is a claim of a host by a tenant, with a token of its own.
func Claim(tenant, host string) store.OwnedHost {
	return store.OwnedHost{Tenant: tenant, Host: host, Token: proof.NewToken(), AskedAt: time.Now()}
}

// Own notes why a host is a tenant's, and claims it where it was not. One that is
// known to be stays as it is. ErrConflict says that there are [store.MaxOwnedHosts].
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

// Disown forgets a claim of a tenant, or says ErrNotFound. One that was not proven
// gave no right, so it has no line in the log.
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
