package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headway/store"
)

// Follow passes a follower its next events, at most store.MaxEvents, in order, with all
// endpoints. What take does in the transaction it is given is committed together with the
// follower's position: no event is lost or delivered twice, however many processes follow
// under the same name and whenever they are killed. One process at a time does it; for the
// others there is nothing new. A new name starts with the oldest event that is kept.
func (s *Store) Follow(ctx context.Context, now time.Time, name string, take func(context.Context, pgx.Tx, []store.Event, []store.Endpoint) error) (had int, err error) {
	if err := s.numberEvents(ctx); err != nil {
		return 0, fmt.Errorf("follow events as %s: %w", name, err)
	}
	var fresh bool
	if err := s.pool.QueryRow(ctx, "select exists (select from event e where e.number > coalesce((select f.after from follower f where f.name = $1), 0))", name).Scan(&fresh); err != nil || !fresh {
		return 0, wrap(err)
	}
	if _, err := s.pool.Exec(ctx, "insert into follower (name, after) values ($1, 0) on conflict do nothing", name); err != nil {
		return 0, fmt.Errorf("follow events as %s: %w", name, wrap(err))
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		had, err = s.follow(ctx, tx, name, take)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("follow events as %s: %w", name, wrap(err))
	}
	return had, nil
}

func (s *Store) follow(ctx context.Context, tx pgx.Tx, name string, take func(context.Context, pgx.Tx, []store.Event, []store.Endpoint) error) (int, error) {
	var after store.EventNumber
	err := tx.QueryRow(ctx, "select after from follower where name = $1 for update skip locked", name).Scan(&after)
	if noRows(err) {
		return 0, nil // another process is doing it
	}
	if err != nil {
		return 0, err
	}
	list, err := readEvents(ctx, tx, store.EventQuery{All: true, After: after, Max: store.MaxEvents})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	var endpoints []store.Endpoint
	r, err := tx.Query(ctx, "select "+endpointFacts+" from endpoint e order by e.id")
	if err == nil {
		err = scanEndpoints(&endpoints)(r)
	}
	if err == nil {
		err = take(ctx, tx, list, endpoints)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "update follower set after = $2 where name = $1", name, list[len(list)-1].Number)
	}
	return len(list), err
}

// Connect opens a separate pool for callers with their own statements, such as a job queue:
// it uses the server's planner settings. Close it before the store.
func (s *Store) Connect(ctx context.Context) (*pgxpool.Pool, error) {
	config := s.pool.Config()
	for _, way := range plainSessions {
		delete(config.ConnConfig.RuntimeParams, way)
	}
	config.ConnConfig.Tracer = nil
	config.MinConns, config.MaxConns = 0, queueConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect once more: %w", err)
	}
	return pool, nil
}

// queueConns is the number of connections for a job queue: one listens and some hold locks
// while others work.
const queueConns = 6

// plainSessions are session settings that only our own statements need.
var plainSessions = []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "plan_cache_mode", "idle_in_transaction_session_timeout"}
