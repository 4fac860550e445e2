package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"headway/store"
)

// maxStatements is how many prepared statements a connection keeps. A job needs about
// fifty; when there are too many, all are closed.
const maxStatements = 1000

// conn is one connection with its prepared statements, used by one goroutine at a time. It
// uses the driver directly: database/sql, with pooling and conversion of arguments, would
// add a quarter to the cost of a commit.
type conn struct {
	c     driver.Conn
	stmts map[string]driver.Stmt
	fault store.Fault
	args  []driver.NamedValue
	row   []driver.Value
}

// openConn opens a file, creating it if needed, and runs the pragmas.
func openConn(path string, pragmas ...string) (*conn, error) {
	return openURI(fileURI(path), pragmas...)
}

// openURI opens an SQLite URI and runs the pragmas. It sets the busy timeout first,
// because some pragmas read the file.
func openURI(uri string, pragmas ...string) (*conn, error) {
	d, err := (&sqlite.Driver{}).Open(uri)
	if err != nil {
		return nil, wrap(err)
	}
	c := &conn{c: d, stmts: map[string]driver.Stmt{}}
	for _, p := range append([]string{fmt.Sprintf("busy_timeout = %d", busyTimeout.Milliseconds())}, pragmas...) {
		if err := c.query(context.Background(), "pragma "+p, nil, func([]driver.Value) error { return nil }); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// fileURI is the URI of a file, whatever characters its path has.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		slashed = "/" + slashed
	}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath()
}

func (c *conn) close() error {
	c.forget()
	return wrap(c.c.Close())
}

// forget closes the prepared statements.
func (c *conn) forget() {
	for q, s := range c.stmts {
		s.Close() // it repeats the error of the last execution, which was reported
		delete(c.stmts, q)
	}
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	if len(c.stmts) >= maxStatements {
		c.forget()
	}
	s, err := c.c.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", brief(query), wrap(err))
	}
	c.stmts[query] = s
	return s, nil
}

// brief is a statement shortened for error messages.
func brief(query string) string {
	query = strings.Join(strings.Fields(query), " ")
	if len(query) > 60 {
		query = query[:60] + "…"
	}
	return query
}

// values returns n arguments to be set, valid until the next statement.
func (c *conn) values(n int) []driver.NamedValue {
	for len(c.args) < n {
		c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1})
	}
	return c.args[:n]
}

// exec runs one statement and returns how many rows it changed.
func (c *conn) exec(ctx context.Context, query string, args ...driver.Value) (int64, error) {
	named := c.values(len(args))
	for i, a := range args {
		named[i].Value = a
	}
	return c.run(ctx, query, named)
}

// commit ends a transaction.
func (c *conn) commit(ctx context.Context) error {
	_, err := c.exec(ctx, "commit")
	return err
}

func (c *conn) run(ctx context.Context, query string, args []driver.NamedValue) (int64, error) {
	if err := c.fault.Stop(query); err != nil {
		return 0, err
	}
	s, err := c.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := s.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", brief(query), wrap(err))
	}
	n, err := result.RowsAffected()
	return n, wrap(err)
}

// script runs several statements without arguments.
func (c *conn) script(ctx context.Context, text string) error {
	if err := c.fault.Stop(text); err != nil {
		return err
	}
	if _, err := c.c.(driver.ExecerContext).ExecContext(ctx, text, nil); err != nil {
		return fmt.Errorf("%s: %w", brief(text), wrap(err))
	}
	return nil
}

// query runs a statement and calls scan for each row. The row is valid until scan
// returns; its strings and blobs may be kept.
func (c *conn) query(ctx context.Context, query string, args []driver.Value, scan func(row []driver.Value) error) error {
	named := c.values(len(args))
	for i, a := range args {
		named[i].Value = a
	}
	return c.rows(ctx, query, named, scan)
}

func (c *conn) rows(ctx context.Context, query string, args []driver.NamedValue, scan func(row []driver.Value) error) (err error) {
	if err := c.fault.Stop(query); err != nil {
		return err
	}
	s, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return fmt.Errorf("%s: %w", brief(query), wrap(err))
	}
	defer func() { err = errors.Join(err, wrap(rows.Close())) }()
	n := len(rows.Columns())
	if len(c.row) < n {
		c.row = make([]driver.Value, n)
	}
	row := c.row[:n]
	for {
		switch err := rows.Next(row); {
		case err == io.EOF: //nolint:errorlint // drivers return it bare, and it is what ends every read
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", brief(query), wrap(err))
		}
		if err := scan(row); err != nil {
			return err
		}
	}
}

// one reads a single row; found is false if there is none.
func (c *conn) one(ctx context.Context, query string, args []driver.Value, dest ...any) (found bool, err error) {
	err = c.query(ctx, query, args, func(row []driver.Value) error {
		if found {
			return fmt.Errorf("%s: more than one row", brief(query))
		}
		found = true
		for i, d := range dest {
			switch d := d.(type) {
			case *int64:
				*d = integer(row[i])
			case *string:
				*d = text(row[i])
			case *[]byte:
				*d = blob(row[i])
			default:
				return fmt.Errorf("%s: column %d into %T", brief(query), i, d)
			}
		}
		return nil
	})
	return found, err
}

// integer, text and blob read a column that may be null.
func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

// bulkSizes are the numbers of rows for which a bulk statement is prepared, largest first:
// few statements to prepare, few rows left over.
var bulkSizes = [...]int{64, 16, 4, 1}

// bulk is a statement over many rows of values.
type bulk struct {
	width   int // arguments of a row
	queries [len(bulkSizes)]string
}

// newBulk makes a bulk statement from the text before the rows, of each row, and after
// them.
func newBulk(before, row, after string) bulk {
	b := bulk{width: strings.Count(row, "?")}
	for i, n := range bulkSizes {
		b.queries[i] = before + strings.Repeat(row+",", n-1) + row + after
	}
	return b
}

// bulk runs a statement over n rows, as many at a time as fit. bind sets the arguments of
// row i; scan, which may be nil, gets what the statement returns. Without scan, bulk
// returns how many rows were changed.
func (c *conn) bulk(ctx context.Context, b *bulk, n int, bind func(i int, args []driver.NamedValue), scan func(row []driver.Value) error) (changed int64, err error) {
	for done := 0; done < n; {
		at := 0
		for bulkSizes[at] > n-done {
			at++
		}
		size, query := bulkSizes[at], b.queries[at]
		args := c.values(size * b.width)
		for i := range size {
			bind(done+i, args[i*b.width:(i+1)*b.width])
		}
		done += size
		if scan != nil {
			if err := c.rows(ctx, query, args, scan); err != nil {
				return changed, err
			}
			continue
		}
		k, err := c.run(ctx, query, args)
		if err != nil {
			return changed, err
		}
		changed += k
	}
	return changed, nil
}

// wrap maps an error of the driver to the errors that callers check for.
func wrap(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
		return fmt.Errorf("%w: %w", store.ErrFull, err) // the index of the log found no room
	}
	var kind error
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		kind = store.ErrFull
	case sqlite3.SQLITE_CANTOPEN:
		kind = store.ErrScarce
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		kind = store.ErrCorrupt
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		kind = store.ErrInUse
	default:
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
