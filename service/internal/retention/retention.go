// Package retention forgets what nobody is to keep any longer: results of jobs, as
// the plans of their tenants say, and events that are old.
//
// It runs as a job of River once an hour, in one process at a time, and goes in
// small steps: a job is dropped in a transaction of its own, a large one with its
// tables, so that nothing else waits for it. Being killed costs nothing: what is
// left is found again.
package retention

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"headway/job"
	"headway/store"
)

// Queue is the queue of River in which the work waits.
const Queue = "retention"

// Bounds of retention.
const (
	Every    = time.Hour
	atOnce   = 100              // jobs read at a time
	runTime  = 50 * time.Minute // after which the next run goes on
	attempts = 3
)

// Store is what retention needs of a store.
type Store interface {
	store.Retention
	// Drop forgets a job that has ended, and all that belongs to it.
	Drop(ctx context.Context, id job.ID) error
}

// Keeper forgets. Make one with [New].
type Keeper struct {
	river.WorkerDefaults[run]
	store Store
	log   *slog.Logger
}

// New returns a keeper.
func New(s Store, log *slog.Logger) *Keeper {
	return &Keeper{store: s, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
}

// run is one look at everything: the arguments of a job of River.
type run struct{}

// Kind implements [river.JobArgs].
func (run) Kind() string { return "retention" }

// Register adds the work, which waits in [Queue].
func (k *Keeper) Register(workers *river.Workers) { river.AddWorker(workers, k) }

// unfinished are the states of a run that makes another one useless.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

// Periodic is when to run: soon after somebody begins to lead, and then by the
// hour. One that waits or runs is enough.
func (*Keeper) Periodic() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(Every), func() (river.JobArgs, *river.InsertOpts) {
		return run{}, &river.InsertOpts{Queue: Queue, MaxAttempts: attempts, UniqueOpts: river.UniqueOpts{ByState: unfinished}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// Timeout implements [river.Worker].
func (*Keeper) Timeout(*river.Job[run]) time.Duration { return runTime }

// Work implements [river.Worker].
func (k *Keeper) Work(ctx context.Context, _ *river.Job[run]) error {
	err := k.forget(ctx, time.Now())
	if errors.Is(ctx.Err(), context.Canceled) {
		return river.JobSnooze(0) // we are stopping
	}
	return err
}

// forget forgets all that is due. A job that cannot be dropped does not keep the
// others.
func (k *Keeper) forget(ctx context.Context, now time.Time) error {
	for {
		list, err := k.store.Expired(ctx, now, atOnce)
		if err != nil {
			return err
		}
		dropped := 0
		for _, id := range list {
			switch e := k.store.Drop(ctx, id); {
			case e == nil:
				dropped++
			case errors.Is(e, store.ErrNotFound), errors.Is(e, store.ErrConflict): // somebody was faster, or it runs again
			default:
				err = errors.Join(err, e)
			}
		}
		if dropped > 0 {
			k.log.InfoContext(ctx, "results forgotten", "jobs", dropped)
		}
		if err != nil {
			return err
		}
		if len(list) < atOnce || dropped == 0 {
			break
		}
	}
	for {
		if n, err := k.store.ForgetEvents(ctx, now); err != nil || n == 0 {
			return err
		}
	}
}
