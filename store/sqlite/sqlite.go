// Package sqlite keeps a crawl in one file that any SQL tool can read: the engine for one
// machine.
//
// A crawl directory holds crawl.db with every URL ever seen, and a lock that makes one
// process its owner. The view urls has a row for each URL, with its outcome in words. What
// was learned about hosts is also written to a file that all crawls of a user share (see
// [Config.Hosts]), so that two crawls in two terminals keep one pace.
//
// All changes use one connection, one set-based transaction per call, on disk before it is
// acknowledged (write-ahead log, synchronous=FULL). Queries use other connections and do not
// wait for writes. A commit that fails, also because the disk is full, leaves the file
// unchanged.
//
// Memory stays bounded whatever the number of URLs: caches have fixed sizes, and nothing is
// kept per URL or host. A directory that another process uses, a damaged file, and one
// written by a newer version are rejected, each with a hint.
package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"headway/store"
	"headway/store/internal/ledger"
	"headway/visit"
)

// Names of files in a crawl directory.
const (
	crawlFile = "crawl.db"
	lockFile  = "crawl.lock"
)

// Bounds, in bytes unless said otherwise.
const (
	writeCache   = 16 << 20 // pages the writing connection keeps in memory
	readCache    = 4 << 20  // the same for each reading connection
	readers      = 4        // reading connections
	checkpoint   = 8192     // pages in the log before a checkpoint
	checkBelow   = 4 << 20  // a smaller file is checked completely when it is opened
	busyTimeout  = 10 * time.Second
	hostCache    = 1 << 16 // hosts whose numbers are remembered
	factCache    = 1 << 14 // facts whose numbers are remembered
	maxViewTerms = 100     // latest jobs in the view urls
)

// Config configures a store.
type Config struct {
	Dir   string // the crawl directory; created if needed
	Hosts string // the file of hosts shared with other crawls; empty for none

	Terms store.Terms  // of leases; zero means store.DefaultTerms
	Log   *slog.Logger // nil for none
	Fault store.Fault  // for tests

	unsynced bool // for tests with thousands of commits that need no durability
}

// Store is an open crawl directory. Make one with [Open].
type Store struct {
	reader // runs queries; mu also guards changes of its jobs

	log    *slog.Logger
	lock   *os.File
	shared *sharedHosts // nil without a shared file

	// mu guards the writing connection and the cached state of the file.
	mu     sync.Mutex
	w      *conn
	ledger *ledger.Ledger
	hosts  map[string]hostRef
	facts  map[visit.Evidence]int64
	lastID struct{ host, fact int64 }
	closed bool

	disk *diskTime // of both files
}

// hostRef is what is needed about a host to store a URL of it.
type hostRef struct {
	id   int64
	slot store.Slot
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Domains = (*Store)(nil)
)

// errClosed is returned by all calls after Close.
var errClosed = errors.New("the store is closed")

// Open opens a crawl directory, and creates it if there is none. An error that the user can
// fix is a [*store.OpenError].
func Open(ctx context.Context, c Config) (*Store, error) {
	path := filepath.Join(c.Dir, crawlFile)
	if err := c.Terms.WithDefaults().Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, &store.OpenError{Path: c.Dir, Err: err, Hint: "choose a writable directory"}
	}
	lock, err := lockPath(filepath.Join(c.Dir, lockFile))
	if err != nil {
		return nil, openError(c.Dir, err)
	}
	s := &Store{
		reader: newReader(path), log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), lock: lock, ledger: ledger.New(c.Terms, 0),
		hosts: map[string]hostRef{}, facts: map[visit.Evidence]int64{}, disk: &diskTime{},
	}
	if err := s.open(ctx, c); err != nil {
		return nil, errors.Join(openError(path, err), s.Close())
	}
	return s, nil
}

// lockPath takes the lock of a file, which stays open while it is held.
func lockPath(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = store.ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openError adds a hint for the user.
func openError(path string, err error) error {
	if e, ok := errors.AsType[*store.OpenError](err); ok {
		return e // of another file
	}
	var hint string
	switch {
	case errors.Is(err, store.ErrInUse):
		hint = "another headway is using this directory; wait for it, or choose another directory"
	case errors.Is(err, store.ErrNewer):
		hint = "upgrade headway to the version that wrote it, or choose another directory"
	case errors.Is(err, errEmpty):
		hint = "restore a backup, or move " + path + " away to start over"
	case errors.Is(err, store.ErrCorrupt):
		hint = "move the file away to start over, or restore a backup; `sqlite3 " + path + " .recover` shows what can still be read"
	case errors.Is(err, store.ErrFull):
		hint = "free some disk space"
	case errors.Is(err, fs.ErrPermission):
		hint = "check who owns the file"
	default:
		return fmt.Errorf("open store %s: %w", path, err)
	}
	return &store.OpenError{Path: path, Err: err, Hint: hint}
}

// open does what can fail after the lock was taken.
func (s *Store) open(ctx context.Context, c Config) error {
	if err := crawlSchema.migrate(ctx, s.path); err != nil {
		return err
	}
	sync := "synchronous = full"
	if c.unsynced {
		sync = "synchronous = off"
	}
	var err error
	s.w, err = openConn(s.path, "journal_mode = wal", sync, "trusted_schema = off", "cell_size_check = on",
		fmt.Sprintf("cache_size = %d", -writeCache/1024), fmt.Sprintf("wal_autocheckpoint = %d", checkpoint), fmt.Sprintf("journal_size_limit = %d", 2*checkpoint*4096))
	if err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := s.connect(fileURI(s.path)); err != nil {
		return err
	}
	if c.Hosts != "" {
		if s.shared, err = openShared(ctx, c.Hosts, c.Dir, c.Terms, c.Fault, s.disk); err != nil {
			return err
		}
	}
	s.w.fault = c.Fault
	return nil
}

// load reads what is cached in memory, and ends the leases of a process that is gone.
func (s *Store) load(ctx context.Context) error {
	if err := s.loadEndings(ctx, s.w); err != nil {
		return err
	}
	if err := s.makeKey(ctx); err != nil {
		return err
	}
	if err := s.loadSlots(ctx); err != nil {
		return err
	}
	if err := s.loadJobs(ctx); err != nil {
		return err
	}
	return s.loadIDs(ctx)
}

// makeKey reads the secret key, and creates it for a new file.
func (s *Store) makeKey(ctx context.Context) error {
	found, err := s.loadKey(ctx, s.w)
	if err != nil || found {
		return err
	}
	// crypto/rand never returns an error: it crashes the process instead.
	_, _ = rand.Read(s.key[:])
	_, err = s.w.exec(ctx, "insert into identity (id, key, created_at, last_worker) values (1, ?, unixepoch() * 1000, 0)", s.key[:])
	return err
}

// loadIDs reads the next numbers and clears the caches: after a failed change they may
// contain what is not stored.
func (s *Store) loadIDs(ctx context.Context) error {
	clear(s.hosts)
	clear(s.facts)
	if _, err := s.w.one(ctx, "select (select max(id) from host), (select max(id) from evidence)", nil, &s.lastID.host, &s.lastID.fact); err != nil {
		return err
	}
	for _, t := range s.jobs {
		if _, err := s.w.one(ctx, t.lastURL, nil, &t.last); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for running calls and closes the files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	errs := []error{s.disconnect()}
	if s.w != nil {
		errs = append(errs, s.w.close())
	}
	if s.shared != nil {
		errs = append(errs, s.shared.close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// change runs a transaction and returns the error of do; on any error it is rolled back.
func (s *Store) change(ctx context.Context, do func(ctx context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeLocked(ctx, do)
}

// changeLocked is change for a caller that holds the lock. A statement is not interrupted:
// ctx is checked before the first one and before the last.
func (s *Store) changeLocked(ctx context.Context, do func(ctx context.Context) error) error {
	if s.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	if _, err := s.w.exec(whole, "begin immediate"); err != nil {
		return err
	}
	err := do(whole)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		if err = s.disk.measure(func() error { return s.w.commit(whole) }); err == nil {
			return nil
		}
	}
	return errors.Join(err, s.undo(whole))
}

// undo rolls a transaction back and clears the caches it may have changed.
func (s *Store) undo(ctx context.Context) error {
	fault := s.w.fault
	s.w.fault = nil
	defer func() { s.w.fault = fault }()
	// SQLite rolls some transactions back by itself, such as when the disk is full.
	if err := s.w.script(ctx, "rollback"); err != nil && !isNoTransaction(err) {
		return err
	}
	return s.loadIDs(ctx)
}

// isNoTransaction recognises the one error of a rollback that is harmless. SQLite has no
// separate code for it.
func isNoTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active")
}
