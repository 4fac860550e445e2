package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/gauge"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// solo is the mode of a crawl on one machine: one job, and a store of its own.
type solo struct {
	*base
	queues *queues
	r      *run
}

// retryable implements [mode]. Another process, perhaps a suspended one, may hold the file
// lock.
func (s *solo) retryable(err error) bool { return errors.Is(err, store.ErrInUse) }

// listener implements [mode]. There are no notifications.
func (s *solo) listener() func(context.Context) { return func(context.Context) {} }

// runFleetDuties implements [mode].
func (s *solo) runFleetDuties(context.Context, time.Time) {}

// tick implements [mode].
func (s *solo) tick(work context.Context, now time.Time) { s.r.tick(work, now) }

// permits implements [mode]: it enforces the job's limits.
func (s *solo) permits(n int, short visit.Wait) (int, visit.Wait) {
	busy, stalled := s.pool.Busy(), s.pool.Stalled()
	if s.r.probing {
		return max(1-busy-stalled, 0), visit.WaitBudget
	}
	if l := s.r.cfg.Limits.Of(limit.Requests); l.Limited() {
		if left := max(l.Max-s.r.budget.Spent().Requests-int64(busy+stalled), 0); int64(n) > left {
			return int(left), visit.WaitBudget
		}
	}
	if left, ok := s.r.bytesLeft(busy); ok && n > left {
		return left, visit.WaitBudget
	}
	return n, short
}

// publish implements [mode].
func (s *solo) publish(now time.Time, layers func(now time.Time) []gauge.Layer) {
	s.r.publish(now, layers(now))
}

// drain implements [mode]. Requests in flight may finish.
func (s *solo) drain(time.Time) {}

// finished implements [mode]: the crawl is over when no URL waits.
func (s *solo) finished(ctx context.Context) bool {
	if s.halted {
		return s.r.concluded(ctx)
	}
	if !s.f.Idle() || s.queues.refilling || s.domains.Busy() || s.queues.tokens > 0 {
		return false
	}
	idle, err := store.Complete(ctx, s.r.ID, s.st)
	if err != nil {
		s.loop.FailUnless(ctx, fmt.Errorf("check for waiting URLs: %w", err))
		return false
	}
	if !idle {
		s.queues.warm(ctx)
		return false
	}
	return s.r.complete(ctx)
}
