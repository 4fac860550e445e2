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

// All information is in rows; a notification only makes others read them sooner. So it is
// not part of the transaction that writes them: PostgreSQL would serialise such
// transactions. It is sent shortly after, one for many.

// notifyEvery is how long notifications are collected before they are sent.
const notifyEvery = 50 * time.Millisecond

// notifyTime is the timeout for sending them.
const notifyTime = 5 * time.Second

// everybody means all workers.
const everybody store.WorkerID = 0

// notifier notifies workers that there is something to read.
type notifier struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	wake chan struct{}
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	news map[store.WorkerID]store.News // bounded by the number of workers
}

func newNotifier(pool *pgxpool.Pool, log *slog.Logger) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{pool: pool, log: log, wake: make(chan struct{}, 1), stop: stop, news: map[store.WorkerID]store.News{}}
	n.done.Go(func() { n.run(ctx) })
	return n
}

// close sends the remaining notifications and waits for the end of the notifier.
func (n *notifier) close() {
	n.stop()
	n.done.Wait()
}

// notify queues notifications for workers.
func (n *notifier) notify(what store.News, workers ...store.WorkerID) {
	if len(workers) == 0 {
		return
	}
	n.mu.Lock()
	for _, w := range workers {
		n.news[w] |= what
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-n.wake:
			select {
			case <-ctx.Done():
			case <-time.After(notifyEvery):
			}
		}
		// What is left at the end is sent at once, so that workers are notified even by a
		// command that submits a job and exits.
		if err := n.send(context.WithoutCancel(ctx)); err != nil {
			n.log.WarnContext(ctx, "cannot notify workers", "err", err)
		}
	}
}

func (n *notifier) send(ctx context.Context) error {
	n.mu.Lock()
	var channels, what []string
	for w, news := range n.news {
		channels, what = append(channels, channelOf(w)), append(what, strconv.FormatUint(uint64(news), 10))
	}
	clear(n.news)
	n.mu.Unlock()
	if len(channels) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	_, err := n.pool.Exec(ctx, "select pg_notify(current_schema() || '_' || w.channel, w.what) from unnest($1::text[], $2::text[]) as w (channel, what)", channels, what)
	return err
}

// channelOf is the channel of a worker, or of all, without the schema.
func channelOf(w store.WorkerID) string {
	if w == everybody {
		return "workers"
	}
	return "worker_" + strconv.FormatInt(int64(w), 10)
}

// newsOf parses a notification. If it is not understood, it may mean anything.
func newsOf(payload string) store.News {
	if n, err := strconv.ParseUint(payload, 10, 8); err == nil {
		return store.News(n)
	}
	return store.AllNews
}

// Await implements [store.Fleet].
func (s *Store) Await(ctx context.Context, w store.WorkerID, look func(store.News)) error {
	err := s.await(ctx, w, look)
	return fmt.Errorf("await news for worker %d: %w", w, err)
}

func (s *Store) await(ctx context.Context, w store.WorkerID, look func(store.News)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	c := conn.Hijack()                                         // from now on it only listens
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is in progress on it
	var schema string
	if err := c.QueryRow(ctx, "select current_schema()").Scan(&schema); err != nil {
		return err
	}
	for _, to := range []store.WorkerID{w, everybody} {
		if _, err := c.Exec(ctx, "listen "+pgx.Identifier{schema + "_" + channelOf(to)}.Sanitize()); err != nil {
			return err
		}
	}
	listen(c.PgConn().Conn())
	for what := store.AllNews; ; {
		look(what)
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		what = newsOf(n.Payload)
	}
}
