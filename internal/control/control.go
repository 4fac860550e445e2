// Package control answers questions about a running crawl and carries out operators'
// orders.
//
// Questions and orders arrive as messages. Control reads them in the background, answers on
// the loop, which alone knows why a host waits, and replies in the background. An order
// about a host is answered once it is stored, so that it survives a crash.
//
// A crawl on one machine ([NewSolo]) and a worker of a fleet ([NewWorker]) differ in where
// messages come from, which questions they answer, and what happens to an order for a host
// that is not in memory. That is decided when a Control is created. The engine passes its
// state as plain data; see [JobStatus].
//
// [OrderAtRest] is for a host that no crawl is using.
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

// Config is common to a crawl on one machine and a worker of a fleet.
type Config struct {
	Loop     *loop.Loop
	Frontier *frontier.Frontier
	Commits  *committer.Committer
	Workers  int                               // maximum of requests in flight
	Layers   func(now time.Time) []gauge.Layer // current use of each layer
	Log      *slog.Logger
}

// Control answers questions and applies orders. Its methods belong to the loop; only
// receiving and replying happen in the background.
type Control struct {
	cfg    Config
	mail   ask.Mail // nil for none
	role   role
	worker store.WorkerID // for the log of changes; 0 outside a fleet

	orders  map[string][]order // for hosts that are not in memory
	reading bool               // messages are being read
	readAt  time.Time          // when to read messages again; zero: at every tick
}

// role is what differs between a crawl on one machine and a worker of a fleet.
type role interface {
	// checkOwner returns errNotOwner for a question that another worker answers.
	checkOwner(q ask.Question) error
	// jobOf is the job that a question is about.
	jobOf(q ask.Question) job.ID
	// status describes a job.
	status(now time.Time, q ask.Question) ask.Answer
	// stopDiscovery stops following links.
	stopDiscovery(now time.Time, q ask.Question) (ask.Answer, error)
	// askWorker describes this worker, and drains it if that is the order.
	askWorker(now time.Time, q ask.Question) (ask.Answer, error)
	// orderUnloaded carries out an order for a host that is not in memory. The order is
	// already in the queue; change is the answer if it stays there.
	orderUnloaded(ctx context.Context, q ask.Question, change ask.Change, reply replyFunc)
	// nextRead is when to read messages again; hurry asks for soon.
	nextRead(now time.Time, hurry bool) time.Time
}

// replyFunc receives the answer to a question; nil if another worker has to answer.
type replyFunc func(*ask.Answer)

func newControl(cfg Config) *Control {
	return &Control{cfg: cfg, orders: map[string][]order{}}
}

// ReadNow makes the next [Control.ReadMail] read at once: there may be messages.
func (c *Control) ReadNow(now time.Time) { c.readAt = now }

// ReadMail reads and answers messages if it is time.
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

// answerMail receives questions, lets the loop answer them and replies. It reports whether
// to read again soon. It runs in the background.
func (c *Control) answerMail(ctx context.Context) (again bool) {
	messages, err := c.mail.Receive(ctx)
	if err != nil {
		c.cfg.Log.Warn("cannot read queries and orders", "err", err)
	}
	if len(messages) == 0 {
		return false
	}
	answers := make(chan []*ask.Answer, 1)
	c.cfg.Loop.Post(func(now time.Time) {
		list, left := make([]*ask.Answer, len(messages)), len(messages)
		for i := range messages {
			c.answer(ctx, now, messages[i].Question, func(a *ask.Answer) {
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
		case list = <-answers: // completed orders are still logged
		default:
			return false // the loop has ended and answers no more
		}
	}
	again = len(messages) >= store.MaxMessageBatch
	for i, a := range list {
		if a == nil {
			again = true
			continue
		}
		if err := c.mail.Reply(context.WithoutCancel(ctx), messages[i].ID, *a); err != nil {
			c.cfg.Log.Warn("cannot send an answer", "err", err)
		}
	}
	return again
}

// errNotOwner says that another worker owns the host of a question and answers it.
var errNotOwner = errors.New("another worker owns the host")

// answer answers a question or carries out an order.
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

// replyError replies with an error, or nothing if another worker has to answer.
func replyError(err error, reply replyFunc) {
	if errors.Is(err, errNotOwner) {
		reply(nil)
		return
	}
	reply(&ask.Answer{Error: err.Error()})
}

// replyStored replies once all changes so far are stored.
func (c *Control) replyStored(a ask.Answer, reply replyFunc) {
	c.cfg.Commits.Add(committer.Entry{Stored: func() { reply(&a) }})
	c.cfg.Commits.FlushNow()
}
