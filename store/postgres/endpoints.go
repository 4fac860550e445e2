package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

var _ store.Endpoints = (*Store)(nil)

// endpointFacts are the columns of an endpoint, as scanEndpoints reads them.
const endpointFacts = "e.id, e.tenant, e.url, e.kinds, e.after, e.secret, e.old_secret, e.old_ends, e.created_at, coalesce(e.disabled_at, 0), e.disabled"

// scanEndpoints reads endpoints into a list.
func scanEndpoints(list *[]store.Endpoint) func(pgx.Rows) error {
	var e store.Endpoint
	var ends, created, disabled int64
	return rows([]any{&e.ID, &e.Tenant, &e.URL, &e.Kinds, &e.After, &e.Secret, &e.OldSecret, &ends, &created, &disabled, &e.Disabled}, func() error {
		e.OldEnds, e.CreatedAt, e.DisabledAt = instant(ends), instant(created), instant(disabled)
		*list = append(*list, e)
		e.Kinds, e.Secret, e.OldSecret = nil, nil, nil
		return nil
	})
}

// CreateEndpoint implements [store.Endpoints].
func (s *Store) CreateEndpoint(ctx context.Context, now time.Time, e store.Endpoint) error {
	if err := e.Check(); err != nil {
		return err
	}
	after, err := s.LastEvent(ctx, now)
	if err == nil {
		err = s.change(ctx, func(ctx context.Context, c *change) error {
			var has int
			c.exec("select pg_advisory_xact_lock($1, hashtext($2))", lockOfEndpoints, e.Tenant)
			c.queue("select count(*) from endpoint e where e.tenant = $1", e.Tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
			if err := c.send(ctx); err != nil {
				return err
			}
			if has >= store.MaxEndpoints {
				return fmt.Errorf("tenant %q has %d endpoints: %w", e.Tenant, has, store.ErrConflict)
			}
			c.exec("insert into endpoint (id, tenant, url, kinds, secret, old_secret, old_ends, after, created_at, disabled) values ($1, $2, $3, $4, $5, '', 0, $6, $7, '')",
				clean(e.ID), clean(e.Tenant), clean(e.URL), kindNames(e.Kinds), e.Secret, after, milli(now))
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("create endpoint %s: %w", e.ID, err)
	}
	return nil
}

// kindNames returns kinds as they are stored.
func kindNames(kinds []store.EventKind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

// Endpoint implements [store.Endpoints].
func (s *Store) Endpoint(ctx context.Context, id string) (store.Endpoint, error) {
	list, err := s.endpoints(ctx, "e.id = $1", clean(id))
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Endpoint{}, fmt.Errorf("endpoint %q: %w", id, err)
	}
	return list[0], nil
}

// Endpoints implements [store.Endpoints].
func (s *Store) Endpoints(ctx context.Context, q store.EndpointQuery) ([]store.Endpoint, error) {
	list, err := s.endpoints(ctx, "$1 or e.tenant = $2", q.All, q.Tenant)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	return list, nil
}

func (s *Store) endpoints(ctx context.Context, which string, args ...any) ([]store.Endpoint, error) {
	var list []store.Endpoint
	r, err := s.reading(ctx).Query(ctx, "select "+endpointFacts+" from endpoint e where "+which+" order by e.tenant, e.created_at, e.id", args...)
	if err == nil {
		err = scanEndpoints(&list)(r)
	}
	return list, wrap(err)
}

// SetEndpoint implements [store.Endpoints].
func (s *Store) SetEndpoint(ctx context.Context, id, url string, kinds []store.EventKind) error {
	if err := store.CheckEndpoint(url, kinds); err != nil {
		return err
	}
	return s.changeEndpoint(ctx, "set", id, "update endpoint set url = $2, kinds = $3 where id = $1", clean(url), kindNames(kinds))
}

// EnableEndpoint implements [store.Endpoints].
func (s *Store) EnableEndpoint(ctx context.Context, now time.Time, id string) error {
	after, err := s.LastEvent(ctx, now)
	if err != nil {
		return fmt.Errorf("enable endpoint %q: %w", id, err)
	}
	return s.changeEndpoint(ctx, "enable", id, "update endpoint set after = case when disabled_at is null then after else $2 end, disabled_at = null, disabled = '' where id = $1", after)
}

// DisableEndpoint implements [store.Endpoints].
func (s *Store) DisableEndpoint(ctx context.Context, now time.Time, id, reason string) error {
	return s.changeEndpoint(ctx, "disable", id, "update endpoint set disabled = case when disabled_at is null then $3 else disabled end, disabled_at = coalesce(disabled_at, $2) where id = $1",
		milli(now), clean(reason[:min(len(reason), store.MaxDisabled)]))
}

// RotateEndpoint implements [store.Endpoints].
func (s *Store) RotateEndpoint(ctx context.Context, id string, secret []byte, ends time.Time) error {
	if err := store.CheckSecret(secret); err != nil {
		return err
	}
	return s.changeEndpoint(ctx, "rotate", id, "update endpoint set old_secret = secret, old_ends = $3, secret = $2 where id = $1", secret, milli(ends))
}

// DropEndpoint implements [store.Endpoints].
func (s *Store) DropEndpoint(ctx context.Context, id string) error {
	return s.changeEndpoint(ctx, "drop", id, "delete from endpoint where id = $1")
}

// changeEndpoint changes one endpoint, or returns ErrNotFound.
func (s *Store) changeEndpoint(ctx context.Context, did, id, sql string, args ...any) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue(sql, append([]any{clean(id)}, args...)...).Exec(affected(1, func(int64) error { return store.ErrNotFound }))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s endpoint %q: %w", did, id, err)
	}
	return nil
}
