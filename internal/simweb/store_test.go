package simweb_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	jobs "headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// errKilled is the error a killed process gets from its store.
var errKilled = errors.New("killed")

// meteredStore is a store that measures how long each host has work, and that can be disconnected
// from its process.
type meteredStore struct {
	*memory.Store
	killed *atomic.Bool

	mu      sync.Mutex // guards what follows
	waiting map[queue]int
	hosts   map[string]*work
}

// queue identifies the URLs of a job that wait on a host.
type queue struct {
	job  jobs.ID
	host string
}

// work is how long a host has had waiting URLs, in one life of a process.
type work struct {
	waiting int           // URLs of all jobs
	since   time.Time     // start of the current period, while waiting > 0
	before  time.Duration // sum of the finished periods
}

func newShelf(cfg memory.Config) *meteredStore {
	killed := &atomic.Bool{}
	cfg.Fault = func(string) error {
		if killed.Load() {
			return errKilled
		}
		return nil
	}
	return &meteredStore{Store: memory.Open(cfg), killed: killed, waiting: map[queue]int{}, hosts: map[string]*work{}}
}

// revive connects a new process after a kill.
func (s *meteredStore) revive() error {
	s.killed.Store(false)
	return s.Close()
}

// Add implements [store.URLs].
func (s *meteredStore) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	receipt, err := s.Store.Add(ctx, now, found)
	s.fresh(found, receipt)
	return receipt, err
}

func (s *meteredStore) fresh(found []store.Found, receipt store.Receipt) {
	for _, i := range receipt.Fresh {
		s.wait(found[i].Item.Job, found[i].Item.URL.Host(), 1)
	}
}

// Commit implements [store.URLs]. There is one at a time.
func (s *meteredStore) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	receipt, err := s.Store.Commit(ctx, c)
	if err != nil || receipt.Repeated {
		return receipt, err
	}
	for i := range c.Visits {
		s.wait(c.Visits[i].Item.Job, c.Visits[i].Item.URL.Host(), -1)
	}
	for _, p := range c.Parks {
		s.wait(p.Job, p.Host, -s.waits(p.Job, p.Host))
	}
	s.fresh(c.Found, receipt)
	return receipt, nil
}

// Extend implements [store.Jobs]: deferred URLs wait again when a crawl resumes.
func (s *meteredStore) Extend(ctx context.Context, now time.Time, id jobs.ID, maxPages int64) error {
	putOff := map[string]int{}
	for q := (store.Query{Job: id, Outcome: visit.Deferred, Max: store.MaxPage}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			putOff[page.Entries[i].Item.URL.Host()]++
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	if err := s.Store.Extend(ctx, now, id, maxPages); err != nil {
		return err
	}
	for host, n := range putOff {
		s.wait(id, host, n)
	}
	return nil
}

// waits is how many URLs of a job wait on a host.
func (s *meteredStore) waits(id jobs.ID, host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[queue{id, host}]
}

// wait adds n URLs of a job to those that wait on a host; n < 0 removes them.
func (s *meteredStore) wait(id jobs.ID, host string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[queue{id, host}] += n
	h := s.hosts[host]
	if h == nil {
		h = &work{}
		s.hosts[host] = h
	}
	idle := h.waiting == 0
	switch h.waiting += n; {
	case idle:
		h.since = time.Now()
	case h.waiting == 0:
		h.before += time.Since(h.since)
	}
}

// begin starts the measurement for a new life of a process.
func (s *meteredStore) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		h.since, h.before = time.Now(), 0
	}
}

// worked is how long each host of a world has had work since [meteredStore.begin].
func (s *meteredStore) worked(w *world) map[*host]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	worked := map[*host]time.Duration{}
	for name, h := range s.hosts {
		worked[w.names[name]] = h.before
		if h.waiting > 0 {
			worked[w.names[name]] += time.Since(h.since)
		}
	}
	return worked
}
