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

// solo is a crawler that works on one job, and shares its store with nobody.
type solo struct {
	*base
	queues *queues
	r      *run
}

// again implements [mode]. Another process, which may be stopped, may have the file
// locked.
func (s *solo) again(err error) bool { return errors.Is(err, store.ErrInUse) }

// listener implements [mode]. Nobody has news.
func (s *solo) listener() func(context.Context) { return func(context.Context) {} }

// tend implements [mode].
func (s *solo) tend(context.Context, time.Time) {}

// look implements [mode].
func (s *solo) look(work context.Context, now time.Time) { s.r.look(work, now) }

// permits implements [mode]: so many that the limits of the job are kept.
func (s *solo) permits(n int, short visit.Wait) (int, visit.Wait) {
	busy, dragging := s.pool.Busy(), s.pool.Dragging()
	if s.r.sifting {
		return max(1-busy-dragging, 0), visit.WaitBudget
	}
	if l := s.r.cfg.Limits.Of(limit.Requests); l.Limited() {
		if left := max(l.Max-s.r.budget.Spent().Requests-int64(busy+dragging), 0); int64(n) > left {
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

// drain implements [mode]. What is in flight has its time.
func (s *solo) drain(time.Time) {}

// finished implements [mode]: it is when nothing waits.
func (s *solo) finished(ctx context.Context) bool {
	if s.halted {
		return s.r.concluded(ctx)
	}
	if !s.f.Idle() || s.queues.refilling || s.domains.Busy() || s.queues.tokens > 0 {
		return false
	}
	idle, err := store.Complete(ctx, s.r.ID, s.st)
	if err != nil {
		s.loop.FailUnless(ctx, fmt.Errorf("ask whether anything waits: %w", err))
		return false
	}
	if !idle {
		s.queues.warm(ctx)
		return false
	}
	return s.r.complete(ctx)
}
