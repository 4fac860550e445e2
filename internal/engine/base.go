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

// base is what the parts of an engine share. The loop's parts have it; what runs in the
// background is given what it needs.
type base struct {
	cfg    Worker
	alone  bool // nobody shares the store
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

// shutdown is whether and how the work ends.
type shutdown struct {
	halted   bool            // nothing more is sent, for nobody
	haltAt   time.Time       // when what is in flight is ended too; zero: it has its time
	life     context.Context // ends when we are told to end at once
	shift    context.Context // of all that is under way; ends with life, or before
	stopWork context.CancelCauseFunc
	hurried  bool // what is not stored in time is done again by others
}

// begin says until when there is work: life ends when we are told to end at once.
func (s *shutdown) begin(life context.Context) (work context.Context) {
	s.life = life
	s.shift, s.stopWork = context.WithCancelCause(life)
	return s.shift
}

// afterlife is a context for what is to be stored when all else has ended, too. One
// alone takes the time it needs. A worker of a fleet goes without: what it does not
// store is done again, and what it does not give back is taken from it. Whoever may
// have been replaced gives up at once: it would be refused.
func (s *shutdown) afterlife() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.shift))
	in := func(d time.Duration) func() {
		return func() {
			switch {
			case errors.Is(context.Cause(s.shift), ownership.ErrExpired):
				cancel()
			case s.hurried:
				time.AfterFunc(d, cancel)
			}
		}
	}
	ended, told := context.AfterFunc(s.shift, in(lastFor)), context.AfterFunc(s.life, in(endWithin))
	return ctx, func() {
		ended()
		told()
		cancel()
	}
}

func newBase(cfg Worker, alone bool) *base {
	return &base{
		cfg: cfg, alone: alone, st: cfg.Store, key: cfg.Store.Key(), log: cfg.Log, meter: gauge.NewMeter(cfg.Gauge), seen: frontier.NewSeen(cfg.SeenBytes), sites: map[string]*site{},
		slots: ownership.NewSlots(), domains: ownership.NewDomains(), shutdown: &shutdown{hurried: !alone},
	}
}

// owns tells whether a slot is ours to work on.
func (b *base) owns(s store.Slot) bool { return b.slots.Owns(s) }

// pend adds something to the next commit.
func (b *base) pend(e committer.Entry) { b.commits.Add(e) }
