package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/store"
)

var _ store.OwnedHosts = (*Store)(nil)

// ClaimHost implements [store.OwnedHosts].
func (s *Store) ClaimHost(ctx context.Context, h store.OwnedHost) (store.OwnedHost, error) {
	if err := h.Check(); err != nil {
		return h, err
	}
	var list []store.OwnedHost
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		list = nil
		var has int
		c.exec("select pg_advisory_xact_lock($1, hashtext($2))", lockOfHosts, clean(h.Tenant))
		c.queue("select count(*) from owned_host where tenant = $1 and host <> $2", clean(h.Tenant), h.Host).QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
		if err := c.send(ctx); err != nil {
			return err
		}
		if has < store.MaxOwnedHosts {
			c.exec("insert into owned_host (tenant, host, token, asked_at) values ($1, $2, $3, $4) on conflict (tenant, host) do nothing", clean(h.Tenant), h.Host, clean(h.Token), milli(h.AskedAt))
		}
		c.queue("select "+ownedFacts+" from owned_host where tenant = $1 and host = $2", clean(h.Tenant), h.Host).Query(scanOwned(&list))
		if err := c.send(ctx); err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("tenant %q has %d hosts: %w", h.Tenant, has, store.ErrConflict)
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("claim host %s: %w", h.Host, err)
	}
	return list[0], nil
}

// ownedFacts are the columns of a claim, as scanOwned reads them.
const ownedFacts = "tenant, host, token, asked_at, owned_at, proof, who"

// scanOwned reads claims into a list.
func scanOwned(list *[]store.OwnedHost) func(pgx.Rows) error {
	var h store.OwnedHost
	var asked, owned int64
	return rows([]any{&h.Tenant, &h.Host, &h.Token, &asked, &owned, &h.Proof, &h.By}, func() error {
		h.AskedAt, h.OwnedAt = instant(asked), instant(owned)
		*list = append(*list, h)
		return nil
	})
}

// ProveHost implements [store.OwnedHosts].
func (s *Store) ProveHost(ctx context.Context, now time.Time, tenant, host string, p store.Proof, by string) error {
	return s.changeOwned(ctx, "prove", tenant, host, "update owned_host set owned_at = $3, proof = $4, who = $5 where tenant = $1 and host = $2", milli(now), string(p), clean(by))
}

// DropHost implements [store.OwnedHosts].
func (s *Store) DropHost(ctx context.Context, tenant, host string) error {
	return s.changeOwned(ctx, "drop", tenant, host, "delete from owned_host where tenant = $1 and host = $2")
}

// changeOwned changes one claim, or returns ErrNotFound.
func (s *Store) changeOwned(ctx context.Context, did, tenant, host, sql string, args ...any) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue(sql, append([]any{clean(tenant), clean(host)}, args...)...).Exec(affected(1, func(int64) error { return store.ErrNotFound }))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s host %s of %q: %w", did, host, tenant, err)
	}
	return nil
}

// OwnedHosts implements [store.OwnedHosts].
func (s *Store) OwnedHosts(ctx context.Context, tenant string) ([]store.OwnedHost, error) {
	var list []store.OwnedHost
	r, err := s.reading(ctx).Query(ctx, "select "+ownedFacts+` from owned_host where tenant = $1 order by host collate "C"`, clean(tenant))
	if err == nil {
		err = scanOwned(&list)(r)
	}
	if err != nil {
		return nil, fmt.Errorf("list hosts of %q: %w", tenant, wrap(err))
	}
	return list, nil
}

// BeginCheck implements [store.OwnedHosts].
func (s *Store) BeginCheck(ctx context.Context, now time.Time, domain string) (ok bool, err error) {
	err = s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("delete from token_check where at <= $1", milli(now.Add(-store.CheckEvery)))
		c.queue("insert into token_check (domain, at) values ($1, $2) on conflict (domain) do nothing", clean(domain), milli(now)).Exec(func(tag pgconn.CommandTag) error {
			ok = tag.RowsAffected() == 1
			return nil
		})
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("begin a check of %s: %w", domain, err)
	}
	return ok, nil
}
