package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/control"
	"headway/internal/loop"
	"headway/internal/pace"
	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Times of the harness.
const (
	tick   = 250 * time.Millisecond
	poll   = 5 * time.Second
	commit = time.Second // duration of a commit
	read   = time.Second // duration of reading a host
)

const (
	self = store.WorkerID(7)
	open = job.ID(1) // the open job
)

// harness is a control without an engine: a loop, a frontier, a committer, and a store that
// records commits.
type harness struct {
	*testing.T
	*control.Control
	cfg  control.Config
	work context.Context
	end  context.CancelFunc

	mail *post

	mu      sync.Mutex            // guards what the background changes
	stored  map[string]store.Host // what is stored of hosts
	commits []store.Commit
	events  []string // in order

	foreign map[string]bool // domains of other workers
	drained int
	enough  bool
}

func newDesk(t *testing.T) *harness {
	d := &harness{T: t, stored: map[string]store.Host{}, foreign: map[string]bool{}}
	d.mail = &post{harness: d}
	log := slog.New(slog.DiscardHandler)
	l := loop.New(loop.Config{
		Room: 10, Log: log, OnAttempt: func(context.Context, error) {}, Scarce: func(error) bool { return false }, Retryable: func(error) bool { return false },
	})
	l.Begin()
	d.work, d.end = context.WithCancel(t.Context())
	l.During(d.work)
	f := frontier.New(frontier.Config{HotHosts: 20_000}, l.Now())
	policy, _ := politeness.Preset(politeness.DefaultPreset)
	f.AddJob(frontier.Job{ID: open, Patience: time.Hour, Policy: func(string) *politeness.Policy { return &policy }})
	commits := committer.New(l, committer.Config{
		Store: d, Gap: time.Minute, Log: log, OnAttempt: func(context.Context, error) {}, Host: d.touched,
		Lease:          func(s store.Slot) (store.Lease, bool) { return store.Lease{Slot: s}, true },
		MaxLowPriority: func(int) int { return 0 },
		Sync:           func(context.Context) error { return nil },
		CommitContext:  func() (context.Context, context.CancelFunc) { return context.WithCancel(context.WithoutCancel(d.work)) },
		OnStored: func(_ time.Time, done *committer.Done) {
			for _, e := range done.Entries {
				e.Stored()
			}
		},
	})
	d.cfg = control.Config{
		Loop: l, Frontier: f, Commits: commits, Workers: 50, Log: log,
		Layers: func(time.Time) []gauge.Layer { return []gauge.Layer{{Name: "workers", Limit: 50, Use: 3}} },
	}
	return d
}

// newSolo is the harness of a crawl on one machine.
func newSolo(t *testing.T) *harness {
	d := newDesk(t)
	d.Control = control.NewSolo(d.cfg, control.Solo{
		Mail: d.mail, Job: open, JobStatus: d.jobStatus,
		StopDiscovery: func() (before bool) {
			before, d.enough = d.enough, true
			return before
		},
	})
	return d
}

// newWorker is the harness of a worker of a fleet.
func newWorker(t *testing.T) *harness {
	d := newDesk(t)
	d.Control = control.NewWorker(d.cfg, control.Worker{
		ID: self, Hosts: d, Mail: inStore{post: d.mail},
		Owns: func(s store.Slot) bool {
			for name := range d.foreign {
				if store.SlotOf(weburl.Key{}, name) == s {
					return false
				}
			}
			return true
		},
		Self:      func() ask.Worker { return ask.Worker{ID: self, Draining: d.drained > 0} },
		Drain:     func(time.Time) { d.drained++ },
		Poll:      func(now time.Time) time.Time { return now.Add(poll) },
		JobStatus: func(now time.Time, id job.ID) (control.JobStatus, bool) { return d.jobStatus(now), id == open },
	})
	return d
}

func (d *harness) jobStatus(time.Time) control.JobStatus {
	return control.JobStatus{
		Elapsed: time.Minute, Rate: 2.5, Spent: limit.Use{Pages: 40, Requests: 50, Bytes: 1000}, Stopped: d.enough, Stopping: "interrupted", Warnings: []string{"pages"},
		Ceilings: []limit.Ceiling{{Limit: limit.Pages, Layer: "job", Max: 100}, {Limit: limit.Depth, Layer: "job", Max: 3}},
		Counts: store.Counts{Waiting: 5, Ended: map[store.Ending]int64{
			{Outcome: visit.Skipped, Reason: visit.OutOfScope}: 2, {Outcome: visit.Fetched}: 30, {Outcome: visit.Skipped, Reason: visit.OptedOut}: 9,
		}},
	}
}

// touched returns a host of the frontier in its stored form.
func (d *harness) touched(name string) (committer.Host, bool) {
	v, ok := d.cfg.Frontier.View(name)
	h := store.Host{Host: name}
	if err := pace.Write(&h, v.State, pace.Stored{}); err != nil {
		d.Error(err)
	}
	return committer.Host{Host: h, Domain: v.Domain}, ok
}

// Commit implements the store.
func (d *harness) Commit(_ context.Context, c store.Commit) (store.Receipt, error) {
	<-time.After(commit) // virtual time
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commits = append(d.commits, c)
	for _, h := range c.Hosts {
		d.stored[h.Host] = h
		d.events = append(d.events, "stored "+h.Host)
	}
	return store.Receipt{}, nil
}

// Host implements the store.
func (d *harness) Host(_ context.Context, name string) (store.Host, error) {
	<-time.After(read) // virtual time
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.stored[name]
	if !ok {
		return h, store.ErrNotFound
	}
	return h, nil
}

// run runs the loop for a time.
func (d *harness) run(span time.Duration) {
	end := time.Now().Add(span)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for time.Now().Before(end) && d.cfg.Loop.Err() == nil {
		d.cfg.Commits.Start(d.work, d.cfg.Loop.Now(), false)
		select {
		case f := <-d.cfg.Loop.Answers():
			d.cfg.Loop.Take(f)
		case <-ticks.C:
			d.ReadMail(d.work)
		case <-time.After(time.Until(end)):
		}
	}
	synctest.Wait()
	if err := d.cfg.Loop.Err(); err != nil {
		d.Fatal(err)
	}
}

// close waits for background work.
func (d *harness) close() {
	d.end()
	d.cfg.Loop.End(func() {})
}

// schedule adds a host to the frontier, which then needs its state.
func (d *harness) schedule(name string) {
	d.Helper()
	u, err := store.ParseHost(name)
	if err != nil {
		d.Fatal(err)
	}
	now := d.cfg.Loop.Now()
	d.cfg.Frontier.Warm(now, u, []job.ID{open})
	d.cfg.Frontier.Next(now, 0, visit.WaitWorkers)
}

// load passes the state of a host to the frontier, as the engine does, and returns it.
func (d *harness) load(name string, s politeness.State) politeness.State {
	s = d.ApplyOrders(name, s)
	d.cfg.Frontier.Loaded(d.cfg.Loop.Now(), frontier.HostState{Host: name, State: s})
	return s
}

// live loads a host into memory.
func (d *harness) live(name string) {
	d.Helper()
	d.schedule(name)
	d.load(name, politeness.New(name))
}

// keep stores a host with an operator's interval.
func (d *harness) keep(name string, asked time.Duration) {
	h := store.Host{Host: name}
	if err := pace.Write(&h, politeness.New(name).WithAsked(asked), pace.Stored{}); err != nil {
		d.Fatal(err)
	}
	d.stored[name] = h
}

// kept returns the stored state of a host.
func (d *harness) kept(name string) (s politeness.State) {
	d.Helper()
	if err := s.UnmarshalBinary(d.stored[name].Politeness); err != nil {
		d.Fatalf("%s: %v", name, err)
	}
	return s
}

// post is a mailbox in memory, and the log of orders.
type post struct {
	harness *harness
	waiting []ask.Message
	bodies  []store.Message // messages to workers of a fleet
	replies map[string]ask.Answer
	size    int // of the last answer
	reads   int
	logged  []store.Order
}

// put sends a question with an id.
func (p *post) put(id string, q ask.Question) {
	p.harness.mu.Lock()
	defer p.harness.mu.Unlock()
	p.waiting = append(p.waiting, ask.Message{ID: id, Question: q})
}

// Receive implements [ask.Mail].
func (p *post) Receive(context.Context) ([]ask.Message, error) {
	p.harness.mu.Lock()
	defer p.harness.mu.Unlock()
	p.reads++
	list := p.waiting
	p.waiting = nil
	return list, nil
}

// Reply implements [ask.Mail].
func (p *post) Reply(_ context.Context, id string, a ask.Answer) error {
	p.harness.mu.Lock()
	defer p.harness.mu.Unlock()
	if p.replies == nil {
		p.replies = map[string]ask.Answer{}
	}
	p.replies[id] = a
	p.harness.events = append(p.harness.events, "replied "+id)
	return nil
}

// inStore is post as the store of a fleet offers it: a message stays until it is answered.
type inStore struct {
	store.Mail
	store.Control
	*post
}

// send sends a message to the worker.
func (p *post) send(id int, body string) {
	p.harness.mu.Lock()
	defer p.harness.mu.Unlock()
	p.bodies = append(p.bodies, store.Message{ID: store.MessageID(id), Body: []byte(body)})
}

// order sends a question to the worker.
func (p *post) order(id int, q ask.Question) {
	body, err := json.Marshal(q)
	if err != nil {
		p.harness.Fatal(err)
	}
	p.send(id, string(body))
}

func (s inStore) Messages(_ context.Context, _ time.Time, w store.WorkerID) ([]store.Message, error) {
	s.harness.mu.Lock()
	defer s.harness.mu.Unlock()
	if s.reads++; w != self {
		s.harness.Errorf("worker %d reads", w)
	}
	return slices.Clone(s.bodies), nil
}

func (s inStore) Reply(ctx context.Context, _ time.Time, w store.WorkerID, id store.MessageID, body []byte) error {
	if w != self {
		s.harness.Errorf("worker %d replies", w)
	}
	s.harness.mu.Lock()
	s.bodies = slices.DeleteFunc(s.bodies, func(l store.Message) bool { return l.ID == id })
	s.size = len(body)
	s.harness.mu.Unlock()
	var a ask.Answer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	return s.post.Reply(ctx, fmt.Sprint(id), a)
}

func (s inStore) LogOrder(_ context.Context, o store.Order) error {
	s.harness.mu.Lock()
	defer s.harness.mu.Unlock()
	s.logged = append(s.logged, o)
	s.harness.events = append(s.harness.events, "logged "+o.What)
	return nil
}
