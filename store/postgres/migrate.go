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

// migrate migrates the schema to the version of this program. Usually it is current, which
// one query shows. Tables migrated by a newer program are not changed: they say whether
// this one may use them.
func (s *Store) migrate(ctx context.Context, config *pgx.ConnConfig) error {
	want, err := latest()
	if err != nil {
		return err
	}
	s.format = want
	has, err := s.version(ctx)
	switch {
	case err != nil:
		return err
	case has > want:
		return s.admit(ctx, has, want)
	case has == want:
		return nil
	default:
		return s.upgrade(ctx, config)
	}
}

// latest is the number of the last migration.
func latest() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(files[len(files)-1]) // they are sorted, and there is at least one
}

// version is the number of the last migration that was applied; 0 for none.
func (s *Store) version(ctx context.Context) (int64, error) {
	var server int
	var name string
	var made bool
	err := s.pool.QueryRow(ctx, "select current_setting('server_version_num')::int, current_setting('server_version'), to_regclass($1) is not null",
		s.schemaName()+".goose_db_version").Scan(&server, &name, &made)
	if err != nil {
		return 0, err
	}
	if server < oldest {
		return 0, fmt.Errorf("PostgreSQL %s: %w", name, errOldServer)
	}
	var has int64
	if made {
		err = s.pool.QueryRow(ctx, "select coalesce(max(version_id), 0) from goose_db_version where is_applied").Scan(&has)
	}
	return has, err
}

// admit checks whether tables of a newer format may be used by a program that knows formats
// up to knows.
func (s *Store) admit(ctx context.Context, has, knows int64) error {
	var oldest int64
	if err := s.pool.QueryRow(ctx, "select oldest from format").Scan(&oldest); err != nil {
		return fmt.Errorf("read which programs may work on format %d: %w", has, err)
	}
	if knows < oldest {
		return fmt.Errorf("the tables have format %d, for programs that know %d or newer; this one knows formats up to %d: %w", has, oldest, knows, store.ErrNewer)
	}
	s.log.Info("database schema is newer than this program", "format", has, "supported", knows)
	return nil
}

// upgrade applies the missing migrations. Several processes may try at the same time: one of
// them does it, and the others wait.
func (s *Store) upgrade(ctx context.Context, config *pgx.ConnConfig) (err error) {
	fsys, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	config = config.Copy()
	// Migrations need the default planner settings.
	for _, way := range plainSessions {
		delete(config.RuntimeParams, way)
	}
	// Two processes creating the same schema concurrently would both fail.
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, 0)", lockOfTables); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "create schema if not exists "+s.schemaName())
		return err
	})
	if err != nil {
		return fmt.Errorf("create schema %s: %w", s.schema, err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrateRetry, migrateTries))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, fsys, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// schemaName is the schema as it is written in a statement.
func (s *Store) schemaName() string { return pgx.Identifier{s.schema}.Sanitize() }

// prepare creates the shared tables, if they do not exist.
func (s *Store) prepare(ctx context.Context) error {
	var made bool
	if err := s.pool.QueryRow(ctx, "select exists (select from shelf where id = 0)").Scan(&made); err != nil || made {
		return err
	}
	return s.change(ctx, func(ctx context.Context, c *change) error {
		c.exec("select pg_advisory_xact_lock($1, 0)", lockOfTables)
		c.queue("select exists (select from shelf where id = 0)").QueryRow(func(row pgx.Row) error { return row.Scan(&made) })
		if err := c.send(ctx); err != nil || made {
			return err
		}
		return c.createTables(ctx, 0)
	})
}
