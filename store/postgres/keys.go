package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/store"
)

var _ store.Keys = (*Store)(nil)

// inUse is the SQL condition for a key that is valid at $1.
const inUse = "k.revoked_at is null and coalesce(k.expires_at > $1, true)"

// keyFacts are the columns of a key, as scanKeys reads them.
const keyFacts = "k.id, k.tenant, k.name, k.scope, k.sum, k.created_at, coalesce(k.expires_at, 0), coalesce(k.used_at, 0), coalesce(k.revoked_at, 0)"

// CreateKey implements [store.Keys].
func (s *Store) CreateKey(ctx context.Context, now time.Time, k store.APIKey) error {
	if err := k.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error { return c.createKey(ctx, now, &k) })
	if err != nil {
		return fmt.Errorf("create key %s: %w", k.ID, err)
	}
	return nil
}

// createKey counts the keys of the tenant and adds one. A lock serialises calls per tenant.
func (c *change) createKey(ctx context.Context, now time.Time, k *store.APIKey) error {
	var has int
	c.exec("select pg_advisory_xact_lock($1, hashtext($2))", lockOfKeys, k.Tenant)
	c.exec("delete from api_key k where k.tenant = $2 and (k.revoked_at < $1 or k.expires_at < $1)", milli(now.Add(-store.KeyKeep)), k.Tenant)
	c.queue("select count(*) from api_key k where k.tenant = $2 and "+inUse, milli(now), k.Tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
	if err := c.send(ctx); err != nil {
		return err
	}
	if has >= store.MaxKeys {
		return fmt.Errorf("tenant %q has %d keys in use: %w", k.Tenant, has, store.ErrConflict)
	}
	c.exec("insert into api_key (id, tenant, name, scope, sum, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7)",
		k.ID, clean(k.Tenant), clean(k.Name), k.Scope, k.Sum[:], milli(k.CreatedAt), orNull(k.ExpiresAt))
	return nil
}

// APIKey implements [store.Keys].
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	list, err := s.keys(ctx, "select "+keyFacts+" from api_key k where k.id = $1", clean(id))
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.APIKey{}, fmt.Errorf("key %q: %w", id, err)
	}
	return list[0], nil
}

// APIKeys implements [store.Keys].
func (s *Store) APIKeys(ctx context.Context, q store.KeyQuery) ([]store.APIKey, error) {
	list, err := s.keys(ctx, "select "+keyFacts+" from api_key k where $1 or k.tenant = $2 order by k.tenant, k.created_at, k.id", q.All, q.Tenant)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

func (s *Store) keys(ctx context.Context, sql string, args ...any) ([]store.APIKey, error) {
	r, err := s.reading(ctx).Query(ctx, sql, args...)
	if err != nil {
		return nil, wrap(err)
	}
	var list []store.APIKey
	var k store.APIKey
	var sum []byte
	var created, expires, used, revoked int64
	_, err = pgx.ForEachRow(r, []any{&k.ID, &k.Tenant, &k.Name, &k.Scope, &sum, &created, &expires, &used, &revoked}, func() error {
		if len(sum) != sha256.Size {
			return fmt.Errorf("key %s: %w", k.ID, store.ErrCorrupt)
		}
		k.Sum = [sha256.Size]byte(sum)
		k.CreatedAt, k.ExpiresAt, k.UsedAt, k.RevokedAt = instant(created), instant(expires), instant(used), instant(revoked)
		list = append(list, k)
		return nil
	})
	return list, wrap(err)
}

// RevokeKey implements [store.Keys].
func (s *Store) RevokeKey(ctx context.Context, now time.Time, id string) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue("update api_key set revoked_at = coalesce(revoked_at, $2) where id = $1", clean(id), milli(now)).
			Exec(affected(1, func(int64) error { return store.ErrNotFound }))
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoke key %q: %w", id, err)
	}
	return nil
}

// RotateKey implements [store.Keys].
func (s *Store) RotateKey(ctx context.Context, now time.Time, old string, ends time.Time, k store.APIKey) error {
	if err := k.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		// It makes room before its successor is counted.
		c.queue("update api_key k set expires_at = least(k.expires_at, $3) where k.id = $2 and "+inUse, milli(now), clean(old), milli(ends)).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return fmt.Errorf("it is not in use: %w", store.ErrConflict)
				}
				return nil
			})
		return c.createKey(ctx, now, &k)
	})
	if err != nil {
		return fmt.Errorf("rotate key %q: %w", old, err)
	}
	return nil
}

// UseKey implements [store.Keys].
func (s *Store) UseKey(ctx context.Context, now time.Time, id string) error {
	_, err := s.pool.Exec(ctx, "update api_key set used_at = $2 where id = $1 and coalesce(used_at < $3, true)", clean(id), milli(now), milli(now.Add(-store.KeyUseStep)))
	if err != nil {
		return fmt.Errorf("note the use of key %q: %w", id, wrap(err))
	}
	return nil
}
