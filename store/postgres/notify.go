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

// What happens is in rows; a notification is only a reason to look for them
// sooner. So it is not part of the change that brings them: PostgreSQL would let
// such changes pass one at a time. It follows shortly after, one for many.

// notifyEvery is how long news are gathered before they are told.
const notifyEvery = 50 * time.Millisecond

// notifyTime is how long telling them may take.
const notifyTime = 5 * time.Second

// everybody stands for all workers.
const everybody store.WorkerID = 0

// notifier tells workers that there is something to look at.
type notifier struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	wake chan struct{}
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	news map[store.WorkerID]store.News // bounded by the workers there are
}

func newNotifier(pool *pgxpool.Pool, log *slog.Logger) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{pool: pool, log: log, wake: make(chan struct{}, 1), stop: stop, news: map[store.WorkerID]store.News{}}
	n.done.Go(func() { n.run(ctx) })
	return n
}

// close tells what is still to be told and waits for the end of the notifier.
func (n *notifier) close() {
	n.stop()
	n.done.Wait()
}

// tell notes news for workers.
func (n *notifier) tell(what store.News, workers ...store.WorkerID) {
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
		// What is left at the end is told at once: a command that submits a job
		// and ends is heard of.
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

// newsOf reads what a notification says. A word that is not understood may mean
// anything.
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
	c := conn.Hijack()                                         // it listens from now on and is no use to anybody else
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is under way on it
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
