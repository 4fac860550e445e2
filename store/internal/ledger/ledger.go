// Package ledger tracks ownership within one process: slots, workers and page tokens, for
// engines whose store is used by a single process.
//
// It is pure data in memory, shared by store/memory and store/sqlite, so that both follow
// the same rules; a fleet keeps the same facts in PostgreSQL. The caller locks it and
// writes to disk what must survive the process: the slots. Workers and tokens do not
// survive it.
package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/store"
)

// Ledger is the state. Make one with [New]. It is not safe for concurrent use.
type Ledger struct {
	Slots [store.SlotCount]Slot

	takeOver time.Duration
	watch    store.Watch
	workers  map[store.WorkerID]*worker
	last     store.WorkerID
	accounts map[job.ID]*account
	requests map[job.ID]store.RequestUse // of jobs with a request or byte limit
}

// Slot is the owner of a slot; 0 means none.
type Slot struct {
	Owner   store.WorkerID
	Fence   int64
	Unclean bool // the last owner did not release it
}

// worker is a process, or a part of one in tests, that has joined.
type worker struct {
	store.Worker
	commits int64 // number of the last commit
	tokens  map[job.ID]int64
}

// account is the page tokens of one job.
type account struct {
	limited bool
	left    int64 // tokens that no worker holds
	ended   bool  // the job has ended and gives no tokens
}

// New returns a ledger in which all slots are free. Worker numbers continue after last.
func New(t store.Terms, last store.WorkerID) *Ledger {
	return &Ledger{takeOver: t.WithDefaults().TakeOver, workers: map[store.WorkerID]*worker{}, last: last, accounts: map[job.ID]*account{}, requests: map[job.ID]store.RequestUse{}}
}

// Join adds a worker.
func (l *Ledger) Join(now time.Time, name string) store.WorkerID {
	l.last++
	l.workers[l.last] = &worker{Worker: store.Worker{ID: l.last, Name: name, JoinedAt: store.Stored(now), Lease: l.takeOver}, tokens: map[job.ID]int64{}}
	return l.last
}

// Last is the largest number given to a worker.
func (l *Ledger) Last() store.WorkerID { return l.last }

// Acquire removes workers whose heartbeat stopped and leases up to n free slots.
func (l *Ledger) Acquire(now time.Time, w store.WorkerID, n int) ([]store.Lease, error) {
	if l.workers[w] == nil {
		return nil, fmt.Errorf("acquire slots for worker %d: %w", w, store.ErrFenced)
	}
	for _, dead := range l.watch.Observe(now, l.takeOver, l.Workers()) {
		if dead != w {
			l.End(dead, true)
		}
	}
	var leases []store.Lease
	for i := range l.Slots {
		s := &l.Slots[i]
		if s.Owner != 0 || len(leases) >= n {
			continue
		}
		s.Owner = w
		s.Fence++
		leases = append(leases, store.Lease{Slot: store.Slot(i), Fence: s.Fence, Clean: !s.Unclean})
		s.Unclean = false
	}
	return leases, nil
}

// Renew changes a heartbeat.
func (l *Ledger) Renew(w store.WorkerID) error {
	x := l.workers[w]
	if x == nil {
		return fmt.Errorf("renew worker %d: %w", w, store.ErrFenced)
	}
	x.Heartbeat++
	return nil
}

// Release frees slots the worker holds.
func (l *Ledger) Release(w store.WorkerID, leases []store.Lease) {
	for _, lease := range leases {
		if l.holds(w, lease) {
			l.Slots[lease.Slot].Owner = 0
			l.Slots[lease.Slot].Fence++
		}
	}
}

func (l *Ledger) holds(w store.WorkerID, lease store.Lease) bool {
	return lease.Slot < store.SlotCount && l.Slots[lease.Slot].Owner == w && l.Slots[lease.Slot].Fence == lease.Fence
}

// End frees the slots and tokens of a worker and removes it. The fence is increased here,
// when the worker loses the slot, not when the next one gets it, so that nothing the
// worker still sends is accepted.
func (l *Ledger) End(w store.WorkerID, unclean bool) {
	x := l.workers[w]
	if x == nil {
		return
	}
	for i := range l.Slots {
		if s := &l.Slots[i]; s.Owner == w {
			*s = Slot{Fence: s.Fence + 1, Unclean: unclean}
		}
	}
	for id, n := range x.tokens {
		if a := l.accounts[id]; a != nil {
			a.left += n
		}
	}
	delete(l.workers, w)
}

// Workers lists the workers by number.
func (l *Ledger) Workers() []store.Worker {
	list := make([]store.Worker, 0, len(l.workers))
	for id, x := range l.workers {
		w := x.Worker
		for i := range l.Slots {
			if l.Slots[i].Owner == id {
				w.Slots++
			}
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b store.Worker) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Begin checks the right to commit: the worker is registered, and the fences are valid.
// repeated is true if a commit with this number was applied before.
func (l *Ledger) Begin(c *store.Commit) (repeated bool, err error) {
	w := l.workers[c.Worker]
	if w == nil {
		return false, fmt.Errorf("commit %d of worker %d: %w", c.Number, c.Worker, store.ErrFenced)
	}
	if c.Number <= w.commits {
		return true, nil
	}
	for _, lease := range c.Leases {
		if !l.holds(c.Worker, lease) {
			return false, fmt.Errorf("commit %d of worker %d: slot %d, fence %d: %w", c.Number, c.Worker, lease.Slot, lease.Fence, store.ErrFenced)
		}
	}
	return false, nil
}

// Spend is the tokens that a commit uses and returns.
type Spend struct {
	worker   *worker
	pages    map[job.ID]int64
	back     map[job.ID]int64
	requests map[job.ID]int64 // returned
}

// Spend computes the tokens of a commit that passed Begin, and rejects it if the worker
// does not hold enough. Nothing is changed yet.
func (l *Ledger) Spend(c *store.Commit) (Spend, error) {
	s := Spend{worker: l.workers[c.Worker], pages: map[job.ID]int64{}, back: map[job.ID]int64{}, requests: map[job.ID]int64{}}
	for i := range c.Visits {
		if v := &c.Visits[i]; v.Outcome.Page() && l.limited(v.Item.Job) {
			s.pages[v.Item.Job]++
		}
	}
	for _, r := range c.Returns {
		if l.limited(r.Job) {
			s.back[r.Job] += int64(r.Tokens)
		}
		s.requests[r.Job] += int64(r.Requests)
	}
	for id, n := range s.requests {
		if used := l.requests[id].Requests; n > used {
			return Spend{}, fmt.Errorf("commit %d of worker %d: job %d: %d requests of %d used: %w", c.Number, c.Worker, id, n, used, store.ErrTokens)
		}
	}
	for id, n := range s.total() {
		if held := s.worker.tokens[id]; n > held {
			return Spend{}, fmt.Errorf("commit %d of worker %d: job %d: %d tokens of %d held: %w", c.Number, c.Worker, id, n, held, store.ErrTokens)
		}
	}
	return s, nil
}

func (s Spend) total() map[job.ID]int64 {
	total := maps.Clone(s.pages)
	for id, n := range s.back {
		total[id] += n
	}
	return total
}

// Done records a commit that was applied.
func (l *Ledger) Done(c *store.Commit, s Spend) {
	s.worker.commits = c.Number
	for id, n := range s.total() {
		if s.worker.tokens[id] -= n; s.worker.tokens[id] == 0 {
			delete(s.worker.tokens, id)
		}
	}
	for id, n := range s.back {
		l.accounts[id].left += n
	}
	for id, n := range s.requests {
		if n > 0 {
			u := l.requests[id]
			u.Requests -= n
			l.requests[id] = u
		}
	}
}

func (l *Ledger) limited(id job.ID) bool { return l.accounts[id] != nil && l.accounts[id].limited }

// Known reports whether a job has an account.
func (l *Ledger) Known(id job.ID) bool { return l.accounts[id] != nil }

// SetLimit creates the account of a job or gives it a new page limit, 0 for none, with the
// pages used so far.
func (l *Ledger) SetLimit(id job.ID, limit, pages int64) {
	ended := l.accounts[id] != nil && l.accounts[id].ended
	if limit == 0 {
		l.CloseJob(id)
	}
	l.accounts[id] = &account{limited: limit > 0, left: limit - pages - l.Held(id), ended: ended}
}

// SetState records the new state of a job with an account. The account of a cancelled job
// is removed.
func (l *Ledger) SetState(id job.ID, s job.State) {
	if s == job.Cancelled {
		l.CloseJob(id)
		l.accounts[id] = &account{}
	}
	l.accounts[id].ended = s.Ended()
}

// CloseJob removes the account of a job and all tokens held for it.
func (l *Ledger) CloseJob(id job.ID) {
	delete(l.accounts, id)
	for _, w := range l.workers {
		delete(w.tokens, id)
	}
}

// DropJob forgets a job.
func (l *Ledger) DropJob(id job.ID) {
	l.CloseJob(id)
	delete(l.requests, id)
}

// Restore returns the tokens of pages that are fetched again.
func (l *Ledger) Restore(id job.ID, pages int64) {
	if l.limited(id) {
		l.accounts[id].left += pages
	}
}

// Held is how many tokens of a job are held by workers.
func (l *Ledger) Held(id job.ID) int64 {
	var n int64
	for _, w := range l.workers {
		n += w.tokens[id]
	}
	return n
}

// Reserve gives tokens to a worker.
func (l *Ledger) Reserve(w store.WorkerID, id job.ID, n int) (int, error) {
	x, a := l.workers[w], l.accounts[id]
	if x == nil {
		return 0, fmt.Errorf("reserve pages of job %d: %w", id, store.ErrFenced)
	}
	if a == nil {
		return 0, fmt.Errorf("reserve pages of job %d: %w", id, store.ErrNotFound)
	}
	if a.ended {
		return 0, nil
	}
	if !a.limited || n <= 0 {
		return max(n, 0), nil
	}
	got := store.Grant(a.left, n)
	a.left -= int64(got)
	if got > 0 {
		x.tokens[id] += int64(got)
	}
	return got, nil
}

// ReserveRequests gives requests to a worker. before is what the job has used if it had no
// such limit.
func (l *Ledger) ReserveRequests(r store.Reservation, before func() store.RequestUse) (store.Reserved, error) {
	a := l.accounts[r.Job]
	switch {
	case l.workers[r.Worker] == nil:
		return store.Reserved{}, fmt.Errorf("reserve requests of job %d: %w", r.Job, store.ErrFenced)
	case a == nil:
		return store.Reserved{}, fmt.Errorf("reserve requests of job %d: %w", r.Job, store.ErrNotFound)
	}
	used, ok := l.requests[r.Job]
	if !ok {
		used = before()
	}
	got := r.Grant(used, a.ended)
	l.requests[r.Job] = got.Use
	return got, nil
}

// StartAfter makes worker numbers continue after last.
func (l *Ledger) StartAfter(last store.WorkerID) { l.last = max(l.last, last) }

// Clone returns a copy that can be changed without changing l.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.watch = l.watch.Clone()
	c.workers = make(map[store.WorkerID]*worker, len(l.workers))
	for id, w := range l.workers {
		x := *w
		x.tokens = maps.Clone(w.tokens)
		c.workers[id] = &x
	}
	c.requests = maps.Clone(l.requests)
	c.accounts = make(map[job.ID]*account, len(l.accounts))
	for id, a := range l.accounts {
		x := *a
		c.accounts[id] = &x
	}
	return &c
}
