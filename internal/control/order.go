package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
)

// order is an operator's order for a host.
type order struct {
	kind  ask.Kind
	delay time.Duration
}

func orderOf(q ask.Question) order { return order{q.Kind, q.Delay.Duration()} }

// maxOrders bounds the hosts with orders that wait until the host is loaded.
const maxOrders = 10_000

// apply returns the state of a host with the order applied.
func (o order) apply(s politeness.State) politeness.State {
	switch o.kind {
	case ask.KindPause:
		return s.WithPaused(true)
	case ask.KindResume:
		return s.WithPaused(false)
	case ask.KindSlow:
		return s.WithAsked(o.delay)
	case ask.KindForget:
		return s.Forget()
	}
	return s
}

func (o order) String() string {
	if o.kind == ask.KindSlow {
		return fmt.Sprintf("%s %v", o.kind, o.delay)
	}
	return string(o.kind)
}

// describeState describes the part of a state that orders change.
func describeState(s politeness.State) string {
	words := fmt.Sprintf("learned %v, floor %v, operator minimum %v", s.Learned(), s.Floor(), s.Asked())
	if s.Paused() {
		words = "paused, " + words
	}
	return words
}

// orderHost applies an order to a host: at once if the host is in memory, otherwise as the
// role decides.
func (c *Control) orderHost(ctx context.Context, now time.Time, q ask.Question, reply replyFunc) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		replyError(fmt.Errorf("host: %w", err), reply)
		return
	}
	if q.Delay < 0 || q.Delay.Duration() > politeness.MaxInterval {
		replyError(fmt.Errorf("invalid interval %v; use a duration from 0 to %v", q.Delay.Duration(), politeness.MaxInterval), reply)
		return
	}
	o := orderOf(q)
	change := ask.Change{At: now, By: q.By, Order: q.Kind, Host: u.Host(), Before: "not crawled yet", After: "when it is crawled: " + o.String()}
	if before, after, ok := c.applyLive(now, u.Host(), o); ok {
		change.Before, change.After = describeState(before), describeState(after)
		c.replyStored(c.changed(change), reply)
		return
	}
	if len(c.orders) >= maxOrders {
		replyError(errors.New("too many stored instructions for hosts that are not crawled yet"), reply)
		return
	}
	c.orders[u.Host()] = append(c.orders[u.Host()], o)
	c.role.orderUnloaded(ctx, q, change, reply)
}

// applyLive applies an order to a host in memory and marks it to be stored. It is not ok
// for a host that is not in memory.
func (c *Control) applyLive(now time.Time, host string, o order) (before, after politeness.State, ok bool) {
	before, after, ok = c.cfg.Frontier.Order(now, host, o.apply)
	if ok {
		c.cfg.Commits.Touch(host)
	}
	return before, after, ok
}

// ApplyOrders applies the orders that wait for a host to the state it is loaded with.
func (c *Control) ApplyOrders(host string, s politeness.State) politeness.State {
	if len(c.orders[host]) == 0 {
		return s
	}
	for _, o := range c.orders[host] {
		s = o.apply(s)
	}
	delete(c.orders, host)
	c.cfg.Commits.Touch(host)
	return s
}

// changed logs a change, and returns it as the answer.
func (c *Control) changed(change ask.Change) ask.Answer {
	change.Worker = c.worker
	c.cfg.Log.Info("order carried out", "order", string(change.Order), "host", change.Host, "by", change.By, "before", change.Before, "after", change.After)
	return ask.Answer{Change: &change}
}
