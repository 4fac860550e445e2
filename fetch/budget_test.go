package fetch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func nothing() {}

// holdOf reserves n bytes, which must be free.
func holdOf(t *testing.T, b *budget, n int64) *hold {
	t.Helper()
	h := b.open()
	if err := h.grow(t.Context(), n, nothing, nothing); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestBudgetWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		first := holdOf(t, b, 90)
		var served atomic.Int64
		var wg sync.WaitGroup
		for _, n := range []int64{50, 10, 40} { // the second would fit, but must not overtake the first
			wg.Go(func() {
				h := b.open()
				paused := 0
				if err := h.grow(t.Context(), n, func() { paused++ }, func() { paused-- }); err != nil || paused != 0 {
					t.Error(err, paused)
				}
				served.Add(1)
			})
			synctest.Wait()
		}
		if layer := b.layer(); layer.Waiting != 3 || served.Load() != 0 {
			t.Errorf("%d waiting, %d served", layer.Waiting, served.Load())
		}
		time.Sleep(time.Second)
		first.release()
		wg.Wait()
		if layer := b.layer(); layer.Waits != 3 || layer.Waited != 3*time.Second || layer.Waiting != 0 {
			t.Errorf("layer %+v", layer)
		}
	})
}

// TestBudgetAvoidsDeadlock: two exchanges that hold all memory and both need more
// must not deadlock.
func TestBudgetAvoidsDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		one, two := holdOf(t, b, 50), holdOf(t, b, 50)
		if err := one.grow(t.Context(), 70, nothing, nothing); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- two.grow(t.Context(), 10, nothing, nothing) }()
		synctest.Wait()
		if b.used != 170 || b.queue.Len() != 1 {
			t.Errorf("%d used, %d waiting: only one may go beyond the limit", b.used, b.queue.Len())
		}
		if err := one.grow(t.Context(), 5, nothing, nothing); err != nil {
			t.Fatal(err)
		}
		one.release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		two.release()
		if b.used != 0 || b.express != nil {
			t.Errorf("%d used at the end", b.used)
		}
	})
}

func TestBudgetWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		first := holdOf(t, b, 100)
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		late := make(chan error)
		go func() { late <- b.open().grow(ctx, 200, nothing, nothing) }()
		synctest.Wait()
		behind := make(chan error)
		go func() { behind <- b.open().grow(t.Context(), 1, nothing, nothing) }()
		synctest.Wait()
		first.shrink(10) // not enough for the first in the queue
		cancel(stop)
		if err := <-late; !errors.Is(err, stop) {
			t.Error(err)
		}
		if err := <-behind; err != nil { // fits now that the first in the queue has left
			t.Error(err)
		}
	})
}

// TestBudgetUnderRandomLoad lets many exchanges grow and shrink at random: all finish, and
// at most one exceeds the limit at a time.
func TestBudgetUnderRandomLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, most = 1000, 300
		b := newBudget(limit)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 50 {
					h := b.open()
					for h.size < most {
						if err := h.grow(t.Context(), 1+rand.Int64N(most-h.size), nothing, nothing); err != nil {
							t.Error(err)
						}
						b.mu.Lock()
						if b.used > limit+most {
							t.Errorf("%d used", b.used)
						}
						b.mu.Unlock()
						time.Sleep(time.Duration(rand.Int64N(1000)))
						if rand.IntN(4) == 0 {
							break
						}
					}
					h.release()
				}
			})
		}
		wg.Wait()
		if b.used != 0 || b.queue.Len() != 0 {
			t.Errorf("%d used, %d waiting at the end", b.used, b.queue.Len())
		}
	})
}

// TestBodiesWaitForMemory fetches more than fits: open results block the others until
// they are closed.
func TestBodiesWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 500 << 10
		c, _ := newPiped(t, Config{BodyMemory: 4 << 20, MaxBody: 1 << 20}, say(response("", []byte(strings.Repeat("x", size)))))
		results := make(chan *Result, 100)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				r, err := c.Do(t.Context(), Request{URL: mustURL(fmt.Sprintf("http://h%d.test/", i))})
				if err != nil {
					t.Error(err)
				}
				results <- r
			})
		}
		closed := 0
		for closed < 40 {
			synctest.Wait()
			layer := c.budget.layer()
			if layer.Use > 4<<10+2<<10 {
				t.Errorf("%d KiB in use", layer.Use)
			}
			if closed == 0 && layer.Waiting == 0 {
				t.Error("no exchange waits")
			}
			r := <-results
			if len(r.Body) != size {
				t.Errorf("%d bytes", len(r.Body))
			}
			r.Close()
			r.Close() // closing twice is allowed
			closed++
		}
		wg.Wait()
		if use := c.budget.layer().Use; use != 0 {
			t.Errorf("%d KiB not given back", use)
		}
	})
}
