package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oddClock is a clock of a database that differs.
type oddClock struct {
	offset, within time.Duration
	err            error
	asked          int
}

func (c *oddClock) ClockOffset(context.Context, func() time.Time) (offset, within time.Duration, err error) {
	c.asked++
	return c.offset, c.within, c.err
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

// TestWatchClock: work stops within a minute after the clock changed, and goes on while the
// database cannot be reached.
func TestWatchClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := &oddClock{}
		var stopped error
		go watchClock(ctx, db, time.Now, func(err error) { stopped = err })
		time.Sleep(10 * clockEvery) // virtual
		synctest.Wait()
		if stopped != nil || db.asked < 9 {
			t.Fatalf("stopped %v, asked %d times", stopped, db.asked)
		}
		db.offset, db.err = time.Hour, errors.New("connection refused")
		time.Sleep(2 * clockEvery) // virtual
		synctest.Wait()
		if stopped != nil {
			t.Fatalf("stopped without a connection: %v", stopped)
		}
		db.err = nil
		time.Sleep(clockEvery) // virtual
		synctest.Wait()
		if _, ok := errors.AsType[*clockError](stopped); !ok {
			t.Errorf("stopped %v", stopped)
		}
	})
}
