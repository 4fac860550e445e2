// Package retention deletes expired data: results of jobs, as
// set by the plans of their tenants, old events, and objects of the archive that belong
// to no job: those of deleted jobs, and those that a worker wrote before it died.
//
// It runs as a River job once an hour, in one process at a time, in
// small steps: each job is deleted in its own transaction, a large one together with its
// tables, so that nothing else waits for it. After a kill, the next run
// continues.
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
	runTime  = 50 * time.Minute // after which the next run continues
	attempts = 3
)

// Store is what retention needs of a store.
type Store interface {
	store.Retention
	store.Segments
	// Drop deletes a job that has ended, and all its data.
	Drop(ctx context.Context, id job.ID) error
}

// Keeper deletes expired data. Make one with [New].
type Keeper struct {
	river.WorkerDefaults[run]
	store   Store
	archive Archive
	log     *slog.Logger
}

// Archive is the archive of the workers.
type Archive interface {
	// Sweep deletes what was written before a time and is not known, and returns how many
	// objects that were. It asks for up to batch keys at a time.
	Sweep(ctx context.Context, before time.Time, batch int, known func(ctx context.Context, keys []string) (map[string]bool, error)) (int, error)
}

// New returns a keeper. The archive may be nil.
func New(s Store, a Archive, log *slog.Logger) *Keeper {
	return &Keeper{store: s, archive: a, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
}

// run is one pass over everything: the arguments of a River job.
type run struct{}

// Kind implements [river.JobArgs].
func (run) Kind() string { return "retention" }

// Register adds the work, which waits in [Queue].
func (k *Keeper) Register(workers *river.Workers) { river.AddWorker(workers, k) }

// unfinished are the states of a run that makes another one useless.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

// Periodic is when to run: soon after a leader is elected, and then every
// hour. There is at most one run queued or in progress.
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
		return river.JobSnooze(0) // the server is stopping
	}
	return err
}

// forget deletes all expired data. A job that cannot be deleted does not block the
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
			case errors.Is(e, store.ErrNotFound), errors.Is(e, store.ErrConflict): // another process was faster, or it runs again
			default:
				err = errors.Join(err, e)
			}
		}
		if dropped > 0 {
			k.log.InfoContext(ctx, "expired results deleted", "jobs", dropped)
		}
		if err != nil {
			return err
		}
		if len(list) < atOnce || dropped == 0 {
			break
		}
	}
	for {
		n, err := k.store.ForgetEvents(ctx, now)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return k.sweep(ctx, now)
}

// sweep deletes what is in the archive and belongs to no job.
func (k *Keeper) sweep(ctx context.Context, now time.Time) error {
	if k.archive == nil {
		return nil
	}
	n, err := k.archive.Sweep(ctx, now.Add(-store.SegmentGrace), store.MaxSegments, k.store.KnownSegments)
	if n > 0 {
		k.log.InfoContext(ctx, "unreferenced segments of the archive deleted", "segments", n)
	}
	return err
}
