package schedule

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"headway/answer"
	"headway/store"
)

// Queue is the queue of River in which comparisons wait.
const Queue = "schedule"

// Bounds of schedules.
const (
	MaxComparing = 2               // concurrent in one process
	compareTime  = time.Hour       // of one comparison
	compareTries = 3               // after which the interval stays as it is
	lookEvery    = 2 * time.Second // interval of looking for due schedules
	retryAfter   = 5 * time.Second
	atOnce       = 100 // schedules read at a time
)

// Store is what a runner needs of a store.
type Store interface {
	store.Schedules
	store.Reader
}

// Runner creates the jobs of schedules. Make one with [New].
type Runner struct {
	store Store
	log   *slog.Logger
}

// New returns a runner.
func New(s Store, log *slog.Logger) *Runner {
	return &Runner{store: s, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
}

// Register adds the work of comparisons, which wait in [Queue].
func (r *Runner) Register(workers *river.Workers) { river.AddWorker(workers, &worker{Runner: r}) }

// Run creates the jobs of due schedules until ctx ends. Any number of processes can run it.
func (r *Runner) Run(ctx context.Context, client *river.Client[pgx.Tx]) error {
	for {
		wait := lookEvery
		err := r.look(ctx, client, time.Now())
		if ctx.Err() == nil && err != nil {
			r.log.WarnContext(ctx, "cannot read due schedules", "err", err)
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// look creates the jobs of due schedules, and queues comparisons of finished runs.
func (r *Runner) look(ctx context.Context, client *river.Client[pgx.Tx], now time.Time) error {
	due, err := r.store.DueSchedules(ctx, now, atOnce)
	if err != nil {
		return err
	}
	for i := range due {
		if err := r.run(ctx, &due[i], now); err != nil {
			return err
		}
	}
	fresh, err := r.store.FreshSchedules(ctx, atOnce)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var jobs []river.InsertManyParams
	for i := range fresh {
		jobs = append(jobs, river.InsertManyParams{Args: comparison{Schedule: fresh[i].ID, Turn: fresh[i].Turn}, InsertOpts: &river.InsertOpts{
			Queue: Queue, MaxAttempts: compareTries, UniqueOpts: river.UniqueOpts{ByArgs: true},
		}})
	}
	_, err = client.InsertMany(ctx, jobs)
	return err
}

// run creates the job of one schedule. A schedule that can never be due again is
// paused and needs attention.
func (r *Runner) run(ctx context.Context, s *store.Schedule, now time.Time) error {
	next, err := Next(s, now)
	if err != nil {
		r.log.WarnContext(ctx, "schedule paused, it will never be due again", "schedule", s.ID, "err", err)
		return r.store.PauseSchedule(ctx, now, s.ID)
	}
	id, err := r.store.RunSchedule(ctx, now, *s, next)
	if err != nil {
		return err
	}
	if id != 0 {
		r.log.InfoContext(ctx, "scheduled job created", "schedule", s.ID, "job", id, "late", now.Sub(s.DueAt))
	}
	return nil
}

// comparison is the last two runs of a schedule to be compared: the arguments of a
// River job. The turn makes it unique.
type comparison struct {
	Schedule string `json:"schedule"`
	Turn     int64  `json:"turn"`
}

// Kind implements [river.JobArgs].
func (comparison) Kind() string { return "schedule_compare" }

// worker makes comparisons.
type worker struct {
	river.WorkerDefaults[comparison]
	*Runner
}

// Timeout implements [river.Worker].
func (*worker) Timeout(*river.Job[comparison]) time.Duration { return compareTime }

// Work implements [river.Worker].
func (w *worker) Work(ctx context.Context, j *river.Job[comparison]) error {
	s, err := w.store.Schedule(ctx, j.Args.Schedule)
	if errors.Is(err, store.ErrNotFound) || err == nil && s.Turn != j.Args.Turn {
		return nil // no longer needed
	}
	if err != nil {
		return err
	}
	share, every, err := w.measure(ctx, &s)
	if err != nil && ctx.Err() == nil && j.Attempt < j.MaxAttempts && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return river.JobSnooze(0) // we are stopping
	}
	if err != nil {
		w.log.WarnContext(ctx, "cannot compare runs", "schedule", s.ID, "err", err)
	}
	return w.store.MeasureSchedule(context.WithoutCancel(ctx), s, share, every)
}

// measure compares the last two runs. If they cannot be compared, the interval
// stays unchanged.
func (w *worker) measure(ctx context.Context, s *store.Schedule) (share float64, every time.Duration, err error) {
	c, err := answer.Compare(ctx, answer.Side{Reader: w.store, Job: s.Before}, answer.Side{Reader: w.store, Job: s.Last}, 0, nil)
	if err != nil {
		return s.Share, s.Every, err
	}
	share, known := shareOf(c)
	if !known || !c.Before.State.Success() || !c.After.State.Success() {
		return s.Share, s.Every, nil
	}
	return share, adapt(s, share), nil
}
