package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/internal/cli/command"
)

// Numbers of the clocks of a fleet.
const (
	// maxClockOffset is how far the clock of a process may be from that of the database. Time
	// limits and Retry-After can be wrong by it.
	maxClockOffset = time.Second
	clockEvery     = 10 * time.Minute // how often a worker compares them
)

// clock is the clock of a database.
type clock interface {
	ClockOffset(ctx context.Context, now func() time.Time) (offset, within time.Duration, err error)
}

// clockError is a clock that is too far from that of the database.
type clockError struct{ offset time.Duration }

func (e *clockError) Error() string {
	side := "behind"
	if e.offset < 0 {
		side = "ahead of"
	}
	return fmt.Sprintf("the clock of this machine is %s %s that of the database", e.offset.Abs().Round(100*time.Millisecond), side)
}

// compareClocks returns a [clockError] if the clocks differ by more than they may, whatever
// part of it the response took.
func compareClocks(ctx context.Context, db clock, now func() time.Time) error {
	offset, within, err := db.ClockOffset(ctx, now)
	if err == nil && offset.Abs() > maxClockOffset+within {
		err = &clockError{offset}
	}
	return err
}

// checkClock refuses a clock that is too far from that of the database: the processes of a
// fleet compare times that others have stored.
func checkClock(ctx context.Context, db clock, now func() time.Time) error {
	err := compareClocks(ctx, db, now)
	if _, ok := errors.AsType[*clockError](err); ok {
		return command.Usage(err, fmt.Sprintf("synchronise the clocks of both machines (NTP); they may differ by %s", maxClockOffset))
	}
	if err != nil {
		return command.Failed(err, "")
	}
	return nil
}

// watchClock stops the work when the clock of this machine was changed.
func watchClock(ctx context.Context, db clock, now func() time.Time, stop func(error)) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A lost connection is reported by others.
		if changed, ok := errors.AsType[*clockError](compareClocks(ctx, db, now)); ok {
			stop(changed)
			return
		}
	}
}
