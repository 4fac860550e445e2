package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/client"
	"headway/internal/cli/command"
	"headway/service/orders"
	"headway/store"
)

// hostLists are the lists of a fleet that people keep: who asked not to be crawled,
// and whose a host is.
type hostLists interface {
	optOuts(ctx context.Context) ([]optOutRow, error)
	optOut(ctx context.Context, name string) (optOutRow, error)
	optIn(ctx context.Context, name string) error
	owned(ctx context.Context, tenant string) ([]ownedRow, error)
	grant(ctx context.Context, tenant, host string) (ownedRow, error)
	disown(ctx context.Context, tenant, host string) error
}

// optOutRow is an entry of the list of opt-outs.
type optOutRow struct {
	ID        string    `json:"id"`
	Host      string    `json:"host"`
	CreatedAt time.Time `json:"created_at"`
	By        string    `json:"by"`
}

// ownedRow is a host that a tenant says is its own.
type ownedRow struct {
	ID        string      `json:"id"`
	Tenant    string      `json:"tenant"`
	Host      string      `json:"host"`
	Owned     bool        `json:"owned"`
	Proof     store.Proof `json:"proof,omitempty"`
	CreatedAt time.Time   `json:"created_at"`
	OwnedAt   time.Time   `json:"owned_at,omitzero"`
}

// notListed is the failure of taking a name off the list of opt-outs that is not there.
func notListed(name string) error {
	return command.Usage(fmt.Errorf("%s is not on the opt-out list", name), "headway admin optout list shows all entries; a parent domain may cover it")
}

// notOwned is the failure of naming a host that a tenant does not have.
func notOwned(tenant, host string) error {
	return command.Usage(fmt.Errorf("host %s is not owned by tenant %s", host, tenant), "headway admin owned list --tenant "+tenant+" lists its hosts")
}

// full is the failure of adding to a list that has no room.
func full(what string, most int, hint string) error {
	return command.Usage(fmt.Errorf("limit reached: %d %s", most, what), hint)
}

func (f *jobsOfStore) optOuts(ctx context.Context) ([]optOutRow, error) {
	rows := []optOutRow{}
	for after := ""; ; {
		list, err := f.OptOuts(ctx, after, store.MaxPage)
		if err != nil {
			return nil, command.Failed(err, "")
		}
		for _, o := range list {
			rows, after = append(rows, optOutRow{o.Name, o.Name, o.At, o.By}), o.Name
		}
		if len(list) < store.MaxPage {
			return rows, nil
		}
	}
}

func (f *jobsOfStore) optOut(ctx context.Context, name string) (optOutRow, error) {
	o, err := orders.OptOut(ctx, f.Store, command.UserName(), name)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = full("opt-outs", store.MaxOptOuts, "replace several hosts with their common domain")
	case err != nil:
		err = command.Failed(err, "try again")
	}
	return optOutRow{o.Name, o.Name, o.At, o.By}, err
}

func (f *jobsOfStore) optIn(ctx context.Context, name string) error {
	err := orders.OptIn(ctx, f.Store, command.UserName(), name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notListed(name)
	case err != nil:
		return command.Failed(err, "try again")
	}
	return nil
}

func (f *jobsOfStore) owned(ctx context.Context, tenant string) ([]ownedRow, error) {
	list, err := f.OwnedHosts(ctx, tenant)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	rows := []ownedRow{}
	for i := range list {
		rows = append(rows, newOwnedRow(&list[i]))
	}
	return rows, nil
}

func newOwnedRow(h *store.OwnedHost) ownedRow {
	return ownedRow{ID: h.Host, Tenant: h.Tenant, Host: h.Host, Owned: h.Owned(), Proof: h.Proof, CreatedAt: h.AskedAt, OwnedAt: h.OwnedAt}
}

func (f *jobsOfStore) grant(ctx context.Context, tenant, host string) (ownedRow, error) {
	h, err := orders.Own(ctx, f.Store, command.UserName(), orders.Claim(tenant, host), store.ByOperator)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = full("hosts", store.MaxOwnedHosts, "delete one first")
	case err != nil:
		err = command.Failed(err, "try again")
	}
	return newOwnedRow(&h), err
}

func (f *jobsOfStore) disown(ctx context.Context, tenant, host string) error {
	err := orders.Disown(ctx, f.Store, command.UserName(), tenant, host)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notOwned(tenant, host)
	case err != nil:
		return command.Failed(err, "try again")
	}
	return nil
}

func (f *jobsOfServer) optOuts(ctx context.Context) ([]optOutRow, error) {
	rows := []optOutRow{}
	for found, err := range f.api.AllOptOuts(ctx, client.ListOptOutsParams{Limit: serverPage}) {
		row, err := as[optOutRow](found, err)
		if err != nil {
			return nil, f.explain(err)
		}
		rows = append(rows, *row)
	}
	return rows, nil
}

func (f *jobsOfServer) optOut(ctx context.Context, name string) (optOutRow, error) {
	row, err := as[optOutRow](f.api.AddOptOut(ctx, client.OptOutRequest{Host: name}))
	if err != nil {
		return optOutRow{}, f.explain(err)
	}
	return *row, nil
}

func (f *jobsOfServer) optIn(ctx context.Context, name string) error {
	return f.dropped(f.api.DropOptOut(ctx, client.DropOptOutParams{Host: name}), notListed(name))
}

// dropped explains why something was not taken off a list, which may be that it was
// not there.
func (f *jobsOfServer) dropped(err, missing error) error {
	switch p, ok := errors.AsType[*client.Problem](err); {
	case err == nil:
		return nil
	case ok && p.Code == client.CodeNotFound:
		return missing
	default:
		return f.explain(err)
	}
}

func (f *jobsOfServer) owned(ctx context.Context, tenant string) ([]ownedRow, error) {
	list, err := f.api.ListOwnedHosts(ctx, client.ListOwnedHostsParams{Tenant: tenant})
	if err != nil {
		return nil, f.explain(err)
	}
	rows, err := as[[]ownedRow](list.OwnedHosts, nil)
	if err != nil {
		return nil, f.explain(err)
	}
	for i := range *rows {
		(*rows)[i].Tenant = tenant
	}
	return *rows, nil
}

func (f *jobsOfServer) grant(ctx context.Context, tenant, host string) (ownedRow, error) {
	row, err := as[ownedRow](f.api.ClaimHost(ctx, client.OwnedHostRequest{Host: host, Tenant: &tenant}))
	if err != nil {
		return ownedRow{}, f.explain(err)
	}
	row.Tenant = tenant
	return *row, nil
}

func (f *jobsOfServer) disown(ctx context.Context, tenant, host string) error {
	return f.dropped(f.api.DropOwnedHost(ctx, host, client.DropOwnedHostParams{Tenant: tenant}), notOwned(tenant, host))
}
