package ownership_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway/internal/fetchpool"
	"headway/internal/ownership"
	"headway/store"
)

var errOther = errors.New("something else")

var _ fetchpool.Lease = ownership.Grant{}

// leased is a lease and what happened to it.
type leased struct {
	*ownership.Lease
	store  atomic.Pointer[func() ([]string, error)] // what a renewal returns
	work   context.Context                          // which it ends
	failed error
	lost   []string
	severs int
}

// answers sets what a renewal returns.
func (l *leased) answers(f func() ([]string, error)) { l.store.Store(&f) }

// ended is why the work ended; nil while it runs.
func (l *leased) ended() error { return context.Cause(l.work) }

// newLeased returns a lease that is renewed now and kept until the test ends.
func newLeased(t *testing.T, resumes bool) *leased {
	t.Helper()
	l := &leased{}
	l.answers(func() ([]string, error) { return nil, nil })
	work, end := context.WithCancelCause(t.Context())
	l.Lease = ownership.NewLease(ownership.LeaseConfig{
		Terms: store.Terms{}.WithDefaults(), Resumes: resumes,
		Renew: func(context.Context) ([]string, error) { return (*l.store.Load())() },
		Sever: func() { l.severs++ },
		Lost:  func(_ time.Duration, lost []string, then func()) { l.lost = append(l.lost, lost...); then() },
		End:   end,
		Fail:  func(err error) { l.failed = err },
	}, time.Now())
	l.work = work
	l.Begin(work)
	done := make(chan struct{})
	go func() { l.Keep(work); close(done) }()
	t.Cleanup(func() { end(nil); <-done })
	return l
}

// TestLeaseKept renews a lease as long as it runs: requests may start at any time.
func TestLeaseKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(t, false)
		for range 200 {
			time.Sleep(time.Second)
			if now := time.Now(); !l.MayStart(now) || l.Expired(now) || l.ForRequest().Fence() != nil {
				t.Fatalf("a lease that is renewed has run out: %v", l.Tenure())
			}
		}
		if l.ForRequest().Context(t.Context()) != t.Context() {
			t.Error("a worker of a fleet has one epoch only")
		}
	})
}

// TestLeaseExpires ends a fleet worker whose store does not respond, before others may take
// its slots.
func TestLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, terms := newLeased(t, false), store.Terms{}.WithDefaults()
		l.answers(func() ([]string, error) { return nil, errors.New("no answer") })
		began := time.Now()
		<-l.work.Done()
		if took := time.Since(began); took > terms.TakeOver {
			t.Errorf("its work ended %v after the last renewal; others may take it over after %v", took, terms.TakeOver)
		}
		synctest.Wait()
		if !errors.Is(l.ended(), ownership.ErrExpired) || !errors.Is(l.ForRequest().Fence(), ownership.ErrExpired) || l.failed == nil {
			t.Errorf("ended with %v, fence %v, failed with %v", l.ended(), l.ForRequest().Fence(), l.failed)
		}
	})
}

// TestLeaseFenced ends at once when the store says that others have taken over.
func TestLeaseFenced(t *testing.T) {
	for name, resumes := range map[string]bool{"alone": true, "fleet": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLeased(t, resumes)
				l.answers(func() ([]string, error) { return nil, store.ErrFenced })
				time.Sleep(store.Terms{}.WithDefaults().Renew)
				synctest.Wait()
				if !errors.Is(l.ended(), store.ErrFenced) || !errors.Is(l.failed, store.ErrFenced) {
					t.Errorf("ended with %v, failed with %v", l.ended(), l.failed)
				}
			})
		})
	}
}

// TestLeaseResumes starts a new epoch after the process was suspended: older requests are
// not sent, connections are closed, and the domains that others took are known.
func TestLeaseResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, terms := newLeased(t, true), store.Terms{}.WithDefaults()
		before := l.ForRequest()
		hang := make(chan struct{})
		l.answers(func() ([]string, error) { <-hang; return nil, errors.New("too late") })
		time.Sleep(terms.Cancel)
		synctest.Wait()
		if cause := context.Cause(before.Context(t.Context())); !errors.Is(cause, ownership.ErrExpired) || !before.Interrupted() || !errors.Is(before.LocalError(errOther), ownership.ErrExpired) {
			t.Fatalf("a request of a process that was stopped is in flight: %v, interrupted %v, its trouble %v", cause, before.Interrupted(), before.LocalError(errOther))
		}
		l.answers(func() ([]string, error) { return []string{"taken.example"}, nil })
		close(hang)
		time.Sleep(2 * terms.Renew)
		synctest.Wait()
		after := l.ForRequest()
		if err := after.MayStart(time.Now()); err != nil || after.Interrupted() || after.LocalError(errOther) != nil {
			t.Errorf("it does not resume: %v, interrupted %v, local error %v", err, after.Interrupted(), after.LocalError(errOther))
		}
		if err := before.MayStart(time.Now()); !errors.Is(err, ownership.ErrExpired) || !before.Interrupted() || before.Fence() != nil {
			t.Errorf("what was handed out before is sent: %v, interrupted %v, fence %v", err, before.Interrupted(), before.Fence())
		}
		if l.severs == 0 || !slices.Contains(l.lost, "taken.example") || l.ended() != nil {
			t.Errorf("connections closed %d times, lost %v, ended with %v", l.severs, l.lost, l.ended())
		}
	})
}

// TestLeaseSuspendedInRenewal: a process that is suspended while it renews its lease goes on
// afterwards, although the renewal took longer than a lease. One that fails again ends.
func TestLeaseSuspendedInRenewal(t *testing.T) {
	for name, again := range map[string]error{"renewed": nil, "not renewed": context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			l, terms := newLeased(t, true), store.Terms{}.WithDefaults()
			l.answers(func() ([]string, error) {
				time.Sleep(10 * terms.TakeOver) // the suspension
				l.answers(func() ([]string, error) { return nil, again })
				return nil, context.DeadlineExceeded
			})
			time.Sleep(12 * terms.TakeOver) // virtual time
			synctest.Wait()
			if over := l.failed != nil; over != (again != nil) || over != (l.ended() != nil) {
				t.Errorf("%s: failed %v, ended %v", name, l.failed, l.ended())
			}
		})
	}
}

// TestLeaseLost starts a new epoch if others have taken domains although the lease held.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(t, true)
		before := l.ForRequest()
		l.answers(func() ([]string, error) { return []string{"taken.example"}, nil })
		time.Sleep(store.Terms{}.WithDefaults().Renew)
		synctest.Wait()
		if !before.Interrupted() || l.ForRequest() == before || len(l.lost) == 0 || l.severs == 0 {
			t.Errorf("interrupted %v, lost %v, connections closed %d times", before.Interrupted(), l.lost, l.severs)
		}
	})
}
