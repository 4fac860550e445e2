package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"headway/store"
)

// ErrExpired stops a request whose lease may be somebody else's by now.
var ErrExpired = errors.New("the lease was not renewed in time")

// Epoch is the time from when a process began, or went on, to when it finds that it was
// stopped for longer than its lease: by SIGSTOP, by a machine that slept, by a disk that
// hung. What was handed out in one epoch is not sent in the next: by then its host may be
// another process's.
type Epoch struct {
	ctx context.Context // of what is in flight
	end context.CancelCauseFunc
}

// Over tells whether the epoch has ended.
func (e *Epoch) Over() bool { return e.ctx.Err() != nil }

// LeaseConfig is how a lease is renewed, and what its end means.
type LeaseConfig struct {
	Terms store.Terms
	// Resumes says that a process whose lease ran out goes on in a new epoch once it is
	// renewed. A worker of a fleet ends instead: others have its slots.
	Resumes bool
	// Renew renews the lease in the store and lists the domains that others have taken.
	Renew func(ctx context.Context) (lost []string, err error)
	// Sever closes all connections, so that nothing can leave on them; nil for none.
	Sever func()
	// Lost has the loop give up what was lost when a new epoch begins, and run then
	// after it. Silent is how long nothing was renewed.
	Lost func(silent time.Duration, lost []string, then func())
	// End ends all work, Fail tells the loop why.
	End  func(cause error)
	Fail func(err error)
	// Asked is told how the store answered; nil for nobody.
	Asked func(ctx context.Context, err error)
}

// Lease is the right of a process to send requests, as long as it is renewed. Its methods
// may be called from any goroutine.
type Lease struct {
	cfg    LeaseConfig
	work   context.Context
	tenure atomic.Pointer[store.Tenure]
	epoch  atomic.Pointer[Epoch]
}

// NewLease returns a lease that was renewed at a time.
func NewLease(cfg LeaseConfig, sent time.Time) *Lease {
	l := &Lease{cfg: cfg}
	l.renewed(sent)
	return l
}

func (l *Lease) renewed(sent time.Time) {
	tenure := store.NewTenure(l.cfg.Terms, sent)
	l.tenure.Store(&tenure)
}

// Begin begins the first epoch, which ends with work at the latest.
func (l *Lease) Begin(work context.Context) {
	l.work = work
	l.newEpoch()
}

func (l *Lease) newEpoch() {
	s := &Epoch{}
	s.ctx, s.end = context.WithCancelCause(l.work)
	l.epoch.Store(s)
}

// Tenure is how the lease stands.
func (l *Lease) Tenure() store.Tenure { return *l.tenure.Load() }

// MayStart tells whether a request may start.
func (l *Lease) MayStart(now time.Time) bool { return l.tenure.Load().MayStart(now) }

// Expired tells whether what is in flight must end.
func (l *Lease) Expired(now time.Time) bool { return l.tenure.Load().MustCancel(now) }

// Epoch is the one that runs.
func (l *Lease) Epoch() *Epoch { return l.epoch.Load() }

// ForRequest is the lease as a request has it that is handed out now.
func (l *Lease) ForRequest() Grant {
	if !l.cfg.Resumes {
		return Grant{lease: l}
	}
	return Grant{l, l.Epoch()}
}

// overdue ends what is in flight when the lease was not renewed in time: by the time
// somebody may take our hosts over there is nothing. The epoch is looked at first: one
// that began meanwhile has a new tenure.
func (l *Lease) overdue() {
	if !l.cfg.Resumes {
		l.cfg.End(ErrExpired)
		return
	}
	if s := l.Epoch(); l.Expired(time.Now()) {
		s.end(ErrExpired)
	}
}

// lapse ends the epoch: nothing of it is in flight any more, and no connection is left on
// which anything could leave.
func (l *Lease) lapse() {
	l.Epoch().end(ErrExpired)
	if l.cfg.Sever != nil {
		l.cfg.Sever()
	}
}

// goOn begins the next epoch, with a lease that was renewed at sent, once the loop knows
// what was lost.
func (l *Lease) goOn(ctx context.Context, sent time.Time, silent time.Duration, lost []string) {
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

// Keep renews the lease until ctx ends, and ends what is in flight when that fails for
// too long.
func (l *Lease) Keep(ctx context.Context) {
	tick := time.NewTicker(l.cfg.Terms.Renew)
	defer tick.Stop()
	// A renewal that hangs does not keep requests in flight: by the time somebody may
	// take our hosts over there are none.
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

// renewal is how the renewals of a lease go.
type renewal struct {
	l       *Lease
	late    *time.Timer
	failing time.Time // since when all have failed
}

// attempt renews once, and tells whether that is the end.
func (r *renewal) attempt(ctx context.Context) (over bool) {
	l, sent := r.l, time.Now()
	silent := l.tenure.Load().Age(sent)
	gap := l.cfg.Resumes && l.Expired(sent)
	if gap {
		l.lapse()
	}
	// A store that says nothing for a whole lease is one that did not answer.
	asking, cancel := context.WithTimeout(ctx, l.cfg.Terms.TakeOver)
	lost, err := l.cfg.Renew(asking)
	cancel()
	if l.cfg.Asked != nil {
		l.cfg.Asked(ctx, err)
	}
	if err == nil {
		r.failing = time.Time{}
		if len(lost) > 0 && !gap {
			l.lapse()
		}
		if gap || len(lost) > 0 {
			l.goOn(ctx, sent, silent, lost)
		} else {
			l.renewed(sent)
		}
		r.late.Reset(l.tenure.Load().CancelIn(time.Now()))
		return false
	}
	if r.failing.IsZero() {
		r.failing = sent
	}
	switch {
	case errors.Is(err, store.ErrFenced):
		l.cfg.End(err)
	case l.cfg.Resumes && (errors.Is(err, store.ErrInUse) || time.Since(r.failing) < l.cfg.Terms.TakeOver), !l.Expired(time.Now()):
		return false
	default:
		l.cfg.End(ErrExpired)
	}
	l.cfg.Fail(fmt.Errorf("renew the lease: %w", err))
	return true
}
