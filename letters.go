package headway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"headway/ask"
	"headway/internal/committer"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
	"headway/weburl"
)

// mail is where questions come from; nil is from nowhere.
func (c *crawler) mail() Mail {
	if c.fleet == nil {
		return c.cfg.Mail
	}
	if m, ok := c.st.(store.Mail); ok {
		return letters{c, m}
	}
	return nil
}

// letters is the mail of a worker of a fleet: what others have posted to the
// owner of a slot, or to all.
type letters struct {
	c    *crawler
	mail store.Mail
}

// Receive implements [Mail].
func (l letters) Receive(ctx context.Context) ([]ask.Letter, error) {
	list, err := l.mail.Letters(ctx, l.c.loop.Now(), l.c.worker)
	if err != nil {
		return nil, err
	}
	var read []ask.Letter
	for _, x := range list {
		a := ask.Letter{ID: strconv.FormatInt(int64(x.ID), 10)}
		if err := json.Unmarshal(x.Body, &a.Question); err != nil {
			if err := l.Reply(ctx, a.ID, ask.Answer{Error: fmt.Sprintf("question not understood: %v", err)}); err != nil {
				return read, err
			}
			continue
		}
		read = append(read, a)
	}
	return read, nil
}

// Reply implements [Mail]. A letter that is gone, or to a slot that is not ours
// any more, needs no answer of ours.
func (l letters) Reply(ctx context.Context, id string, a ask.Answer) error {
	if log, ok := l.mail.(store.Control); ok && a.Change != nil {
		o := a.Change
		err := log.LogOrder(ctx, store.Order{At: o.At, By: o.By, What: string(o.Order), Host: o.Host, Worker: o.Worker, Before: o.Before, After: o.After})
		if err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("letter %q: %w", id, err)
	}
	body, err := fit(a)
	if err != nil {
		return err
	}
	err = l.mail.Reply(ctx, l.c.loop.Now(), l.c.worker, store.LetterID(n), body)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}

// fit writes an answer, with as many of the slowest hosts as a letter takes.
func fit(a ask.Answer) ([]byte, error) {
	for {
		body, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("write an answer: %w", err)
		}
		if len(body) <= store.MaxLetter || len(a.Hosts) == 0 {
			return body, nil
		}
		a.Hosts = a.Hosts[:len(a.Hosts)/2]
	}
}

// mine tells whether a question is ours to answer: in a fleet one about a host or
// a URL is the owner's.
func (c *crawler) mine(q ask.Question) error {
	if c.fleet == nil || q.Host == "" && q.URL == "" {
		return nil
	}
	u, err := weburl.Parse(cmp.Or(q.URL, q.Host+"/"))
	if err != nil {
		return err
	}
	if _, ours := c.slots.Lease(store.SlotOf(c.key, u.Domain())); !ours {
		return errElsewhere
	}
	return nil
}

// obeyStored carries out an order for a host that is not in memory on what is
// stored of it.
func (c *crawler) obeyStored(ctx context.Context, q ask.Question, tell func(*ask.Answer)) {
	st := c.st
	loop.Once(ctx, c.loop, func(ctx context.Context) (store.Host, error) {
		h, err := st.Host(ctx, q.Host)
		if errors.Is(err, store.ErrNotFound) {
			return store.Host{Host: q.Host}, nil
		}
		return h, err
	}, func(now time.Time, h store.Host, err error) {
		if err == nil {
			err = c.mine(q) // it may have moved meanwhile
		}
		var a ask.Answer
		if err == nil {
			a, err = c.obeyAtRest(now, q, h)
		}
		switch {
		case errors.Is(err, errElsewhere):
			delete(c.orders, q.Host)
			tell(nil)
		case err != nil:
			delete(c.orders, q.Host)
			tell(&ask.Answer{Error: err.Error()})
		default:
			c.tellStored(&a, func(a *ask.Answer) {
				c.obeyLoaded(q)
				tell(a)
			})
		}
	})
}

// obeyAtRest changes the stored state of a host.
func (c *crawler) obeyAtRest(now time.Time, q ask.Question, h store.Host) (ask.Answer, error) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		return ask.Answer{}, err
	}
	o := order{q.Kind, q.Delay.Duration()}
	before, after, live := c.f.Order(now, q.Host, o.apply)
	if live { // it was met meanwhile
		c.touch(q.Host)
	} else {
		before = politeness.New(q.Host)
		if len(h.Politeness) > 0 {
			if err := before.UnmarshalBinary(h.Politeness); err != nil {
				return ask.Answer{}, fmt.Errorf("the stored state of %s: %w", q.Host, err)
			}
		}
		after = o.apply(before)
		if err := pace.Write(&h, after, pace.Of(&h)); err != nil {
			return ask.Answer{}, err
		}
		c.commits.Rest(committer.Host{Host: h, Slot: store.SlotOf(c.key, u.Domain()), Domain: u.Domain()})
	}
	return c.obeyed(ask.Change{At: now, By: q.By, Order: q.Kind, Host: q.Host, Before: inWords(before), After: inWords(after)}), nil
}

// obeyLoaded carries out an order, which is stored by now, once more on a host
// that was read before it was. One that is still being read is changed when it is.
func (c *crawler) obeyLoaded(q ask.Question) {
	o := order{q.Kind, q.Delay.Duration()}
	if _, _, live := c.f.Order(c.loop.Now(), q.Host, o.apply); live {
		c.touch(q.Host)
	} else if _, loading := c.f.View(q.Host); loading {
		return
	}
	delete(c.orders, q.Host)
}

// askWorker says how this worker stands, and lets it leave if it is told to.
func (c *crawler) askWorker(now time.Time, q ask.Question) ask.Answer {
	if q.Worker != 0 && q.Worker != c.worker {
		return ask.Answer{}
	}
	var a ask.Answer
	if q.Kind == ask.KindDrain {
		before, after := "working", "hands over and ends"
		if c.halted {
			before = after
		}
		a = c.obeyed(ask.Change{At: now, By: q.By, Order: q.Kind, Before: before, After: after})
		c.leaveInTime(now)
	}
	stats := c.f.Stats()
	a.Workers = []ask.Worker{{
		Worker: c.worker, Since: c.loop.Began().UTC().Round(0), Renewed: ask.Millis(c.lease.Tenure().Age(time.Now())), Slots: c.slots.Len(), Leaving: c.slots.Leaving(),
		Hosts: stats.Working, InFlight: c.busy, Most: c.cfg.Workers, Jobs: slices.Sorted(maps.Keys(c.runs)), Draining: c.halted,
	}}
	return a
}

// leaveInTime finishes what is in flight, as far as there is time for it, and ends
// the part in the fleet.
func (c *crawler) leaveInTime(now time.Time) {
	if !c.halted {
		c.halt(now, &jobrun.End{Reason: "interrupted"}, false)
		c.haltAt = now.Add(drainFor)
	}
}

// askPart is this worker's part in a job: its hosts and what they do now. What is
// counted fleet-wide is read from the store, and host-time is not told apart by
// job: it is that of all.
func (c *crawler) askPart(now time.Time, q ask.Question) ask.Answer {
	r := c.runs[q.Job]
	if r == nil {
		return ask.Answer{}
	}
	s := &ask.Status{
		At: now, Elapsed: ask.Millis(max(now.Sub(r.started), 0)), Workers: c.cfg.Workers, Warnings: r.tally.Warnings,
		Discovery: true, Commit: ask.Millis(c.commits.Stats().Last), Limits: r.limits(),
	}
	if r.stop != nil {
		s.Stopping = r.stop.Reason
	}
	doing := map[string]int{}
	hosts, _ := c.askHosts(ask.Question{Job: q.Job}) // only one that is named may be missing
	for i := range hosts.Hosts {
		h := &hosts.Hosts[i]
		doing[h.State]++
		s.Hosts++
		s.InFlight += h.InFlight
		if i < slowest {
			s.Slowest = append(s.Slowest, *h)
		}
	}
	for _, share := range c.f.Account().Shares(now) {
		state := share.State.String()
		s.Shares = append(s.Shares, ask.Share{State: state, Hosts: doing[state], Spent: ask.Millis(share.Spent), Part: share.Part})
	}
	s.Layers = c.layersAsked(now)
	return ask.Answer{Status: s}
}
