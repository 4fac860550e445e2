package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// oddClock is a clock of a database that differs.
type oddClock struct {
	offset, within time.Duration

	mu    sync.Mutex
	err   error
	asked int
}

func (c *oddClock) ClockOffset(context.Context, func() time.Time) (offset, within time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.offset, c.within, c.err
}

// set changes the clock, and returns how often it was asked before.
func (c *oddClock) set(offset time.Duration, err error) (asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset, c.err = offset, err
	return c.asked
}

// TestClock refuses clocks that differ by more than a second, and what a slow response cannot
// explain.
func TestClock(t *testing.T) {
	for _, test := range []struct {
		offset, within time.Duration
		want           string // "" for accepted
	}{
		{offset: 0},
		{offset: time.Second},
		{offset: -time.Second},
		{offset: 5 * time.Second, within: 4 * time.Second},
		{offset: 5 * time.Second, within: 3 * time.Second, want: "is 5s behind that of the database"},
		{offset: -time.Hour, want: "is 1h0m0s ahead of that of the database"},
	} {
		err := checkClock(t.Context(), &oddClock{offset: test.offset, within: test.within}, time.Now)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v within %v: %v", test.offset, test.within, err)
		}
	}
	if err := checkClock(t.Context(), &oddClock{err: errors.New("connection refused")}, time.Now); err == nil {
		t.Error("a database that does not answer was accepted")
	}
}

// TestWatchClock: work stops at the next check after the clock changed, and goes on while the
// database cannot be reached.
func TestWatchClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := &oddClock{}
		stopped := make(chan error, 1)
		go watchClock(ctx, db, time.Now, func(err error) { stopped <- err })
		time.Sleep(10 * clockEvery) // virtual
		if asked := db.set(time.Hour, errors.New("connection refused")); asked < 9 {
			t.Errorf("asked %d times in ten periods", asked)
		}
		time.Sleep(2 * clockEvery) // virtual
		if len(stopped) > 0 {
			t.Fatalf("stopped without a connection: %v", <-stopped)
		}
		db.set(time.Hour, nil)
		if _, ok := errors.AsType[*clockError](<-stopped); !ok {
			t.Error("stopped for another reason")
		}
	})
}
