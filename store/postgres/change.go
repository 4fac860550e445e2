package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rollbackTime is how long a rollback may take before the connection is closed, which has
// the same effect.
const rollbackTime = 5 * time.Second

// change is a transaction in progress. Statements are queued and sent together: begin and
// commit cost no extra round trip.
type change struct {
	s     *Store
	conn  *pgxpool.Conn
	batch pgx.Batch
	err   error // of the fault
}

// change runs a transaction and returns the error of do; on any error it is rolled back.
// After a deadlock do is run again, so it must not keep state, and if a job was moved
// meanwhile. What it queued last is sent with the commit.
//
// Within [Store.Together] it is a part of that transaction.
func (s *Store) change(ctx context.Context, do func(ctx context.Context, c *change) error) error {
	return s.changeOn(ctx, s.acquire, do)
}

// changeOn is change, with its own way to get a connection.
func (s *Store) changeOn(ctx context.Context, acquire acquireFunc, do func(ctx context.Context, c *change) error) error {
	if t := togetherOf(ctx); t != nil {
		return t.join(ctx, do)
	}
	for try := 1; ; try++ {
		err := s.tryChange(ctx, acquire, do)
		if err == nil || !isRetriable(err) || try == tries {
			return wrap(err)
		}
		if !errors.Is(err, errMoved) {
			s.log.WarnContext(ctx, "transaction failed, retrying", "attempt", try, "err", err)
		}
	}
}

// single runs a change of one statement without an explicit transaction.
func (s *Store) single(ctx context.Context, sql string, args []any, take func(pgx.Rows) error) error {
	for try := 1; ; try++ {
		err := s.fault.Stop(sql)
		if err == nil {
			var r pgx.Rows
			if r, err = s.reading(ctx).Query(ctx, sql, args...); err == nil {
				err = take(r)
			}
		}
		if err == nil || !isRetriable(err) || try == tries {
			return wrap(err)
		}
		s.log.WarnContext(ctx, "transaction failed, retrying", "attempt", try, "err", err)
	}
}

func (s *Store) tryChange(ctx context.Context, acquire acquireFunc, do func(ctx context.Context, c *change) error) error {
	conn, release, err := acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	c := &change{s: s, conn: conn}
	c.exec("begin")
	if err = do(ctx, c); err == nil {
		c.exec("commit")
		if err = c.send(ctx); err == nil {
			return nil
		}
	}
	if conn.Conn().PgConn().TxStatus() != 'I' {
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		// If this fails, the connection is closed, and the server rolls the transaction
		// back.
		_, _ = conn.Exec(whole, "rollback")
	}
	return err
}

// queue adds a statement. Its result is passed to the function set on the returned value
// when the queue is sent.
func (c *change) queue(sql string, args ...any) *pgx.QueuedQuery {
	if c.err == nil {
		c.err = c.s.fault.Stop(sql)
	}
	return c.batch.Queue(sql, args...)
}

// exec adds a statement whose result is ignored.
func (c *change) exec(sql string, args ...any) { c.queue(sql, args...) }

// send sends the queued statements and passes on the results.
func (c *change) send(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	batch := c.batch
	c.batch = pgx.Batch{}
	if batch.Len() == 0 {
		return nil
	}
	return c.conn.SendBatch(ctx, &batch).Close()
}

// rows returns a function that scans the rows of a statement and calls each for every row.
func rows(targets []any, each func() error) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		_, err := pgx.ForEachRow(r, targets, each)
		return err
	}
}

// affected returns a function for a statement that must change n rows; otherwise err is the
// result.
func affected(n int, err func(got int64) error) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if got := tag.RowsAffected(); got != int64(n) {
			return err(got)
		}
		return nil
	}
}

// read runs a query of several statements in one snapshot.
func (s *Store) read(ctx context.Context, do func(tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.reading(ctx), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, do)
	return wrap(err)
}

// noRows reports whether a result has no rows.
func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// lockJobs takes shared locks of jobs: the change waits for a drop or an extension of them,
// and vice versa.
func (c *change) lockJobs(jobs []int32) {
	c.exec("select pg_advisory_xact_lock_shared($1, j) from unnest($2::int[]) as j", lockOfJob, jobs)
}

// lockJob takes the exclusive lock of a job.
func (c *change) lockJob(id int32) { c.exec("select pg_advisory_xact_lock($1, $2)", lockOfJob, id) }

// Classes of advisory locks.
const (
	lockOfJob        int32 = 0x48576a
	lockOfSeries     int32 = 0x485773
	lockOfTables     int32 = 0x485768
	lockOfQueue      int32 = 0x485771
	lockOfKeys       int32 = 0x48576b
	lockOfEvents     int32 = 0x485765
	lockOfSubmission int32 = 0x48576f
	lockOfEndpoints  int32 = 0x48576e
	lockOfSchedules  int32 = 0x485774
	lockOfHosts      int32 = 0x485775
	lockOfTaken      int32 = 0x485778
)

// errf is fmt.Errorf for the functions of affected.
func errf(format string, args ...any) func(int64) error {
	return func(int64) error { return fmt.Errorf(format, args...) }
}
