package api

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/store"
)

// keyBase is a database in which each lookup takes a second. A lookup returns what was
// stored when it began.
type keyBase struct {
	mu      sync.Mutex
	key     store.APIKey
	err     error
	panics  bool
	lookups int
	running int
	most    int
}

func (b *keyBase) read(ctx context.Context, id string) (store.APIKey, error) {
	b.mu.Lock()
	key, err, panics := b.key, b.err, b.panics
	key.ID = id
	b.lookups++
	b.running++
	b.most = max(b.most, b.running)
	b.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	b.running--
	b.mu.Unlock()
	if panics {
		panic("no memory")
	}
	return key, err
}

// change changes the database.
func (b *keyBase) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// kept is the number of lookups under way.
func (k *keys) kept() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.running)
}

// TestKeysShare: requests that arrive while a lookup runs share the next one, each key has
// its own, and nothing is kept afterwards.
func TestKeysShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &keyBase{}
		k := newKeys(b.read)
		var wg sync.WaitGroup
		began := time.Now()
		find := func(id string, want time.Duration) {
			wg.Go(func() {
				key, err := k.find(t.Context(), id)
				if took := time.Since(began); err != nil || key.ID != id || took != want {
					t.Errorf("key %s after %v: %q, %v, want it after %v", id, took, key.ID, err, want)
				}
			})
		}
		find("a", time.Second)
		synctest.Wait()
		for range 100 {
			find("a", 2*time.Second)
		}
		find("b", time.Second)
		synctest.Wait()
		if n := k.kept(); n != 2 {
			t.Errorf("%d keys are looked up, want 2", n)
		}
		time.Sleep(1500 * time.Millisecond) // in virtual time; the second lookup runs
		find("a", 3*time.Second)
		wg.Wait()
		synctest.Wait()
		if b.lookups != 4 || b.most != 2 || k.kept() != 0 {
			t.Errorf("%d lookups, %d at once, %d kept, want 4, 2 and 0", b.lookups, b.most, k.kept())
		}
	})
}

// TestKeysAfterRevocation: a request that arrives after a key was revoked does not get the
// key of a lookup that began before.
func TestKeysAfterRevocation(t *testing.T) {
	for _, at := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} { // in the first lookup, in the second
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &keyBase{}
				k := newKeys(b.read)
				var wg sync.WaitGroup
				find := func(revoked bool) {
					wg.Go(func() {
						key, err := k.find(t.Context(), "a")
						if err != nil || key.RevokedAt.IsZero() == revoked {
							t.Errorf("revoked at %v, %v, want it revoked: %v", key.RevokedAt, err, revoked)
						}
					})
					synctest.Wait()
				}
				find(false)
				find(at < time.Second) // starts after the first, which is before or after the revocation
				time.Sleep(at)         // in virtual time
				b.change(func() { b.key.RevokedAt = time.Now() })
				for range 3 {
					find(true)
				}
				wg.Wait()
			})
		})
	}
}

// TestKeysOfClientsThatLeave: a client that leaves waits no longer, and the others still get
// the key.
func TestKeysOfClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &keyBase{}
		k := newKeys(b.read)
		var wg sync.WaitGroup
		began := time.Now()
		for range 2 { // the first of both lookups
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := k.find(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
					t.Errorf("a client that left: %v after %v", err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			if key, err := k.find(t.Context(), "a"); err != nil || key.ID != "a" || time.Since(began) != 2*time.Second {
				t.Errorf("a client that stayed: %q, %v after %v", key.ID, err, time.Since(began))
			}
		})
		wg.Wait()
		synctest.Wait()
		if n := k.kept(); n != 0 {
			t.Errorf("%d lookups are kept", n)
		}
	})
}

// TestKeysFail: an error, a panic and a database that does not respond are the error of all
// requests that wait, and of no later one.
func TestKeysFail(t *testing.T) {
	lost := errors.New("connection lost")
	for name, c := range map[string]struct {
		fail func(*keyBase)
		want error // nil for any
	}{
		"error": {func(b *keyBase) { b.err = lost }, lost},
		"panic": {func(b *keyBase) { b.panics = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &keyBase{}
				k := newKeys(b.read)
				c.fail(b)
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						key, err := k.find(t.Context(), "a")
						if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && key != (store.APIKey{}) {
							t.Errorf("%+v, %v", key, err)
						}
					})
				}
				wg.Wait()
				b.change(func() { b.err, b.panics = nil, false })
				if _, err := k.find(t.Context(), "a"); err != nil || k.kept() != 0 {
					t.Errorf("later: %v, %d kept", err, k.kept())
				}
			})
		})
	}
	t.Run("no response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newKeys(func(ctx context.Context, _ string) (store.APIKey, error) {
				<-ctx.Done()
				return store.APIKey{}, ctx.Err()
			})
			began := time.Now()
			if _, err := k.find(t.Context(), "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != keyTimeout {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
}

// TestKeysAtOnce: when the lookups of many keys hang, no more are added that outlive their
// clients, and a request with another key still gets it.
func TestKeysAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &keyBase{}
		k := newKeys(b.read)
		var wg sync.WaitGroup
		for i := range maxKeyLookups {
			wg.Go(func() { _, _ = k.find(t.Context(), strconv.Itoa(i)) })
		}
		synctest.Wait()
		for _, id := range []string{"another", "0"} {
			wg.Go(func() {
				if key, err := k.find(t.Context(), id); err != nil || key.ID != id {
					t.Errorf("key %s: %q, %v", id, key.ID, err)
				}
			})
		}
		synctest.Wait()
		if n := k.kept(); n != maxKeyLookups {
			t.Errorf("%d keys are looked up, want %d", n, maxKeyLookups)
		}
		wg.Wait()
	})
}
