// Package postgres keeps crawls in PostgreSQL 15 or newer: the engine for a fleet.
//
// Any number of processes open the same database. A worker owns slots by fenced lease, so
// nothing is locked per URL: a commit is one transaction of a few set-based statements, sent
// in two round trips. The only rows for which two workers may wait are a URL or a notice
// that both found at the same time. The URLs of a job are in a set of tables with hash
// partitions by slot (a "shelf" in the schema): jobs share one set until they have grown
// large, a large job has its own, and deleting it is DROP TABLE.
//
// It fulfils the contract of package store. An acknowledged commit is on the server's disk,
// and on that of its synchronous standby if there is one; leases do not depend on the
// server's clock; and after a failover a connection string with several hosts finds the new
// primary. A server that is too old, and tables of a newer version that this one cannot use,
// are rejected with a hint.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// DefaultSchema is the schema of the tables unless Config.Schema is set.
const DefaultSchema = "headway"

// Bounds.
const (
	oldest     = 150_000 // server_version_num
	hostCache  = 1 << 17 // hosts whose row ids are cached
	factCache  = 1 << 16 // facts known to be stored
	jobCache   = 1 << 12 // jobs whose tables are cached
	statements = 512     // prepared statements a connection keeps: those of about 60 jobs
	tries      = 5       // attempts of a change after deadlocks
	shards     = 64      // parts of the counts of a job, to avoid contention
)

// partitions is the number of hash partitions of the tables of a large job,
// sharedPartitions that of the shared ones. More make small commits slower, fewer make
// larger indexes; see ADR 0024.
const (
	partitions       = 8
	sharedPartitions = 2
)

// bound says when a job leaves the shared tables: when it has more pages or more URLs than
// this. The second bounds the move, which is one transaction, and what is deleted with a job
// that stayed. A process checks the size of a job after it has stored so many pages and URLs
// of it.
type bound struct{ pages, urls, check int64 }

var sharedBound = bound{pages: 10_000, urls: 100_000, check: 500}

// Config configures a store.
type Config struct {
	// DSN is a connection string as libpq and pgx read it. Name the primary and its standbys
	// and target_session_attrs=read-write to follow a failover; pool_max_conns limits the
	// connections.
	DSN string
	// Conns is the number of connections if the DSN has no pool_max_conns. They are opened at
	// startup, because the first requests to a server may arrive together. 0 means as many as
	// processors, at least 4, each opened when it is needed.
	Conns int32
	// Schema is the schema of the tables; empty means DefaultSchema.
	Schema string

	Terms store.Terms  // of leases; zero means store.DefaultTerms
	Log   *slog.Logger // nil for none
	Fault store.Fault  // for tests

	partitions int             // for tests: fewer are created faster
	bound      bound           // for tests: smaller ones are reached faster
	tracer     pgx.QueryTracer // for tests that count statements
}

// Store is an open database. Make one with [Open].
type Store struct {
	pool     *pgxpool.Pool
	schema   string
	terms    store.Terms
	log      *slog.Logger
	fault    store.Fault
	key      weburl.Key
	parts    int // 0 for the usual numbers
	bound    bound
	shard    int16 // of counts changed without a worker
	format   int64 // that this program knows
	notifier *notifier
	pulse    pulse
	commits  commitConn

	numbering *numbering
	joint     chan struct{} // holds an entry for each Together in progress

	endings map[store.Ending]int16
	ending  map[int16]store.Ending

	watchMu sync.Mutex
	watch   store.Watch

	cacheMu    sync.Mutex // guards the caches, which hold only committed data
	hosts      map[string]hostRef
	facts      map[[16]byte]bool
	tables     map[job.ID]*jobTables // may be out of date: a job is moved or dropped by any process
	growth     map[job.ID]int64      // pages and URLs of jobs in shared tables, stored since their size was checked
	sideTables map[string]bool       // tables of texts and links that exist
}

// hostRef is what is needed about a host to store a URL of it.
type hostRef struct {
	id   int64
	slot store.Slot
}

var _ store.Store = (*Store)(nil)

// Open connects to a database, creates or migrates its tables, and returns it as a store. An
// error that the user can fix is a [*store.OpenError].
func Open(ctx context.Context, c Config) (*Store, error) {
	terms := c.Terms.WithDefaults()
	if err := terms.Check(); err != nil {
		return nil, err
	}
	s := &Store{
		schema: cmp.Or(c.Schema, DefaultSchema), terms: terms, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), fault: c.Fault,
		parts: c.partitions, bound: cmp.Or(c.bound, sharedBound), endings: map[store.Ending]int16{}, ending: map[int16]store.Ending{},
		hosts: map[string]hostRef{}, facts: map[[16]byte]bool{}, tables: map[job.ID]*jobTables{}, growth: map[job.ID]int64{}, sideTables: map[string]bool{}, numbering: newNumbering(),
	}
	config, err := s.poolConfig(c)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.Tracer = c.tracer
	if err := s.open(ctx, config); err != nil {
		if s.pool != nil {
			s.pool.Close()
		}
		return nil, openError(config.ConnConfig, err)
	}
	s.notifier = newNotifier(s.pool, s.log)
	s.joint = make(chan struct{}, max(1, (s.pool.Config().MaxConns-reserved)/2))
	return s, nil
}

// reserved is the number of connections with one use: one is for heartbeats, one for commits.
const reserved = 2

// poolConfig parses the connection string and adds the settings of our sessions.
func (s *Store) poolConfig(c Config) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("connection string: %w", err) // pgx leaves the password out
	}
	if plain, err := pgx.ParseConfig(c.DSN); err == nil && c.Conns > 0 && plain.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = c.Conns
	}
	config.ConnConfig.StatementCacheCapacity = statements
	config.MinConns = min(max(config.MinConns, c.Conns), config.MaxConns)
	config.MaxConns += reserved
	// Connections opened together are not replaced together.
	config.MaxConnLifetimeJitter = max(config.MaxConnLifetimeJitter, config.MaxConnLifetime/4)
	session := config.ConnConfig.RuntimeParams
	session["search_path"] = pgx.Identifier{s.schema}.Sanitize()
	session["application_name"] = cmp.Or(session["application_name"], "headway")
	// JIT compilation of a plan over partitions takes longer than running it.
	session["jit"] = "off"
	// All our changes look up short lists in an index. Plans are made once, perhaps when a
	// table is known to be empty: see findQueue.
	session["plan_cache_mode"] = "force_generic_plan"
	for _, way := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
		session[way] = "off"
	}
	// A process stopped in the middle of a commit must not block the worker that takes
	// over. The timeout is a whole lease, because a commit over a slow connection looks the
	// same until it arrives.
	session["idle_in_transaction_session_timeout"] = strconv.FormatInt(max(1000, s.terms.TakeOver.Milliseconds()), 10)
	session["tcp_keepalives_idle"], session["tcp_keepalives_interval"], session["tcp_keepalives_count"] = "10", "5", "2"
	// A connection that was just used need not be pinged before its use. An idle worker
	// uses each of its connections often enough. One on which the server has sent something
	// unrequested is probably closing.
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > max(time.Second, 4*s.terms.Renew) || spoken(p.Conn.PgConn().Conn())
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		// Whatever the server's default, acknowledged means on disk.
		_, err := c.Exec(ctx, "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local')")
		return err
	}
	return config, nil
}

// open does what can fail after the configuration was read.
func (s *Store) open(ctx context.Context, config *pgxpool.Config) error {
	var err error
	patient := config.ConnConfig.Copy() // no read timeout: a migration may take long
	config.ConnConfig.DialFunc = s.lines(config.ConnConfig.DialFunc)
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	if err := s.migrate(ctx, patient); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	rows, err := s.pool.Query(ctx, "select id, outcome, reason from ending")
	if err != nil {
		return err
	}
	var id int16
	var outcome, reason string
	_, err = pgx.ForEachRow(rows, []any{&id, &outcome, &reason}, func() error {
		e := store.Ending{Outcome: visit.Outcome(outcome), Reason: visit.Reason(reason)}
		s.endings[e], s.ending[id] = id, e
		return nil
	})
	if err != nil {
		return err
	}
	return s.loadKey(ctx)
}

// loadKey reads the secret key, which the first process created.
func (s *Store) loadKey(ctx context.Context) error {
	var key, fresh []byte
	var random weburl.Key
	// crypto/rand never returns an error: it crashes the process instead.
	_, _ = rand.Read(random[:])
	fresh = random[:]
	if _, err := s.pool.Exec(ctx, "insert into identity (id, key) values (1, $1) on conflict do nothing", fresh); err != nil {
		return err
	}
	var pid int32
	if err := s.pool.QueryRow(ctx, "select key, pg_backend_pid() from identity", pgx.QueryExecModeExec).Scan(&key, &pid); err != nil {
		return err
	}
	if copy(s.key[:], key) != len(s.key) {
		return fmt.Errorf("key of %d bytes: %w", len(key), store.ErrCorrupt)
	}
	s.shard = int16(pid % shards)
	return nil
}

// Key returns the secret key of the store.
func (s *Store) Key() weburl.Key { return s.key }

// closeTime is how long the server has to close its connections.
const closeTime = 3 * time.Second

// Close waits for running calls and closes the connections. Leases that are still held end
// when their worker is declared dead. A server that does not respond does not block it: the
// rest of its connections end by themselves.
func (s *Store) Close() error {
	s.notifier.close()
	s.pulse.mu.Lock()
	s.pulse.drop()
	s.pulse.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		s.commits.close()
		s.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
		s.log.Warn("timed out closing database connections", "timeout", closeTime)
	}
	return nil
}

// openError adds a hint for the user.
func openError(c *pgx.ConnConfig, err error) error {
	where := fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Database)
	err = wrap(err)
	var hint string
	switch {
	case errors.Is(err, store.ErrNewer):
		hint = "start the version of headway that migrated these tables or a newer one, or choose another schema"
	case errors.Is(err, errOldServer):
		hint = "upgrade the server to PostgreSQL 15 or newer"
	case isConnectError(err):
		hint = "check that the server runs and that the connection string is right"
	default:
		return fmt.Errorf("open store %s: %w", where, err)
	}
	return &store.OpenError{Path: where, Err: err, Hint: hint}
}

// milli and instant convert a time to and from its stored form; 0 is none.
func milli(t time.Time) int64    { return record.Milli(t) }
func instant(ms int64) time.Time { return record.Instant(ms) }

// orNull stores the zero time as null.
func orNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := milli(t)
	return &ms
}
