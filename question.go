package headway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Mail brings questions and orders to a running crawl. [*ask.Mailbox] is one.
type Mail interface {
	// Receive returns what was asked since the last call, without waiting.
	Receive() ([]ask.Letter, error)
	// Reply answers a letter. What an order changed is logged first.
	Reply(id string, a ask.Answer) error
}

// order is an operator's order for a host.
type order struct {
	kind  ask.Kind
	delay time.Duration
}

// maxOrders bounds the hosts with orders that wait until they are met.
const maxOrders = 10_000

// readMail looks whether anybody asks.
func (c *crawler) readMail(ctx context.Context) {
	if c.cfg.Mail == nil || c.mailing {
		return
	}
	c.mailing = true
	c.background.Go(func() {
		letters, err := c.cfg.Mail.Receive()
		if err != nil {
			c.cfg.Log.Warn("questions cannot be read", "err", err)
		}
		if len(letters) == 0 {
			c.post(func(time.Time) { c.mailing = false })
			return
		}
		answers := make(chan []ask.Answer, 1)
		c.post(func(now time.Time) {
			list := make([]ask.Answer, len(letters))
			for i := range letters {
				list[i] = c.answerTo(now, letters[i].Question)
			}
			answers <- list
		})
		var list []ask.Answer
		select {
		case list = <-answers:
		case <-ctx.Done():
			select {
			case list = <-answers: // what was done is still logged
			default:
				return // the loop has ended and answers nobody
			}
		}
		for i, a := range list {
			if err := c.cfg.Mail.Reply(letters[i].ID, a); err != nil {
				c.cfg.Log.Warn("a question cannot be answered", "err", err)
			}
		}
		c.post(func(time.Time) { c.mailing = false })
	})
}

// answerTo answers a question, or does as ordered.
func (c *crawler) answerTo(now time.Time, q ask.Question) ask.Answer {
	a, err := c.ask(now, q)
	if err != nil {
		return ask.Answer{Error: err.Error()}
	}
	return a
}

func (c *crawler) ask(now time.Time, q ask.Question) (ask.Answer, error) {
	switch q.Kind {
	case ask.KindStatus:
		return ask.Answer{Status: c.alone.status(now)}, nil
	case ask.KindHosts:
		return c.askHosts(q)
	case ask.KindURL:
		return c.askURL(q)
	case ask.KindPause, ask.KindResume, ask.KindSlow, ask.KindForget:
		return c.obey(now, q)
	case ask.KindStopDiscovery:
		change := ask.Change{At: now, By: q.By, Order: q.Kind, Before: discovery(c.alone.enough), After: discovery(true)}
		c.alone.enough = true
		c.cfg.Log.Info("discovery stopped", "by", q.By)
		return ask.Answer{Change: &change}, nil
	}
	return ask.Answer{}, fmt.Errorf("%q is no question", q.Kind)
}

func discovery(stopped bool) string {
	if stopped {
		return "stopped"
	}
	return "on"
}

// askHosts describes the host that is named, or all with work.
func (c *crawler) askHosts(q ask.Question) (ask.Answer, error) {
	if q.Host != "" {
		v, ok := c.f.View(q.Host)
		if !ok {
			return ask.Answer{}, fmt.Errorf("%s has no part in this crawl at the moment", q.Host)
		}
		return ask.Answer{Hosts: []ask.Host{describe(&v)}}, nil
	}
	views := c.f.Slowest(min(cmp.Or(q.Max, ask.MaxHosts), ask.MaxHosts))
	list := make([]ask.Host, len(views))
	for i := range views {
		list[i] = describe(&views[i])
	}
	return ask.Answer{Hosts: list}, nil
}

// describe is a host of the schedule in plain words.
func describe(v *frontier.View) ask.Host {
	var policy politeness.Policy
	if v.Policy != nil {
		policy = *v.Policy
	}
	h := ask.HostOf(v.Host, policy, v.State)
	h.Domain, h.State, h.Until, h.InFlight, h.Queued, h.More = v.Domain, v.Doing.String(), v.Until, v.InFlight, v.Queued, v.More
	return h
}

// askURL tells where a URL is that waits.
func (c *crawler) askURL(q ask.Question) (ask.Answer, error) {
	u, err := weburl.Parse(q.URL)
	if err != nil {
		return ask.Answer{}, fmt.Errorf("url: %w", err)
	}
	a := &ask.URL{URL: u.String(), Where: ask.PlaceStored}
	sent, since, ok := c.f.Find(c.alone.job, u)
	if ok {
		v, _ := c.f.View(u.Host())
		h := describe(&v)
		a.Where, a.Wait, a.Until, a.Host = ask.PlaceQueued, v.Reason, v.Until, &h
	}
	if sent {
		a.Where, a.Wait, a.Until = ask.PlaceInFlight, "", time.Time{}
		if !since.IsZero() {
			a.InFlight = ask.Millis(c.now().Sub(since))
		}
	}
	return ask.Answer{URL: a}, nil
}

// obey carries out an order for a host, at once or when the host is met.
func (c *crawler) obey(now time.Time, q ask.Question) (ask.Answer, error) {
	u, err := store.ParseHost(q.Host)
	if err != nil {
		return ask.Answer{}, fmt.Errorf("host: %w", err)
	}
	if q.Delay < 0 || q.Delay.Duration() > politeness.MaxInterval {
		return ask.Answer{}, fmt.Errorf("an interval of %v: between 0 and %v", q.Delay.Duration(), politeness.MaxInterval)
	}
	o := order{q.Kind, q.Delay.Duration()}
	change := ask.Change{At: now, By: q.By, Order: q.Kind, Host: u.Host(), Before: "not met yet", After: "when it is met: " + o.String()}
	if before, after, ok := c.f.Order(now, u.Host(), o.apply); ok {
		change.Before, change.After = inWords(before), inWords(after)
		c.touch(u.Host())
		c.urgent = true
	} else {
		if len(c.orders) >= maxOrders {
			return ask.Answer{}, errors.New("too many orders wait for hosts that were not met yet")
		}
		c.orders[u.Host()] = append(c.orders[u.Host()], o)
	}
	c.cfg.Log.Info("order", "order", string(q.Kind), "host", change.Host, "by", q.By, "before", change.Before, "after", change.After)
	return ask.Answer{Change: &change}, nil
}

// applyOrders carries out what was ordered before a host was met.
func (c *crawler) applyOrders(host string, s politeness.State) politeness.State {
	for _, o := range c.orders[host] {
		s = o.apply(s)
	}
	delete(c.orders, host)
	return s
}

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

// inWords says of a state what orders change.
func inWords(s politeness.State) string {
	words := fmt.Sprintf("learned %v, floor %v, operator's interval %v", s.Learned(), s.Floor(), s.Asked())
	if s.Paused() {
		words = "paused, " + words
	}
	return words
}

// status is how the crawl stands, for other processes.
func (r *run) status(now time.Time) *ask.Status {
	spent := r.budget.Spent()
	stats := r.c.f.Stats()
	s := &ask.Status{
		PID: os.Getpid(), At: now, Elapsed: ask.Millis(now.Sub(r.c.began.Round(0))), Pages: spent.Pages, Requests: spent.Requests, Bytes: spent.Bytes, Rate: r.tally.rate(now),
		Seen: r.counts.Seen(), Waiting: r.counts.Waiting, Hosts: stats.Working, Ready: stats.Ready, InFlight: stats.InFlight, Workers: r.c.cfg.Workers,
		Warnings: r.tally.warnings, Discovery: !r.enough, Commit: ask.Millis(r.c.commits.last),
	}
	if r.stop != nil {
		s.Stopping = r.stop.Reason
	}
	for e, n := range r.counts.Ended {
		s.Outcomes = append(s.Outcomes, ask.Count{Outcome: e.Outcome, Reason: e.Reason, N: n})
	}
	slices.SortFunc(s.Outcomes, func(a, b ask.Count) int {
		return cmp.Or(cmp.Compare(slices.Index(visit.Outcomes, a.Outcome), slices.Index(visit.Outcomes, b.Outcome)), cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	for _, share := range r.c.f.Account().Shares(now) {
		s.Shares = append(s.Shares, ask.Share{State: share.State.String(), Hosts: share.Hosts, Spent: ask.Millis(share.Spent), Part: share.Part})
	}
	for _, v := range r.c.f.Slowest(slowest) {
		s.Slowest = append(s.Slowest, describe(&v))
	}
	for _, l := range r.c.layers(now) {
		s.Layers = append(s.Layers, ask.Layer{Name: l.Name, Setting: l.Setting, Limit: l.Limit, Use: l.Use, Waiting: l.Waiting, Waited: ask.Millis(l.Waited)})
	}
	for _, l := range r.cfg.Limits.Ceilings() {
		s.Limits = append(s.Limits, limitOf(l, spent))
	}
	return s
}

// limitOf is a ceiling and how much of it is used.
func limitOf(l limit.Ceiling, spent limit.Use) ask.Limit {
	a := ask.Limit{Name: string(l.Limit), Layer: string(l.Layer), Max: l.Max}
	switch l.Limit {
	case limit.Pages:
		a.Used = spent.Pages
	case limit.Requests:
		a.Used = spent.Requests
	case limit.Bytes:
		a.Used, a.Unit = spent.Bytes, "bytes"
	case limit.Time:
		a.Used, a.Max, a.Unit = spent.Time.Milliseconds(), time.Duration(l.Max).Milliseconds(), "ms"
	case limit.Patience:
		a.Max, a.Unit = time.Duration(l.Max).Milliseconds(), "ms"
	}
	return a
}

var _ Mail = (*ask.Mailbox)(nil)
