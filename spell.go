package headway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/internal/exchange"
	"headway/store"
)

// spell is the time from when a crawl on one machine began, or went on, to when it
// finds that it was stopped for longer than its lease: by SIGSTOP, by a machine that
// slept, by a disk that hung. What was handed out in one spell is not sent in the
// next: by then its host may be another process's.
type spell struct {
	ctx context.Context // of what is in flight
	end context.CancelCauseFunc
}

// newSpell begins a spell.
func (c *crawler) newSpell() {
	s := &spell{}
	s.ctx, s.end = context.WithCancelCause(c.shift)
	c.spell.Store(s)
}

// asking is the context of a request: it ends with the spell in which that was
// handed out, or with ctx in a fleet.
func (t *task) asking(ctx context.Context) context.Context {
	if t.spell == nil {
		return ctx
	}
	return t.spell.ctx
}

// overdue ends what is in flight when the lease was not renewed in time: by the time
// somebody may take our hosts over there is nothing. One alone goes on when it is
// renewed. The spell is looked at first: one that began meanwhile has a new tenure.
func (c *crawler) overdue() {
	if c.alone == nil {
		c.stopWork(errNotOurs)
		return
	}
	if s := c.spell.Load(); c.tenure.Load().MustCancel(time.Now()) {
		s.end(errNotOurs)
	}
}

// lapse ends the spell: nothing of it is in flight any more, and no connection is
// left on which anything could leave.
func (c *crawler) lapse() {
	c.spell.Load().end(errNotOurs)
	if f, ok := c.cfg.Fetcher.(interface{ Sever() }); ok {
		f.Sever()
	}
}

// keep shows other processes that this one runs, and tells what was taken from it.
func (c *crawler) keep(ctx context.Context) (lost []string, err error) {
	if shared, ok := c.st.(store.Domains); ok {
		lost, err = shared.Keep(ctx)
	}
	return lost, err
}

// goOn begins the next spell, with a lease that was renewed at sent, once the schedule
// knows what was lost.
func (c *crawler) goOn(ctx context.Context, sent time.Time, silent time.Duration, lost []string) {
	done := make(chan struct{})
	c.loop.Post(func(now time.Time) {
		defer close(done)
		c.cfg.Log.Warn("this process was stopped and goes on with new connections", "for", silent.Round(time.Second).String(), "domains_taken_by_others", len(lost))
		for _, d := range lost {
			c.lose(now, d)
		}
		tenure := store.NewTenure(c.cfg.Terms, sent)
		c.tenure.Store(&tenure)
		c.newSpell() // after the tenure: see overdue
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// lose gives a domain up that another process has taken, as if it had asked.
func (c *crawler) lose(now time.Time, domain string) {
	if _, given := c.loader.yields[domain]; !given {
		c.loader.yields[domain] = false
		c.f.Yield(now, domain)
	}
}

// own is our own trouble behind the error of a request, if it is that. What fails
// while the process is stopped says nothing about a host: its timeouts are ours. The
// tenure is looked at first: where it was renewed since, the spell has ended.
func (c *crawler) own(ctx context.Context, t *task, err error) error {
	if err != nil && t.spell != nil && c.tenure.Load().MustCancel(time.Now()) {
		return errNotOurs
	}
	return exchange.OwnTrouble(t.asking(ctx), err)
}

// stopped tells whether the process was stopped since a request was handed out: how
// long its answer took is not known.
func (c *crawler) stopped(t *task) bool {
	return t.spell != nil && (c.tenure.Load().MustCancel(time.Now()) || t.spell.ctx.Err() != nil)
}

// fence is asked before bytes leave on a connection that requests share.
func (c *crawler) fence() error {
	if c.tenure.Load().MustCancel(time.Now()) {
		return errNotOurs
	}
	return nil
}

// renewal is how the renewals of a lease go.
type renewal struct {
	c       *crawler
	late    *time.Timer
	failing time.Time // since when all have failed
}

// attempt renews once, and tells whether that is the end.
func (r *renewal) attempt(ctx context.Context) (over bool) {
	c, sent := r.c, time.Now()
	silent := c.tenure.Load().Age(sent)
	gap := c.alone != nil && c.tenure.Load().MustCancel(sent)
	if gap {
		c.lapse()
	}
	// A store that says nothing for a whole lease is one that did not answer.
	asking, cancel := context.WithTimeout(ctx, c.cfg.Terms.TakeOver)
	err := c.st.Renew(asking, c.worker)
	var lost []string
	if err == nil {
		lost, err = c.keep(asking)
	}
	cancel()
	c.meter.Stored(ctx, err)
	if err == nil {
		r.failing = time.Time{}
		if len(lost) > 0 && !gap {
			c.lapse()
		}
		if gap || len(lost) > 0 {
			c.goOn(ctx, sent, silent, lost)
		} else {
			tenure := store.NewTenure(c.cfg.Terms, sent)
			c.tenure.Store(&tenure)
		}
		r.late.Reset(c.tenure.Load().CancelIn(time.Now()))
		return false
	}
	if r.failing.IsZero() {
		r.failing = sent
	}
	switch {
	case errors.Is(err, store.ErrFenced):
		c.stopWork(err)
	case c.alone != nil && (errors.Is(err, store.ErrInUse) || time.Since(r.failing) < c.cfg.Terms.TakeOver), !c.tenure.Load().MustCancel(time.Now()):
		return false
	default:
		c.stopWork(errNotOurs)
	}
	c.loop.Post(func(time.Time) { c.loop.Fail(fmt.Errorf("renew the lease: %w", err)) })
	return true
}
