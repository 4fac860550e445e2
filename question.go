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
	"headway/internal/committer"
	"headway/internal/loop"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Mail brings questions and orders to a running crawl. [*ask.Mailbox] is one.
type Mail interface {
	// Receive returns what was asked since the last call, without waiting for
	// more.
	Receive(ctx context.Context) ([]ask.Letter, error)
	// Reply answers a letter. What an order changed is logged first.
	Reply(ctx context.Context, id string, a ask.Answer) error
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
	mail, now := c.mail(), c.loop.Now()
	if mail == nil || c.mailing || c.fleet != nil && now.Before(c.fleet.lettersAt) {
		return
	}
	c.mailing = true
	if c.fleet != nil {
		c.fleet.lettersAt = c.nextPoll(now)
	}
	c.loop.Go(func() {
		again := c.answerMail(ctx, mail)
		c.loop.Post(func(now time.Time) {
			c.mailing = false
			if again && c.fleet != nil {
				c.fleet.lettersAt = now.Add(loop.RetryFirst)
			}
		})
	})
}

// answerMail takes what was asked, lets the loop answer and replies. It tells
// whether there is reason to look again soon.
func (c *crawler) answerMail(ctx context.Context, mail Mail) (again bool) {
	letters, err := mail.Receive(ctx)
	if err != nil {
		c.cfg.Log.Warn("questions cannot be read", "err", err)
	}
	if len(letters) == 0 {
		return false
	}
	answers := make(chan []*ask.Answer, 1)
	c.loop.Post(func(now time.Time) {
		list, left := make([]*ask.Answer, len(letters)), len(letters)
		for i := range letters {
			c.answerTo(ctx, now, letters[i].Question, func(a *ask.Answer) {
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
		if err := mail.Reply(context.WithoutCancel(ctx), letters[i].ID, *a); err != nil {
			c.cfg.Log.Warn("a question cannot be answered", "err", err)
		}
	}
	return again
}

// errElsewhere says that the host of a question is not ours: whoever owns it
// answers.
var errElsewhere = errors.New("another worker owns the host")

// answerTo answers a question, or does as ordered. It tells nil where somebody
// else has to answer. What was ordered is told once it is stored, so that it holds
// whatever becomes of us.
func (c *crawler) answerTo(ctx context.Context, now time.Time, q ask.Question, tell func(*ask.Answer)) {
	a, err := c.ask(now, q)
	switch {
	case errors.Is(err, errElsewhere):
		tell(nil)
	case errors.Is(err, errNotMet):
		c.obeyStored(ctx, q, tell)
	case err != nil:
		tell(&ask.Answer{Error: err.Error()})
	case a.Change != nil && a.Change.Host != "":
		c.tellStored(&a, tell)
	default:
		tell(&a)
	}
}

// tellStored tells an answer once all that was changed until now is stored.
func (c *crawler) tellStored(a *ask.Answer, tell func(*ask.Answer)) {
	c.pend(committer.Entry{Stored: func() { tell(a) }})
	c.commits.Hurry()
}

func (c *crawler) ask(now time.Time, q ask.Question) (ask.Answer, error) {
	if err := c.mine(q); err != nil {
		return ask.Answer{}, err
	}
	switch q.Kind {
	case ask.KindStatus:
		if c.fleet != nil {
			return c.askPart(now, q), nil
		}
		return ask.Answer{Status: c.status(now)}, nil
	case ask.KindHosts:
		return c.askHosts(q)
	case ask.KindURL:
		return c.askURL(q)
	case ask.KindPause, ask.KindResume, ask.KindSlow, ask.KindForget:
		return c.obey(now, q)
	case ask.KindStopDiscovery:
		if c.alone == nil {
			return ask.Answer{}, errors.New("discovery of a job of a fleet cannot be stopped; headway job drain ends the job")
		}
		change := ask.Change{At: now, By: q.By, Order: q.Kind, Before: discovering(c.alone.enough), After: discovering(true)}
		c.alone.enough = true
		c.cfg.Log.Info("discovery stopped", "by", q.By)
		return ask.Answer{Change: &change}, nil
	case ask.KindWorkers, ask.KindDrain:
		if c.fleet != nil {
			return c.askWorker(now, q), nil
		}
	}
	return ask.Answer{}, fmt.Errorf("%q is no question", q.Kind)
}

func discovering(stopped bool) string {
	if stopped {
		return "stopped"
	}
	return "on"
}

// askHosts describes the host that is named, or all with work for the job.
func (c *crawler) askHosts(q ask.Question) (ask.Answer, error) {
	if q.Host != "" {
		v, ok := c.f.View(q.Host)
		if !ok {
			return ask.Answer{}, fmt.Errorf("%s has no part in this crawl at the moment", q.Host)
		}
		return ask.Answer{Hosts: []ask.Host{describe(&v)}}, nil
	}
	views := c.f.Slowest(min(cmp.Or(q.Max, ask.MaxHosts), ask.MaxHosts))
	list := make([]ask.Host, 0, len(views))
	for i := range views {
		h := describe(&views[i])
		if q.Job != 0 {
			jobs := c.f.Jobs(h.Host)
			if !slices.Contains(jobs, q.Job) {
				continue
			}
			if len(jobs) > 1 {
				h.Queued, h.More = 0, true // how many are of this job is not told apart
			}
		}
		list = append(list, h)
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
	id := q.Job
	if c.alone != nil {
		id = c.alone.ID
	}
	sent, since, ok := c.f.Find(id, u)
	if ok {
		v, _ := c.f.View(u.Host())
		h := describe(&v)
		a.Where, a.Wait, a.Until, a.Host = ask.PlaceQueued, v.Reason, v.Until, &h
	}
	if sent {
		a.Where, a.Wait, a.Until = ask.PlaceInFlight, "", time.Time{}
		if !since.IsZero() {
			a.InFlight = ask.Millis(c.loop.Now().Sub(since))
		}
	}
	return ask.Answer{URL: a}, nil
}

// errNotMet says that the state of a host is not in memory.
var errNotMet = errors.New("the host is not in memory")

// obey carries out an order for a host, at once or when the host is met. A worker
// of a fleet, which may not be the one that meets it, turns to what is stored.
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
	} else {
		if len(c.orders) >= maxOrders {
			return ask.Answer{}, errors.New("too many orders wait for hosts that were not met yet")
		}
		c.orders[u.Host()] = append(c.orders[u.Host()], o)
		if c.fleet != nil {
			return ask.Answer{}, errNotMet
		}
	}
	return c.obeyed(change), nil
}

// obeyed logs what an order changed, and answers with it.
func (c *crawler) obeyed(change ask.Change) ask.Answer {
	if c.fleet != nil {
		change.Worker = c.worker
	}
	c.cfg.Log.Info("order", "order", string(change.Order), "host", change.Host, "by", change.By, "before", change.Before, "after", change.After)
	return ask.Answer{Change: &change}
}

// applyOrders carries out what was ordered before a host was met.
func (c *crawler) applyOrders(host string, s politeness.State) politeness.State {
	if len(c.orders[host]) == 0 {
		return s
	}
	for _, o := range c.orders[host] {
		s = o.apply(s)
	}
	delete(c.orders, host)
	c.touch(host)
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
func (c *crawler) status(now time.Time) *ask.Status {
	r := c.alone
	spent := r.budget.Spent()
	stats := r.f.Stats()
	s := &ask.Status{
		PID: os.Getpid(), At: now, Elapsed: ask.Millis(now.Sub(r.loop.Began().Round(0))), Pages: spent.Pages, Requests: spent.Requests, Bytes: spent.Bytes, Rate: r.tally.Rate(now),
		Seen: r.counts.Seen(), Waiting: r.counts.Waiting, Hosts: stats.Working, Ready: stats.Ready, InFlight: stats.InFlight, Workers: c.cfg.Workers,
		Warnings: r.tally.Warnings, Discovery: !r.enough, Commit: ask.Millis(r.commits.Stats().Last),
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
	for _, share := range r.f.Account().Shares(now) {
		s.Shares = append(s.Shares, ask.Share{State: share.State.String(), Hosts: share.Hosts, Spent: ask.Millis(share.Spent), Part: share.Part})
	}
	for _, v := range r.f.Slowest(slowest) {
		s.Slowest = append(s.Slowest, describe(&v))
	}
	s.Layers, s.Limits = c.layersAsked(now), r.limits()
	return s
}

// layersAsked says how each layer stands, for other processes.
func (c *crawler) layersAsked(now time.Time) (list []ask.Layer) {
	for _, l := range c.layers(now) {
		list = append(list, ask.Layer{Name: l.Name, Setting: l.Setting, Limit: l.Limit, Use: l.Use, Waiting: l.Waiting, Waited: ask.Millis(l.Waited)})
	}
	return list
}

// limits are the ceilings of the job and how much of them is used, as far as this
// process knows.
func (r *run) limits() (list []ask.Limit) {
	spent := r.budget.Spent()
	for _, l := range r.cfg.Limits.Ceilings() {
		list = append(list, limitOf(l, spent))
	}
	return list
}

// limitOf is a ceiling and how much of it is used.
func limitOf(l limit.Ceiling, spent limit.Use) ask.Limit {
	a := ask.Limit{Name: string(l.Limit), Layer: string(l.Layer)}
	a.Max, a.Unit = l.Limit.Told(l.Max)
	switch l.Limit {
	case limit.Pages, limit.Requests, limit.Bytes, limit.Time, limit.Hosts:
		a.Used, _ = l.Limit.Told(spent.Of(l.Limit))
	}
	return a
}

var _ Mail = (*ask.Mailbox)(nil)
