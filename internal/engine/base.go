package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/control"
	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/store"
	"headway/weburl"
)

// base is what all parts of the engine share. Parts that run on the loop embed it;
// background work is given only the values it needs.
type base struct {
	cfg    Worker
	solo   bool // no other worker shares the store
	worker store.WorkerID
	st     store.Store
	read   *reader
	key    weburl.Key
	log    *slog.Logger

	loop    *loop.Loop
	commits *committer.Committer
	pool    *fetchpool.Pool
	control *control.Control
	meter   *gauge.Meter

	f     *frontier.Frontier
	seen  *frontier.Seen
	sites map[string]*site // by host

	slots   *ownership.Slots
	domains *ownership.Domains
	lease   *ownership.Lease

	*shutdown
}

// shutdown says whether and how the work ends.
type shutdown struct {
	halted   bool            // no further requests for any job
	haltAt   time.Time       // when requests in flight are cancelled; zero: they may finish
	ctx      context.Context // the caller's; its end means stop at once
	workCtx  context.Context // of all work; ends with ctx or earlier
	stopWork context.CancelCauseFunc
	hurried  bool // limit the time for final writes: other workers redo what is not stored
}

// begin sets the contexts of the work. When ctx ends the crawl stops at once.
func (s *shutdown) begin(ctx context.Context) (work context.Context) {
	s.ctx = ctx
	s.workCtx, s.stopWork = context.WithCancelCause(ctx)
	return s.workCtx
}

// shutdownContext returns a context for final writes, which outlives the work. A crawl on
// one machine takes the time it needs. A worker of a fleet gets a short time: others redo
// what it does not store, and its slots free when the lease expires. After an expired lease
// it ends at once, because the store would reject the write.
func (s *shutdown) shutdownContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.workCtx))
	in := func(d time.Duration) func() {
		return func() {
			switch {
			case errors.Is(context.Cause(s.workCtx), ownership.ErrExpired):
				cancel()
			case s.hurried:
				time.AfterFunc(d, cancel)
			}
		}
	}
	stopOnEnd, stopOnCancel := context.AfterFunc(s.workCtx, in(lastFor)), context.AfterFunc(s.ctx, in(endWithin))
	return ctx, func() {
		stopOnEnd()
		stopOnCancel()
		cancel()
	}
}

func newBase(cfg Worker, solo bool) *base {
	return &base{
		cfg: cfg, solo: solo, st: cfg.Store, key: cfg.Store.Key(), log: cfg.Log, meter: gauge.NewMeter(cfg.Gauge), seen: frontier.NewSeen(cfg.SeenBytes), sites: map[string]*site{},
		slots: ownership.NewSlots(), domains: ownership.NewDomains(), shutdown: &shutdown{hurried: !solo},
	}
}

// owns reports whether a slot is ours and not being released.
func (b *base) owns(s store.Slot) bool { return b.slots.Owns(s) }

// enqueue adds an entry to the next commit.
func (b *base) enqueue(e committer.Entry) { b.commits.Add(e) }
