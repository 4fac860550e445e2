package fetch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"headway/fetch/guard"
)

// budget is the memory shared by the bodies of all exchanges. An exchange that needs
// more than is free waits in a FIFO queue, and stops reading from its server.
//
// Exchanges that each hold a part and wait for more could deadlock. To prevent that,
// the first waiter that already holds memory may exceed the limit until it releases
// its memory; then the next one may. The limit is thus exceeded by the need of one
// exchange at most.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	express *hold // the one that may exceed the limit
	queue   list.List
	waits   uint64
	waited  time.Duration
}

// hold is the memory reserved by one exchange.
type hold struct {
	budget *budget
	size   int64
}

// waiter is a place in the queue.
type waiter struct {
	hold  *hold
	size  int64
	ready chan struct{} // closed when granted
}

func newBudget(limit int64) *budget { return &budget{limit: limit} }

// open returns an empty hold.
func (b *budget) open() *hold { return &hold{budget: b} }

// grow reserves n more bytes. If it has to wait, it calls pause before and resume
// after the wait. It fails only when ctx ends.
func (h *hold) grow(ctx context.Context, n int64, pause, resume func()) error {
	b := h.budget
	b.mu.Lock()
	if h == b.express || b.queue.Len() == 0 && b.used+n <= b.limit {
		h.take(n)
		b.mu.Unlock()
		return nil
	}
	w := &waiter{hold: h, size: n, ready: make(chan struct{})}
	place := b.queue.PushBack(w)
	b.grant()
	b.waits++
	b.mu.Unlock()

	pause()
	defer resume()
	start := time.Now()
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited += time.Since(start)
	select {
	case <-w.ready:
		return nil // granted just before ctx ended
	default:
	}
	b.queue.Remove(place)
	b.grant() // the waiters behind it may fit now
	return context.Cause(ctx)
}

// shrink releases n bytes.
func (h *hold) shrink(n int64) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	h.take(-n)
	b.grant()
}

// release releases everything.
func (h *hold) release() {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	h.take(-h.size)
	if b.express == h {
		b.express = nil
	}
	b.grant()
}

func (h *hold) take(n int64) {
	h.size += n
	h.budget.used += n
}

// grant serves the queue from its front. Callers hold b.mu.
func (b *budget) grant() {
	for e := b.queue.Front(); e != nil; e = b.queue.Front() {
		w := e.Value.(*waiter)
		if b.used+w.size > b.limit {
			break
		}
		b.serve(e, w)
	}
	if b.express != nil {
		return
	}
	for e := b.queue.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w.hold.size > 0 || b.used == 0 {
			b.express = w.hold
			b.serve(e, w)
			return
		}
	}
}

func (b *budget) serve(e *list.Element, w *waiter) {
	b.queue.Remove(e)
	w.hold.take(w.size)
	close(w.ready)
}

// layer reports usage and waits; Limit and Use are in KiB.
func (b *budget) layer() guard.Layer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return guard.Layer{
		Limit: int(b.limit >> 10), Use: int(b.used >> 10), Waiting: b.queue.Len(), Waits: b.waits, Waited: b.waited,
	}
}
