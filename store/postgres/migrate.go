package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"headway/store"
)

//go:embed migrations
var migrations embed.FS

// How often and how long a process waits for another one that migrates.
const (
	migrateRetry = 1 // seconds
	migrateTries = 300
)

// migrate brings the schema to what this program knows. Several processes may
// try at the same time: one of them does it.
func (s *Store) migrate(ctx context.Context, config *pgx.ConnConfig) (err error) {
	fsys, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	config = config.Copy()
	// Migrations want the planner as it is.
	for _, way := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "plan_cache_mode", "idle_in_transaction_session_timeout"} {
		delete(config.RuntimeParams, way)
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	var version int
	var name string
	var made bool
	err = db.QueryRowContext(ctx, "select current_setting('server_version_num')::int, current_setting('server_version'), to_regnamespace($1) is not null", s.schemaName()).Scan(&version, &name, &made)
	if err != nil {
		return err
	}
	if version < oldest {
		return fmt.Errorf("PostgreSQL %s: %w", name, errOldServer)
	}
	if !made {
		if _, err := db.ExecContext(ctx, "create schema if not exists "+s.schemaName()); err != nil {
			return fmt.Errorf("create schema %s: %w", s.schema, err)
		}
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrateRetry, migrateTries))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, fsys, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	has, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	switch {
	case has > want:
		return fmt.Errorf("the tables have format %d, this program knows formats up to %d: %w", has, want, store.ErrNewer)
	case has == want:
		return nil
	}
	_, err = p.Up(ctx)
	return err
}

// schemaName is the schema as it is written in a statement.
func (s *Store) schemaName() string { return pgx.Identifier{s.schema}.Sanitize() }

// prepare makes the shared shelf, if nobody has.
func (s *Store) prepare(ctx context.Context) error {
	var made bool
	if err := s.pool.QueryRow(ctx, "select exists (select from shelf where id = 0)").Scan(&made); err != nil || made {
		return err
	}
	return s.change(ctx, func(ctx context.Context, c *change) error {
		c.exec("select pg_advisory_xact_lock($1, 0)", lockOfShelf)
		c.queue("select exists (select from shelf where id = 0)").QueryRow(func(row pgx.Row) error { return row.Scan(&made) })
		if err := c.send(ctx); err != nil || made {
			return err
		}
		return c.createShelf(ctx, 0)
	})
}
