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

// schema is one kind of file: its mark and the migrations that lead to it.
type schema struct {
	name string // for people
	mark int64  // application_id of the file
	fsys fs.FS  // migrations
	// since is the oldest format in which everything that is only read stands
	// as it does now: such a file is read as it is.
	since int64
}

// The two kinds of file. The marks spell HWc1 and HWh1.
var (
	crawlSchema = schema{"crawl file", 0x48576331, sub("crawl"), 1}
	hostsSchema = schema{"hosts file", 0x48576831, sub("hosts"), 1}
)

// sub is one folder of migrations, which is there because it is embedded.
func sub(dir string) fs.FS {
	f, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		panic(err)
	}
	return f
}

// errEmpty is a file without anything in it. Files appear whole, so somebody else
// has emptied it.
var errEmpty = fmt.Errorf("it is empty: %w", store.ErrCorrupt)

// migrate brings a file to the schema this program knows, and makes it if there is
// none. A file that is older is copied first; a newer, strange or empty one is
// refused and left as it is.
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

// create makes a file, under another name until it is whole.
func (k schema) create(ctx context.Context, path string) error {
	part := path + ".part"
	// What a file that is gone has left behind would be taken for this one's.
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

// syncDir makes a new name last. Some systems cannot, and need not.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// upgrade brings a file of this size to the schema; of none, if it is new.
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

// checkMark refuses a file that is no database or somebody else's.
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

// inspect looks for damage: everywhere in a small file, in the length of a
// large one. Damage further inside is found when it is read.
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

// inspectLength refuses a file that was cut off. While there is a log, pages at
// the end may be there alone.
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

// backup writes a copy of the file as it is, under its final name once it is
// whole.
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
