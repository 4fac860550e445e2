package headway

import (
	"context"
	"log/slog"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/store"
	"headway/weburl"
)

// base is what the parts of an engine share. The loop's parts have it; what runs in the
// background is given what it needs.
type base struct {
	st  store.Store
	key weburl.Key
	log *slog.Logger

	loop    *loop.Loop
	commits *committer.Committer
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
}

func newBase(cfg Worker) *base {
	return &base{
		st: cfg.Store, key: cfg.Store.Key(), log: cfg.Log, meter: gauge.NewMeter(cfg.Gauge), seen: frontier.NewSeen(cfg.SeenBytes), sites: map[string]*site{},
		slots: ownership.NewSlots(), domains: ownership.NewDomains(), shutdown: &shutdown{},
	}
}

// owns tells whether a slot is ours to work on.
func (b *base) owns(s store.Slot) bool { return b.slots.Owns(s) }

// pend adds something to the next commit.
func (b *base) pend(e committer.Entry) { b.commits.Add(e) }
