package simweb_test

import (
	"context"
	"errors"
	"syscall"
	"time"

	"headway/fetch"
	"headway/frontier"
	jobs "headway/job"
	"headway/politeness"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// desk crawls several jobs that want the same hosts, in one life. One
// [headway.Run] has one job, so this asks package frontier directly: it makes
// the requests, reads robots.txt, and stores at once and without fail.
type desk struct {
	world   *world
	client  *fetch.Client
	workers int
	f       *frontier.Frontier
	life    life

	coming []*job // those still to start, by time
	known  map[string]frontier.HostState
	wanted map[want]*target
	left   map[*host]int // URLs that have not ended
	since  map[*host]time.Time
	busy   int
	asked  int // requests ever made
	events chan func(now time.Time)
}

// want is a URL of a job.
type want struct {
	job jobs.ID
	url weburl.URL
}

func newDesk(w *world, client *fetch.Client, workers int) *desk {
	d := &desk{
		world: w, client: client, workers: workers, life: life{worked: map[*host]time.Duration{}},
		known: map[string]frontier.HostState{}, wanted: map[want]*target{}, left: map[*host]int{}, since: map[*host]time.Time{},
		events: make(chan func(time.Time), 4*workers), coming: byStart(w.jobs),
	}
	d.f = frontier.New(frontier.Config{Head: 1000, Addresses: w.sharedAddresses(), Trace: w.watch(&d.life)}, time.Now())
	return d
}

// run crawls until nothing is left to do.
func (d *desk) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for id := jobs.ID(1); ; {
		now := time.Now()
		for ; len(d.coming) > 0 && now.Sub(d.world.begin) >= d.coming[0].start; id++ {
			d.welcome(now, id, d.coming[0])
			d.coming = d.coming[1:]
		}
		b := d.f.Next(now, d.workers-d.busy, visit.WaitWorkers)
		if d.provide(now, b) {
			continue
		}
		wake := now.Add(longest)
		if !b.Wake.IsZero() {
			wake = b.Wake
		}
		switch {
		case len(d.coming) > 0:
			if at := d.world.begin.Add(d.coming[0].start); at.Before(wake) {
				wake = at
			}
		case d.busy == 0 && d.f.Idle():
			d.close(now)
			return
		}
		if time.Since(d.world.begin) > longest {
			d.world.problem("work is left")
			return
		}
		timer.Reset(time.Until(wake))
		select {
		case f := <-d.events:
			f(time.Now())
		case <-timer.C:
		}
	}
}

// welcome takes in a job whose time has come.
func (d *desk) welcome(now time.Time, id jobs.ID, j *job) {
	d.f.AddJob(frontier.Job{ID: id, Patience: j.patience, Policy: func(string) *politeness.Policy { return &j.policy }})
	var items []visit.Item
	for _, h := range d.world.hosts {
		for _, t := range h.targets {
			if t.job != j {
				continue
			}
			if d.left[h]++; d.left[h] == 1 {
				d.since[h] = now
			}
			d.wanted[want{id, t.url}] = t
			items = append(items, visit.Item{Job: id, URL: t.url, Found: visit.FoundSeed})
		}
	}
	d.f.Added(now, items)
}

// provide does what a batch asks for, and tells whether there may be more.
func (d *desk) provide(now time.Time, b *frontier.Batch) (again bool) {
	for _, name := range b.Load {
		state, ok := d.known[name]
		if !ok {
			state = frontier.HostState{Host: name, State: politeness.New(name)}
		}
		d.f.Loaded(now, state)
		again = true
	}
	if len(b.Refill) > 0 {
		d.f.Refilled(now, b.Refill, nil) // all that waits is in memory
		again = true
	}
	for _, p := range b.Parks {
		for w, t := range d.wanted {
			if w.job == p.Job && w.url.Host() == p.Host && !t.ended() {
				d.end(now, t, p.Outcome, p.Reason)
			}
		}
		d.f.Parked(now, p, 0)
		again = true
	}
	for i := range b.Resolved {
		r := &b.Resolved[i]
		d.settled(now, r.Request, r.Visit, r.Settled)
		again = true
	}
	for _, r := range b.Requests {
		d.busy++
		d.asked++
		number := d.asked
		go func() {
			if r.Kind == frontier.Robots {
				d.askRobots(r, number)
			} else {
				d.ask(r, number)
			}
		}()
	}
	return again
}

// ask asks for a page.
func (d *desk) ask(r frontier.Request, number int) {
	req := fetch.Request{URL: r.Item.URL, Owned: true}
	req.Sent = func(at time.Time) { d.events <- func(time.Time) { d.f.Sent(at, r) } }
	var res *fetch.Result
	var err error
	d.world.gate.exchange(r.Host, number, func() { res, err = d.client.Do(context.Background(), req) })
	defer res.Close()
	v := &visit.Visit{Item: r.Item}
	if failure, ok := errors.AsType[*fetch.Error](err); ok {
		v.Outcome, v.Reason = visit.Failed, visit.Reason(failure.Reason)
	} else {
		v.Outcome, v.Reason = visit.OfStatus(res.Status)
	}
	a := answerOf(res, err)
	d.events <- func(now time.Time) {
		d.busy--
		d.settled(now, r, v, d.f.Settle(now, r, a, v))
		d.keep(r.Host)
	}
}

// askRobots asks for robots.txt. While it cannot be read the host is asked again
// for it, and for nothing else.
func (d *desk) askRobots(r frontier.Request, number int) {
	home, err := weburl.Parse(r.Host + "/robots.txt")
	if err != nil {
		panic(err) // every host has one
	}
	var res *fetch.Result
	d.world.gate.exchange(r.Host, number, func() { res, _, err = d.client.Robots(context.Background(), fetch.Request{URL: home, Owned: true}) })
	defer res.Close()
	state := frontier.RobotsState{Known: err == nil && res.Status < 500 && res.Status != 429}
	state.Ever = state.Known
	if state.Known && res.Status == 200 {
		state.Delay, _ = robots.Parse(res.Body).For("headway").Delay()
	}
	a := answerOf(res, err)
	d.events <- func(now time.Time) {
		d.busy--
		d.f.Settle(now, r, a, nil)
		d.f.SetRobots(now, r.Host, state)
		d.keep(r.Host)
		known := d.known[r.Host]
		known.Robots = state
		d.known[r.Host] = known
	}
}

// keep stores what is known of a host.
func (d *desk) keep(name string) {
	if v, ok := d.f.View(name); ok {
		known := d.known[name]
		known.Host, known.State = name, v.State
		d.known[name] = known
		d.world.names[name].pace = v.Pace
	}
}

// settled ends a URL or lets it wait for another turn.
func (d *desk) settled(now time.Time, r frontier.Request, v *visit.Visit, s frontier.Settled) {
	t := d.wanted[want{r.Job, r.Item.URL}]
	switch s.Verdict {
	case frontier.InDoubt:
		return
	case frontier.Ended:
		d.end(now, t, v.Outcome, v.Reason)
	case frontier.Again:
	}
	t.charged = s.Attempt > 0
	d.f.Committed(now, []frontier.Request{r})
}

// end ends a URL.
func (d *desk) end(now time.Time, t *target, o visit.Outcome, r visit.Reason) {
	t.outcome, t.reason = o, r
	if d.left[t.host]--; d.left[t.host] == 0 {
		d.life.worked[t.host] += now.Sub(d.since[t.host])
	}
}

// close ends the life of the desk.
func (d *desk) close(now time.Time) {
	d.life.end, d.life.shares = now, d.f.Account().Shares(now)
	d.world.ended(&d.life)
	for name, s := range d.known {
		d.world.names[name].state = s.State
	}
}

// answerOf says to the schedule how a request ended.
func answerOf(res *fetch.Result, err error) frontier.Answer {
	a := frontier.Answer{Answered: err == nil, Remote: res.Remote.Addr()}
	a.Status, a.Latency = res.Status, res.Timing.FirstByte
	wait := fetch.ReadRetryAfter(fetch.RetryQuestion{
		Status: res.Status, RetryAfter: res.Header.Values("Retry-After"), Date: res.Header.Get("Date"), Now: time.Now(), Budget: fetch.NoBudget,
	})
	a.RetryAfter, a.HasRetryAfter = wait.Wait, wait.Action == fetch.ActionWait
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return a
	}
	a.Local = failure.Local
	a.Answered = errors.Is(err, syscall.ECONNREFUSED)
	switch failure.Reason {
	case fetch.Timeout:
		a.Fault = politeness.Timeout
	case fetch.Connect:
		a.Fault = politeness.Connect
		if failure.Phase == fetch.PhaseHeader {
			a.Fault, a.Answered = politeness.Reset, true
		}
	case fetch.Truncated:
		a.Fault, a.Answered = politeness.Reset, true
	default:
		a.Fault, a.Answered = politeness.Protocol, true
	}
	return a
}
