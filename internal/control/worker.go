package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"headway/ask"
	"headway/internal/committer"
	"headway/internal/loop"
	"headway/internal/pace"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/weburl"
)

// Worker configures the control of a worker of a fleet.
type Worker struct {
	ID    store.WorkerID
	Key   weburl.Key // assigns domains to slots
	Hosts Hosts
	Mail  store.Mail                    // nil for none
	Owns  func(store.Slot) bool         // also while a slot is being released
	Self  func() ask.Worker             // the worker's status
	Drain func(now time.Time)           // drains the worker
	Poll  func(now time.Time) time.Time // when to poll for messages
	// JobStatus describes a job; not ok for one that the worker has not opened.
	JobStatus func(now time.Time, id job.ID) (s JobStatus, ok bool)
}

// Hosts reads the stored state of hosts.
type Hosts interface {
	Host(ctx context.Context, host string) (store.Host, error)
}

// NewWorker returns the control of a worker of a fleet.
func NewWorker(cfg Config, w Worker) *Control {
	c := newControl(cfg)
	c.worker, c.role = w.ID, &worker{c, w}
	if w.Mail != nil {
		c.mail = &messages{store: w.Mail, worker: w.ID, now: cfg.Loop.Now}
	}
	return c
}

// worker is the role of a worker of a fleet: it answers for the hosts of its slots and for
// its part in a job. An order for a host that is not in memory is applied to its stored
// state, because another worker may load it next.
type worker struct {
	control *Control
	Worker
}

// checkOwner leaves questions about a host or a URL to the owner of its slot.
func (w *worker) checkOwner(q ask.Question) error {
	if q.Host == "" && q.URL == "" {
		return nil
	}
	u, err := weburl.Parse(cmp.Or(q.URL, q.Host+"/"))
	if err != nil {
		return err
	}
	if !w.Owns(store.SlotOf(w.Key, u.Domain())) {
		return errNotOwner
	}
	return nil
}

func (w *worker) jobOf(q ask.Question) job.ID { return q.Job }

// status describes this worker's part in a job: its hosts, their states and their time for
// this job. Counts of the whole fleet are read from the store.
func (w *worker) status(now time.Time, q ask.Question) ask.Answer {
	c := w.control
	status, ok := w.JobStatus(now, q.Job)
	if !ok {
		return ask.Answer{}
	}
	a := c.newStatus(now, &status)
	for i, h := range listHosts(c.cfg.Frontier, q.Job, 0) {
		a.Hosts++
		a.InFlight += h.InFlight
		if i < MaxSlowest {
			a.Slowest = append(a.Slowest, h)
		}
	}
	a.Shares = shares(c.cfg.Frontier.HostTime(now, q.Job))
	return ask.Answer{Status: a}
}

func (w *worker) stopDiscovery(time.Time, ask.Question) (ask.Answer, error) {
	return ask.Answer{}, errors.New("discovery cannot be stopped for a fleet job; headway job drain ends the job")
}

// askWorker does not answer for another worker.
func (w *worker) askWorker(now time.Time, q ask.Question) (ask.Answer, error) {
	if q.Worker != 0 && q.Worker != w.ID {
		return ask.Answer{}, nil
	}
	var a ask.Answer
	if q.Kind == ask.KindDrain {
		before, after := "working", "releases its slots and stops"
		if w.Self().Draining {
			before = after
		}
		a = w.control.changed(ask.Change{At: now, By: q.By, Order: q.Kind, Before: before, After: after})
		w.Drain(now)
	}
	a.Workers = []ask.Worker{w.Self()}
	return a, nil
}

// nextRead polls, in case a notification was missed.
func (w *worker) nextRead(now time.Time, hurry bool) time.Time {
	if hurry {
		return now.Add(loop.RetryFirst)
	}
	return w.Poll(now)
}

// orderUnloaded applies an order to the stored state of a host. It also stays in the queue
// meanwhile, because the host may be loaded before the order is stored.
func (w *worker) orderUnloaded(ctx context.Context, q ask.Question, _ ask.Change, reply replyFunc) {
	c, hosts := w.control, w.Hosts
	loop.Once(ctx, c.cfg.Loop, func(ctx context.Context) (store.Host, error) {
		h, err := hosts.Host(ctx, q.Host)
		if errors.Is(err, store.ErrNotFound) {
			return store.Host{Host: q.Host}, nil
		}
		return h, err
	}, func(now time.Time, h store.Host, err error) {
		if err == nil {
			err = w.checkOwner(q) // the slot may have moved meanwhile
		}
		var change ask.Change
		if err == nil {
			change, err = w.applyStored(now, q, h)
		}
		if err != nil {
			delete(c.orders, q.Host)
			replyError(err, reply)
			return
		}
		c.replyStored(c.changed(change), func(a *ask.Answer) {
			w.applyLoaded(q)
			reply(a)
		})
	})
}

// applyStored changes the stored state of a host.
func (w *worker) applyStored(now time.Time, q ask.Question, h store.Host) (change ask.Change, err error) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		return change, err
	}
	o := orderOf(q)
	before, after, live := w.control.applyLive(now, q.Host, o) // it may have been loaded meanwhile
	if !live {
		before = politeness.New(q.Host)
		if len(h.Politeness) > 0 {
			if err := before.UnmarshalBinary(h.Politeness); err != nil {
				return change, fmt.Errorf("the stored state of %s: %w", q.Host, err)
			}
		}
		after = o.apply(before)
		if err := pace.Write(&h, after, pace.Of(&h)); err != nil {
			return change, err
		}
		w.control.cfg.Commits.StoreHost(committer.Host{Host: h, Slot: store.SlotOf(w.Key, u.Domain()), Domain: u.Domain()})
	}
	return ask.Change{At: now, By: q.By, Order: q.Kind, Host: q.Host, Before: describeState(before), After: describeState(after)}, nil
}

// applyLoaded applies an order that is now stored to a host that was loaded from the older
// state. If the host is still loading, the queued order is applied when it is loaded.
func (w *worker) applyLoaded(q ask.Question) {
	c := w.control
	if _, _, live := c.applyLive(c.cfg.Loop.Now(), q.Host, orderOf(q)); !live {
		if _, loading := c.cfg.Frontier.View(q.Host); loading {
			return
		}
	}
	delete(c.orders, q.Host)
}
