package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"headway/store"
)

//go:embed migrations
var migrations embed.FS

// schema is one kind of file: its mark and its migrations.
type schema struct {
	name string // for people
	mark int64  // application_id of the file
	fsys fs.FS  // migrations
	// since is the oldest format that can be read without migration: what is only read has
	// not changed since.
	since int64
}

// The two kinds of file. The marks spell HWc1 and HWh1.
var (
	crawlSchema = schema{"crawl file", 0x48576331, sub("crawl"), 1}
	hostsSchema = schema{"hosts file", 0x48576831, sub("hosts"), 1}
)

// sub is one folder of the embedded migrations.
func sub(dir string) fs.FS {
	f, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		panic(err)
	}
	return f
}

// errEmpty is an empty file. Files are created complete, so something else has emptied it.
var errEmpty = fmt.Errorf("it is empty: %w", store.ErrCorrupt)

// migrate migrates a file to the current schema, and creates it if there is none. An older
// file is copied first; a newer, foreign or empty one is rejected and not changed.
func (k schema) migrate(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.create(ctx, path)
	case err != nil:
		return err
	case info.Size() == 0:
		return errEmpty
	}
	return k.upgrade(ctx, path, info.Size())
}

// create creates a file, under another name until it is complete.
func (k schema) create(ctx context.Context, path string) error {
	part := path + ".part"
	// Files left behind by a deleted one would be taken for this one's.
	for _, old := range []string{part, part + "-journal", path + "-journal", path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := k.upgrade(ctx, part, 0); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new file name durable. Some systems cannot, and need not.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// upgrade migrates a file of this size to the schema; size 0 means a new file.
func (k schema) upgrade(ctx context.Context, path string, size int64) (err error) {
	isNew := size == 0
	db, err := sql.Open("sqlite", fileURI(path)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if !isNew {
		if err := k.checkMark(ctx, db); err != nil {
			return err
		}
		if err := inspect(ctx, db, path, size); err != nil {
			return err
		}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, k.fsys)
	if err != nil {
		return wrap(err)
	}
	has, want, err := p.GetVersions(ctx)
	if err != nil {
		return wrap(err)
	}
	switch {
	case has > want:
		return fmt.Errorf("the %s has format %d, but this version supports formats up to %d: %w", k.name, has, want, store.ErrNewer)
	case has == want:
		return nil
	}
	if !isNew && has > 0 {
		if err := backup(ctx, db, fmt.Sprintf("%s.v%d.bak", path, has)); err != nil {
			return err
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return wrap(err)
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("pragma application_id = %d", k.mark))
	return wrap(err)
}

// checkMark rejects a file that is not a database or not ours.
func (k schema) checkMark(ctx context.Context, db *sql.DB) error {
	var mark, tables int64
	if err := db.QueryRowContext(ctx, "select application_id, (select count(*) from sqlite_schema) from pragma_application_id").Scan(&mark, &tables); err != nil {
		return wrap(err)
	}
	if mark != k.mark {
		// A crash between the first tables and the mark leaves only tables
		// of ours.
		var ours int64
		if err := db.QueryRowContext(ctx, "select count(*) from sqlite_schema where name = 'goose_db_version'").Scan(&ours); err != nil {
			return wrap(err)
		}
		if mark != 0 || ours == 0 {
			return fmt.Errorf("not a headway %s: %w", k.name, store.ErrCorrupt)
		}
	}
	return nil
}

// inspect checks for damage: everywhere in a small file, only the length of a large one.
// Other damage is found when it is read.
func inspect(ctx context.Context, db *sql.DB, path string, size int64) error {
	if size > checkBelow {
		return inspectLength(ctx, db, path, size)
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "pragma quick_check(1)").Scan(&verdict); err != nil {
		return wrap(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%s: %w", verdict, store.ErrCorrupt)
	}
	return nil
}

// inspectLength rejects a truncated file. While there is a log, pages at the end may exist
// only there.
func inspectLength(ctx context.Context, db *sql.DB, path string, size int64) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil
	}
	var pages, each int64
	if err := db.QueryRowContext(ctx, "select page_count, page_size from pragma_page_count, pragma_page_size").Scan(&pages, &each); err != nil {
		return wrap(err)
	}
	if size < pages*each {
		return fmt.Errorf("%d bytes of %d are there: %w", size, pages*each, store.ErrCorrupt)
	}
	return nil
}

// backup writes a copy of the file, under its final name once it is complete.
func backup(ctx context.Context, db *sql.DB, path string) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := db.ExecContext(ctx, "vacuum into ?", part); err != nil {
		return fmt.Errorf("back up the file before upgrading: %w", wrap(err))
	}
	return os.Rename(part, path)
}
