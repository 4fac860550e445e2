package fetch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"headway/fetch/guard"
)

// budget shares the memory of bodies between exchanges. Who needs more than is
// free waits, in order, and its server waits with it.
//
// Exchanges that each hold a part and wait for the rest could wait for each
// other for ever. So one of those that hold something, the first in line, may
// go beyond the limit until it gives its memory back; then the next one. The
// limit can thus be passed by the need of a single exchange.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	express *hold // the one that may go beyond the limit
	queue   list.List
	waits   uint64
	waited  time.Duration
}

// hold is the share of one exchange.
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

// grow adds n bytes to the share. If it has to wait, it calls pause before and
// resume after. It fails only with the end of ctx.
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
		return nil // granted, perhaps at the last moment
	default:
	}
	b.queue.Remove(place)
	b.grant() // who stood behind it may fit
	return context.Cause(ctx)
}

// shrink gives n bytes back.
func (h *hold) shrink(n int64) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	h.take(-n)
	b.grant()
}

// release gives everything back.
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

// grant serves the queue from its front. b.mu is held.
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

// layer reports use and waiting; Limit and Use are in KiB.
func (b *budget) layer() guard.Layer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return guard.Layer{
		Limit: int(b.limit >> 10), Use: int(b.used >> 10), Waiting: b.queue.Len(), Waits: b.waits, Waited: b.waited,
	}
}
