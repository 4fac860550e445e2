package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"headway/store"
)

// ErrExpired stops a request whose host may belong to another process by now.
var ErrExpired = errors.New("the lease was not renewed in time")

// Epoch is the time between the start or resumption of a process and the moment it notices
// that it was suspended for longer than its lease: by SIGSTOP, a sleeping machine or a
// hanging disk. Requests handed out in one epoch are not sent in the next: their host may
// belong to another process by then.
type Epoch struct {
	ctx context.Context // of the requests in flight
	end context.CancelCauseFunc
}

// Over reports whether the epoch has ended.
func (e *Epoch) Over() bool { return e.ctx.Err() != nil }

// LeaseConfig says how a lease is renewed and what its end means.
type LeaseConfig struct {
	Terms store.Terms
	// Resumes says that a process whose lease expired resumes in a new epoch once it is
	// renewed. A worker of a fleet ends instead: others have its slots.
	Resumes bool
	// Renew renews the lease in the store and lists the domains that others have taken.
	Renew func(ctx context.Context) (lost []string, err error)
	// Sever closes all connections, so that nothing more is sent on them; nil for none.
	Sever func()
	// Lost lets the loop drop the lost domains when a new epoch begins, then calls then.
	// Silent is the time since the last renewal.
	Lost func(silent time.Duration, lost []string, then func())
	// End ends all work, Fail reports the reason to the loop.
	End  func(cause error)
	Fail func(err error)
	// OnAttempt is called after each renewal; nil for none.
	OnAttempt func(ctx context.Context, err error)
}

// Lease is the right of a process to send requests, as long as it is renewed. Its methods
// may be called from any goroutine.
type Lease struct {
	cfg    LeaseConfig
	work   context.Context
	tenure atomic.Pointer[store.Tenure]
	epoch  atomic.Pointer[Epoch]
}

// NewLease returns a lease that was renewed at sent.
func NewLease(cfg LeaseConfig, sent time.Time) *Lease {
	l := &Lease{cfg: cfg}
	l.renewed(sent)
	return l
}

func (l *Lease) renewed(sent time.Time) {
	tenure := store.NewTenure(l.cfg.Terms, sent)
	l.tenure.Store(&tenure)
}

// Begin starts the first epoch, which ends with work at the latest.
func (l *Lease) Begin(work context.Context) {
	l.work = work
	l.newEpoch()
}

func (l *Lease) newEpoch() {
	s := &Epoch{}
	s.ctx, s.end = context.WithCancelCause(l.work)
	l.epoch.Store(s)
}

// Tenure returns the current state of the lease.
func (l *Lease) Tenure() store.Tenure { return *l.tenure.Load() }

// MayStart reports whether a request may start.
func (l *Lease) MayStart(now time.Time) bool { return l.tenure.Load().MayStart(now) }

// Expired reports whether requests in flight must end.
func (l *Lease) Expired(now time.Time) bool { return l.tenure.Load().MustCancel(now) }

// Epoch returns the current epoch.
func (l *Lease) Epoch() *Epoch { return l.epoch.Load() }

// ForRequest returns the grant for a request that is handed out now.
func (l *Lease) ForRequest() Grant {
	if !l.cfg.Resumes {
		return Grant{lease: l}
	}
	return Grant{l, l.Epoch()}
}

// overdue cancels the requests in flight when the lease was not renewed in time, before
// others may take our hosts over. The epoch is read first: one that began meanwhile has a
// new tenure.
func (l *Lease) overdue() {
	if !l.cfg.Resumes {
		l.cfg.End(ErrExpired)
		return
	}
	if s := l.Epoch(); l.Expired(time.Now()) {
		s.end(ErrExpired)
	}
}

// endEpoch cancels the requests of the epoch and closes all connections.
func (l *Lease) endEpoch() {
	l.Epoch().end(ErrExpired)
	if l.cfg.Sever != nil {
		l.cfg.Sever()
	}
}

// resume starts the next epoch, with a lease renewed at sent, once the loop knows what was
// lost.
func (l *Lease) resume(ctx context.Context, sent time.Time, silent time.Duration, lost []string) {
	done := make(chan struct{})
	l.cfg.Lost(silent, lost, func() {
		defer close(done)
		l.renewed(sent)
		l.newEpoch() // after the tenure: see overdue
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Keep renews the lease until ctx ends, and cancels requests in flight when renewals fail
// for too long.
func (l *Lease) Keep(ctx context.Context) {
	tick := time.NewTicker(l.cfg.Terms.Renew)
	defer tick.Stop()
	// A hanging renewal must not keep requests in flight: they end before others may take
	// our hosts over.
	r := renewal{l: l, late: time.AfterFunc(l.tenure.Load().CancelIn(time.Now()), l.overdue)}
	defer r.late.Stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrExpired) {
				l.cfg.Fail(fmt.Errorf("renew the lease: %w", ErrExpired))
			}
			return
		case <-tick.C:
		}
		if r.attempt(ctx) {
			return
		}
	}
}

// renewal tracks the renewals of a lease.
type renewal struct {
	l       *Lease
	late    *time.Timer
	failing time.Time // since when all renewals fail
	failed  int       // how many of them
}

// attempt renews once, and reports whether the lease is lost.
func (r *renewal) attempt(ctx context.Context) (over bool) {
	l, sent := r.l, time.Now()
	silent := l.tenure.Load().Age(sent)
	gap := l.cfg.Resumes && l.Expired(sent)
	if gap {
		l.endEpoch()
	}
	// A store that does not respond for a whole lease counts as failed; if the lease resumes,
	// the second time.
	asking, cancel := context.WithTimeout(ctx, l.cfg.Terms.TakeOver)
	lost, err := l.cfg.Renew(asking)
	cancel()
	if l.cfg.OnAttempt != nil {
		l.cfg.OnAttempt(ctx, err)
	}
	if err == nil {
		r.failing, r.failed = time.Time{}, 0
		if len(lost) > 0 && !gap {
			l.endEpoch()
		}
		if gap || len(lost) > 0 {
			l.resume(ctx, sent, silent, lost)
		} else {
			l.renewed(sent)
		}
		r.late.Reset(l.tenure.Load().CancelIn(time.Now()))
		return false
	}
	if r.failing.IsZero() {
		r.failing = sent
	}
	r.failed++
	switch {
	case errors.Is(err, store.ErrFenced):
		l.cfg.End(err)
	// One renewal may have failed because the process was suspended in it.
	case l.cfg.Resumes && (errors.Is(err, store.ErrInUse) || r.failed == 1 || time.Since(r.failing) < l.cfg.Terms.TakeOver), !l.Expired(time.Now()):
		return false
	default:
		l.cfg.End(ErrExpired)
	}
	l.cfg.Fail(fmt.Errorf("renew the lease: %w", err))
	return true
}
