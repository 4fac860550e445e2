package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

// An export belongs to the process that holds its lock, on a connection that ends
// with the process. A process that loses the connection stops; an export without a lock
// holder is queued again, by any process.
const (
	lockWithin = 10 * time.Second // to get a lock that others are checking
	stillHeld  = time.Second      // interval and timeout of the connection's health check
	lookEvery  = 4 * time.Second  // interval for finding abandoned exports; longer than it takes to stop without a lock
	maxLost    = 100              // exports that are queued again at a time
)

// lockOf is the lock of an export, apart from those of other schemas.
const lockOf = `hashtextextended(current_schema() || ' export ' || %s::text, 0)`

// errLost says that another process may own the export by now.
var errLost = errors.New("lost the connection that holds the export lock")

// hold takes the lock of an export. The context ends if the lock is lost; free
// releases it.
func (x *Exporter) hold(ctx context.Context, id int64) (_ context.Context, free func(), err error) {
	conn, err := x.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("lock export %d: %w", id, err)
	}
	locking, cancel := context.WithTimeout(ctx, lockWithin)
	defer cancel()
	if _, err := conn.Exec(locking, "select pg_advisory_lock("+fmt.Sprintf(lockOf, "$1")+")", fmt.Sprint(id)); err != nil {
		conn.Release()
		return nil, nil, fmt.Errorf("lock export %d: %w", id, err)
	}
	work, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(work, conn, stop)
	}()
	return work, func() {
		stop(nil)
		<-watched
		// The lock ends with the session, whatever its state.
		if err := conn.Hijack().Close(context.WithoutCancel(ctx)); err != nil {
			x.cfg.Log.DebugContext(ctx, "cannot close the connection of an export lock", "err", err)
		}
	}, nil
}

// watch ends the work when the connection does.
func watch(ctx context.Context, conn *pgxpool.Conn, stop context.CancelCauseFunc) {
	tick := time.NewTicker(stillHeld)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), stillHeld)
		err := conn.Ping(asking)
		cancel()
		if err != nil {
			stop(fmt.Errorf("%w: %w", errLost, err))
			return
		}
	}
}

// lost are the attempts at exports, by number.
type lost map[int64]int

// Run queues abandoned exports again until ctx ends: their process
// was killed. Any number of processes can run it.
func (x *Exporter) Run(ctx context.Context, _ *river.Client[pgx.Tx]) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var before lost
	for {
		now, err := x.unheld(ctx)
		for id, attempt := range now {
			// Twice in a row: by now a process that lost the lock has stopped.
			if err == nil && before[id] == attempt {
				err = x.putBack(ctx, id, attempt)
			}
		}
		if err != nil && ctx.Err() == nil {
			x.cfg.Log.WarnContext(ctx, "cannot look for abandoned exports", "err", err)
		}
		before = now
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// unheld returns running exports whose lock is free.
func (x *Exporter) unheld(ctx context.Context) (lost, error) {
	rows, err := x.pool.Query(ctx, `with running as materialized (select id, attempt from river_job where kind = $1 and state = 'running' order by id limit $2)
		select id, attempt from running where pg_try_advisory_xact_lock(`+fmt.Sprintf(lockOf, "id")+`)`, (order{}).Kind(), maxLost)
	if err != nil {
		return nil, fmt.Errorf("look for exports: %w", err)
	}
	found := lost{}
	var id int64
	var attempt int
	if _, err = pgx.ForEachRow(rows, []any{&id, &attempt}, func() error { found[id] = attempt; return nil }); err != nil {
		return nil, fmt.Errorf("look for exports: %w", err)
	}
	return found, nil
}

// putBack queues an export again, unless it has used up its attempts.
func (x *Exporter) putBack(ctx context.Context, id int64, attempt int) error {
	tag, err := x.pool.Exec(ctx, `update river_job set scheduled_at = now(), state = (case when attempt < max_attempts then 'available' else 'discarded' end)::river_job_state,
		finalized_at = case when attempt < max_attempts then null else now() end,
		errors = array_append(errors, jsonb_build_object('at', now(), 'attempt', attempt, 'error', 'the server that made it has ended', 'trace', ''))
		where id = $1 and attempt = $2 and state = 'running'`, id, attempt)
	if err != nil {
		return fmt.Errorf("put export %d back: %w", id, err)
	}
	if tag.RowsAffected() > 0 {
		x.cfg.Log.InfoContext(ctx, "export queued again, its server is gone", "export", id, "attempt", attempt)
	}
	return nil
}
