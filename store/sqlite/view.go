package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"headway/store"
)

// View is a crawl directory opened for reading. Make one with [OpenView].
type View struct {
	reader
	closing sync.Once
	err     error // result of Close
}

var _ store.Reader = (*View)(nil)

// OpenView opens the crawl file of a directory for reading, also while another process
// crawls there. It takes no lock, leaves no file behind and blocks no other process. An
// error that the user can fix is a [*store.OpenError].
func OpenView(ctx context.Context, dir string) (*View, error) {
	path := filepath.Join(dir, crawlFile)
	v := &View{reader: newReader(path)}
	v.foreign = true
	uri, err := crawlSchema.readableURI(ctx, path)
	if err == nil {
		err = v.connect(uri)
	}
	if err == nil {
		err = v.ask(ctx, func(c *conn) error {
			if err := v.loadEndings(ctx, c); err != nil {
				return err
			}
			found, err := v.loadKey(ctx, c)
			if err == nil && !found {
				err = errUnfinished
			}
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(viewError(path, err), v.Close())
	}
	return v, nil
}

// Close waits for running queries and closes the file.
func (v *View) Close() error {
	v.closing.Do(func() { v.err = v.disconnect() })
	return v.err
}

// Why a file cannot be read.
var (
	errUnfinished = errors.New("nothing has been written yet")
	errOlder      = errors.New("written by an older version")
)

// viewError adds a hint for the user.
func viewError(path string, err error) error {
	var hint string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "give a directory created by `headway crawl`, for example ./headway-example.com"
		err = fmt.Errorf("no crawl found: %w", fs.ErrNotExist)
	case errors.Is(err, errUnfinished):
		hint = "the crawl is starting, or was stopped at once; try again, or start it again"
	case errors.Is(err, errOlder):
		hint = "run the command that created the crawl again to upgrade the file"
	case isCode(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
		hint = "a crawl that was not shut down cleanly can be read only in a writable directory; copy it there with all its files"
	default:
		return openError(path, err)
	}
	return &store.OpenError{Path: path, Err: err, Hint: hint}
}

// readableURI finds how an existing file of a kind can be read, and returns the URI for it.
//
// SQLite keeps an index of the log next to the file, which readers share: so a reader also
// needs to write into the directory. Where it cannot, the file is opened as immutable,
// provided that its log is empty: a writer would have to write into the same directory.
func (k schema) readableURI(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fs.ErrNotExist
	case info.Size() == 0:
		return "", errUnfinished
	}
	uri := fileURI(path) + "?mode=rw"
	err = k.checkReadable(ctx, uri)
	if isCode(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) {
		if log, missing := os.Stat(path + "-wal"); missing == nil && log.Size() > 0 {
			return "", err
		}
		uri = fileURI(path) + "?immutable=1"
		err = k.checkReadable(ctx, uri)
	}
	return uri, err
}

// checkReadable rejects a file of another kind or format.
func (k schema) checkReadable(ctx context.Context, uri string) (err error) {
	c, err := openReading(uri)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var mark, tables, has int64
	if _, err := c.one(ctx, "select application_id, (select count(*) from sqlite_schema where name = 'goose_db_version') from pragma_application_id", nil, &mark, &tables); err != nil {
		return err
	}
	switch {
	case mark == 0 && tables > 0:
		return errUnfinished
	case mark != k.mark || tables == 0:
		return fmt.Errorf("not a headway %s: %w", k.name, store.ErrCorrupt)
	}
	if _, err := c.one(ctx, "select max(version_id) from goose_db_version", nil, &has); err != nil {
		return err
	}
	want, err := k.version()
	switch {
	case err != nil:
		return err
	case has > want:
		return fmt.Errorf("the %s has format %d, but this version supports formats up to %d: %w", k.name, has, want, store.ErrNewer)
	case has < k.since:
		return fmt.Errorf("the %s has format %d, but this version reads formats from %d: %w", k.name, has, k.since, errOlder)
	}
	return nil
}

// version is the latest format of the migrations.
func (k schema) version() (int64, error) {
	names, err := fs.Glob(k.fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	var last int64
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		last = max(last, n)
	}
	return last, nil
}

// isCode reports whether an error is an SQLite error with one of these codes.
func isCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains(codes, e.Code()&0xff)
}
