package simweb_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	jobs "headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// errKilled is what a killed process hears from its store, where it can still
// ask.
var errKilled = errors.New("killed")

// shelf is a store that notes when the last URL of each host ended, and that can
// be cut off from its process.
type shelf struct {
	*memory.Store
	killed  *atomic.Bool
	waiting map[string]int       // URLs of each host
	ended   map[string]time.Time // when a URL of it last did
	again   map[string]bool      // hosts of which something waits again that was put off
}

func newShelf() *shelf {
	killed := &atomic.Bool{}
	st := memory.Open(memory.Config{Fault: func(string) error {
		if killed.Load() {
			return errKilled
		}
		return nil
	}})
	return &shelf{Store: st, killed: killed, waiting: map[string]int{}, ended: map[string]time.Time{}, again: map[string]bool{}}
}

// revive lets a new process have what the killed one left.
func (s *shelf) revive() error {
	s.killed.Store(false)
	return s.Close()
}

// Add implements [store.URLs].
func (s *shelf) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	receipt, err := s.Store.Add(ctx, now, found)
	s.fresh(found, receipt)
	return receipt, err
}

func (s *shelf) fresh(found []store.Found, receipt store.Receipt) {
	for _, i := range receipt.Fresh {
		s.waiting[found[i].Item.URL.Host()]++
	}
}

// Commit implements [store.URLs]. There is one at a time.
func (s *shelf) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	receipt, err := s.Store.Commit(ctx, c)
	if err != nil || receipt.Repeated {
		return receipt, err
	}
	for i := range c.Visits {
		s.end(c.Visits[i].Item.URL.Host(), 1)
	}
	for _, p := range c.Parks {
		s.end(p.Host, s.waiting[p.Host])
	}
	s.fresh(c.Found, receipt)
	return receipt, nil
}

// Extend implements [store.Jobs]: what was put off waits again when a crawl goes on.
func (s *shelf) Extend(ctx context.Context, now time.Time, id jobs.ID, maxPages int64) error {
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
		s.waiting[host] += n
		s.again[host] = true
	}
	return nil
}

func (s *shelf) end(host string, n int) {
	s.waiting[host] -= n
	s.ended[host] = time.Now()
}
