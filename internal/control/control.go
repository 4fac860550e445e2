// Package control answers questions about a running crawl and carries out orders to it.
//
// Questions and orders arrive as mail. Control reads it in the background, answers on
// the loop, which alone knows why a host waits at this moment, and replies in the
// background. An order about a host is answered once it is stored, so that it holds
// whatever becomes of the process.
//
// A crawl on its own ([NewSolo]) and a worker of a fleet ([NewWorker]) differ in where
// their mail comes from, which questions are theirs, and what becomes of an order for a
// host that is not in memory. That is decided once, when a Control is made. What only
// the engine knows it gives as plain data; see [Standing].
//
// [OrderAtRest] is for a host that no crawl works on.
package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/loop"
	"headway/job"
	"headway/store"
)

// Config is what a crawl on its own and a worker of a fleet both give.
type Config struct {
	Loop     *loop.Loop
	Frontier *frontier.Frontier
	Commits  *committer.Committer
	Workers  int                               // at most as many requests are in flight
	Layers   func(now time.Time) []gauge.Layer // how each layer of control stands
	Log      *slog.Logger
}

// Control answers questions and applies orders. Its methods belong to the loop; only
// reading and replying to mail happen in the background.
type Control struct {
	cfg    Config
	mail   ask.Mail // nil: nobody can ask
	role   role
	worker store.WorkerID // that changes are logged with; 0 outside a fleet

	orders  map[string][]order // for hosts whose state is not in memory
	reading bool               // mail is being read
	readAt  time.Time          // when to read mail again; zero: at every tick
}

// role is what a crawl on its own and a worker of a fleet do differently.
type role interface {
	// checkOwner returns errNotOwner for a question that another worker answers.
	checkOwner(q ask.Question) error
	// jobOf is the job that a question is about.
	jobOf(q ask.Question) job.ID
	// status answers how a job stands.
	status(now time.Time, q ask.Question) ask.Answer
	// stopDiscovery follows no further links.
	stopDiscovery(now time.Time, q ask.Question) (ask.Answer, error)
	// askWorker answers how this worker stands, and drains it if that is the order.
	askWorker(now time.Time, q ask.Question) (ask.Answer, error)
	// orderUnmet carries out an order for a host that is not in memory. It is already
	// among the orders that wait; change is the answer if it stays there.
	orderUnmet(ctx context.Context, q ask.Question, change ask.Change, reply replyFunc)
	// nextRead is when to read mail again, or, if there is reason to hurry, soon.
	nextRead(now time.Time, hurry bool) time.Time
}

// replyFunc takes the answer to a question; nil if another worker has to answer.
type replyFunc func(*ask.Answer)

func newControl(cfg Config) *Control {
	return &Control{cfg: cfg, orders: map[string][]order{}}
}

// ReadNow makes the next [Control.ReadMail] read mail at once: there may be some.
func (c *Control) ReadNow(now time.Time) { c.readAt = now }

// ReadMail reads mail and answers it, if it is time for that.
func (c *Control) ReadMail(ctx context.Context) {
	now := c.cfg.Loop.Now()
	if c.mail == nil || c.reading || now.Before(c.readAt) {
		return
	}
	c.reading = true
	c.readAt = c.role.nextRead(now, false)
	c.cfg.Loop.Go(func() {
		again := c.answerMail(ctx)
		c.cfg.Loop.Post(func(now time.Time) {
			c.reading = false
			if again {
				c.readAt = c.role.nextRead(now, true)
			}
		})
	})
}

// answerMail receives questions, lets the loop answer them and replies. It returns
// whether there is reason to read again soon. It runs in the background.
func (c *Control) answerMail(ctx context.Context) (again bool) {
	letters, err := c.mail.Receive(ctx)
	if err != nil {
		c.cfg.Log.Warn("cannot read queries and orders", "err", err)
	}
	if len(letters) == 0 {
		return false
	}
	answers := make(chan []*ask.Answer, 1)
	c.cfg.Loop.Post(func(now time.Time) {
		list, left := make([]*ask.Answer, len(letters)), len(letters)
		for i := range letters {
			c.answer(ctx, now, letters[i].Question, func(a *ask.Answer) {
				list[i] = a
				if left--; left == 0 {
					answers <- list
				}
			})
		}
	})
	var list []*ask.Answer
	select {
	case list = <-answers:
	case <-ctx.Done():
		select {
		case list = <-answers: // what was done is still logged
		default:
			return false // the loop has ended and answers nobody
		}
	}
	again = len(letters) >= store.MaxMail
	for i, a := range list {
		if a == nil {
			again = true
			continue
		}
		if err := c.mail.Reply(context.WithoutCancel(ctx), letters[i].ID, *a); err != nil {
			c.cfg.Log.Warn("cannot send an answer", "err", err)
		}
	}
	return again
}

// errNotOwner says that the host of a question is not ours: its owner answers.
var errNotOwner = errors.New("another worker owns the host")

// answer answers a question, or carries out an order.
func (c *Control) answer(ctx context.Context, now time.Time, q ask.Question, reply replyFunc) {
	if err := c.role.checkOwner(q); err != nil {
		replyError(err, reply)
		return
	}
	var a ask.Answer
	var err error
	switch q.Kind {
	case ask.KindPause, ask.KindResume, ask.KindSlow, ask.KindForget:
		c.orderHost(ctx, now, q, reply)
		return
	case ask.KindStatus:
		a = c.role.status(now, q)
	case ask.KindHosts:
		a.Hosts, err = findHosts(c.cfg.Frontier, q)
	case ask.KindURL:
		a.URL, err = findURL(c.cfg.Frontier, c.role.jobOf(q), q.URL, c.cfg.Loop.Now)
	case ask.KindStopDiscovery:
		a, err = c.role.stopDiscovery(now, q)
	case ask.KindWorkers, ask.KindDrain:
		a, err = c.role.askWorker(now, q)
	default:
		err = errUnknown(q.Kind)
	}
	if err != nil {
		replyError(err, reply)
		return
	}
	reply(&a)
}

func errUnknown(k ask.Kind) error { return fmt.Errorf("unknown request %q", k) }

// replyError replies what is wrong, or nothing if another worker has to answer.
func replyError(err error, reply replyFunc) {
	if errors.Is(err, errNotOwner) {
		reply(nil)
		return
	}
	reply(&ask.Answer{Error: err.Error()})
}

// replyStored replies once all that was changed until now is stored.
func (c *Control) replyStored(a ask.Answer, reply replyFunc) {
	c.cfg.Commits.Add(committer.Entry{Stored: func() { reply(&a) }})
	c.cfg.Commits.Hurry()
}
