package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headway/store"
)

// Arrivals are rows; a notification is only a reason to look for them sooner.
// So it is not part of the commit that brings them: PostgreSQL would let such
// commits pass one at a time. It follows shortly after, one for many.

// notifyEvery is how long notices are gathered before the owners are told.
const notifyEvery = 50 * time.Millisecond

// notifyTime is how long telling them may take.
const notifyTime = 5 * time.Second

// notifier tells owners that something arrived for them.
type notifier struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	wake chan struct{}
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	owners map[store.WorkerID]bool // bounded by the workers there are
}

func newNotifier(pool *pgxpool.Pool, log *slog.Logger) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{pool: pool, log: log, wake: make(chan struct{}, 1), stop: stop, owners: map[store.WorkerID]bool{}}
	n.done.Go(func() { n.run(ctx) })
	return n
}

// close waits for the end of the notifier.
func (n *notifier) close() {
	n.stop()
	n.done.Wait()
}

// tell notes owners to be told.
func (n *notifier) tell(owners []store.WorkerID) {
	if len(owners) == 0 {
		return
	}
	n.mu.Lock()
	for _, w := range owners {
		n.owners[w] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(notifyEvery):
		}
		if err := n.send(ctx); err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "owners not notified", "err", err)
		}
	}
}

func (n *notifier) send(ctx context.Context) error {
	n.mu.Lock()
	var channels []string
	for w := range n.owners {
		channels = append(channels, channelOf(w))
	}
	clear(n.owners)
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	_, err := n.pool.Exec(ctx, "select pg_notify(current_schema() || '_' || w, '') from unnest($1::text[]) as w", channels)
	return err
}

// channelOf is the channel of a worker, without the schema.
func channelOf(w store.WorkerID) string { return "arrivals_" + strconv.FormatInt(int64(w), 10) }

// Await calls look once it listens, and again whenever somebody has put URLs
// into queues of the worker: then [Store.Arrivals] is worth asking. It returns
// when ctx ends or the connection it holds is lost; call it again then, and ask
// every ten seconds in any case, because a notification goes with its connection.
func (s *Store) Await(ctx context.Context, w store.WorkerID, look func()) error {
	err := s.await(ctx, w, look)
	return fmt.Errorf("await arrivals of worker %d: %w", w, err)
}

func (s *Store) await(ctx context.Context, w store.WorkerID, look func()) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	c := conn.Hijack()                                         // it listens from now on and is no use to anybody else
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is under way on it
	var schema string
	if err := c.QueryRow(ctx, "select current_schema()").Scan(&schema); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "listen "+pgx.Identifier{schema + "_" + channelOf(w)}.Sanitize()); err != nil {
		return err
	}
	for {
		look()
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
