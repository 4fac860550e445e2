package chore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"headway/internal/archive"
	"headway/job"
	"headway/service/internal/export"
	"headway/service/internal/retention"
	"headway/service/internal/schedule"
	"headway/service/internal/webhook"
	"headway/store"
	"headway/store/postgres"
)

// lockOfRiver keeps two processes from creating the tables of River at the same time.
const lockOfRiver int64 = 0x48577200

// Bounds of chores.
const (
	rescueAfter   = time.Minute           // when a job whose process died is retried, or after its timeout
	stopWithin    = 10 * time.Second      // graceful shutdown: running jobs are stopped after this
	fetchCooldown = 20 * time.Millisecond // between two polls while there are jobs
	startRetry    = time.Second           // retry delay if the database does not respond at the start
	pollInterval  = 10 * time.Second      // poll interval for jobs that are not urgent, if no notification arrives
)

// Config is how a runner is set up.
type Config struct {
	Store   *postgres.Store
	Webhook webhook.Config
	Export  export.Config
	Archive *archive.Archive // of the workers; nil for none
	Log     *slog.Logger     // nil for none
}

// Runner runs the background jobs of a process. Make one with [Open].
type Runner struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	hooks  *webhook.Sender
	runs   *schedule.Runner
	out    *export.Exporter
	log    *slog.Logger
}

// Open connects to the store's database once more and creates the tables of River
// if they do not exist.
func Open(ctx context.Context, cfg Config) (*Runner, error) {
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	hooks, err := webhook.New(cfg.Webhook, cfg.Store)
	if err != nil {
		return nil, err
	}
	out, err := export.New(cfg.Export, cfg.Store)
	if err != nil {
		return nil, err
	}
	r := &Runner{hooks: hooks, runs: schedule.New(cfg.Store, log), out: out, log: log}
	if r.pool, err = cfg.Store.Connect(ctx); err != nil {
		return nil, err
	}
	workers, warner := river.NewWorkers(), slog.New(warnings{log.Handler()})
	hooks.Register(workers)
	r.runs.Register(workers)
	out.Register(workers, r.pool)
	var swept retention.Archive
	if cfg.Archive != nil {
		swept = cfg.Archive
	}
	keeper := retention.New(cfg.Store, swept, log)
	keeper.Register(workers)
	r.client, err = river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			webhook.Queue:   {MaxWorkers: webhook.MaxWorking, FetchCooldown: fetchCooldown},
			schedule.Queue:  {MaxWorkers: schedule.MaxComparing, FetchPollInterval: pollInterval},
			export.Queue:    {MaxWorkers: export.MaxExporting},
			retention.Queue: {MaxWorkers: 1, FetchPollInterval: pollInterval},
		},
		PeriodicJobs:         []*river.PeriodicJob{keeper.Periodic()},
		JobTimeout:           rescueAfter,
		RescueStuckJobsAfter: rescueAfter,
		SoftStopTimeout:      stopWithin,
		Logger:               warner,
	})
	if err == nil {
		err = migrate(ctx, r.pool, warner)
	}
	if err != nil {
		r.pool.Close()
		return nil, fmt.Errorf("open background jobs: %w", err)
	}
	return r, nil
}

// Close closes the connections. It is called after Run has returned.
func (r *Runner) Close() { r.pool.Close() }

// Run runs background jobs until ctx ends and those in progress are done or queued again.
func (r *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("start background jobs: %w", err)
	}
	var group sync.WaitGroup
	for _, part := range []func(context.Context, *river.Client[pgx.Tx]) error{r.hooks.Run, r.runs.Run, r.out.Run} {
		group.Go(func() { cancel(part(ctx, r.client)) })
	}
	group.Wait()
	<-r.client.Stopped()
	return context.Cause(ctx)
}

// start starts River. If the database does not respond, it retries, as it does
// later on.
func (r *Runner) start(ctx context.Context) error {
	for {
		err := r.client.Start(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.log.WarnContext(ctx, "cannot start background jobs, retrying", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(startRetry):
		}
	}
}

// Deliveries returns the latest deliveries to an endpoint; see
// [webhook.Sender.Recent].
func (r *Runner) Deliveries(ctx context.Context, endpoint string, most int) ([]webhook.Delivery, error) {
	return r.hooks.Recent(ctx, r.client, endpoint, most)
}

// Export requests an export of a job; see [export.Exporter.Ask].
func (r *Runner) Export(ctx context.Context, id job.ID, formats []string) (export.Export, error) {
	return r.out.Ask(ctx, r.client, id, formats)
}

// Exports returns the exports of a job; see [export.Exporter.List].
func (r *Runner) Exports(ctx context.Context, id job.ID) ([]export.Export, error) {
	return r.out.List(ctx, r.client, id)
}

// OpenExport opens a file of an export of a job; see [export.Exporter.Open].
func (r *Runner) OpenExport(ctx context.Context, j *store.Job, name string) (*export.File, error) {
	return r.out.Open(ctx, j, name)
}

// ExportOf returns a requested export; see [export.Exporter.Get].
func (r *Runner) ExportOf(ctx context.Context, id int64) (export.Export, error) {
	return r.out.Get(ctx, r.client, id)
}

// migrate creates the tables of River, one process at a time.
func migrate(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lockOfRiver); err != nil {
		return err
	}
	defer func() {
		_, free := conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", lockOfRiver)
		err = errors.Join(err, free)
	}()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}
