package robots

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memSource is a store of bodies for tests.
type memSource struct {
	mu     sync.Mutex
	bodies map[Sum][]byte
	loads  atomic.Int64
	gate   chan struct{} // if set, a load waits for it or for its context
}

func (s *memSource) put(body string) Sum {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[Sum][]byte{}
	}
	sum := Sum(sha256.Sum256([]byte(body)))
	s.bodies[sum] = []byte(body)
	return sum
}

func (s *memSource) LoadRobots(ctx context.Context, sum Sum) ([]byte, error) {
	s.loads.Add(1)
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.bodies[sum]
	if !ok {
		return nil, ErrNotStored
	}
	return body, nil
}

func TestCacheShares(t *testing.T) {
	src := &memSource{}
	c := NewCache(0, src)
	if got := c.Stats().Limit; got != DefaultCacheBytes {
		t.Errorf("limit %d", got)
	}
	first := c.Put([]byte(someRules))
	for range 1000 {
		if c.Put([]byte(someRules)) != first {
			t.Fatal("the same body was compiled twice")
		}
	}
	f, err := c.Get(t.Context(), first.Sum())
	if err != nil || f != first {
		t.Errorf("Get: %v, %v", f, err)
	}
	// Bodies that differ only after the limit are one file.
	long := append([]byte(someRules), make([]byte, MaxBytes)...)
	if c.Put(long) != first {
		t.Error("what lies behind the limit makes another file")
	}
	s := c.Stats()
	if s.Entries != 1 || s.Hits != 1 || s.Misses != 0 || src.loads.Load() != 0 {
		t.Errorf("stats %+v, %d loads", s, src.loads.Load())
	}
}

func TestCacheBound(t *testing.T) {
	src := &memSource{}
	bodies := make([]Sum, 20)
	for i := range bodies {
		bodies[i] = src.put(fmt.Sprintf("User-agent: *\nDisallow: /%02d\n", i))
	}
	one := cost(Parse(src.bodies[bodies[0]]))
	c := NewCache(4*one, src)
	held := []*File{}
	for _, sum := range bodies {
		f, err := c.Get(t.Context(), sum)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, f)
		if s := c.Stats(); s.Bytes > s.Limit {
			t.Fatalf("holds %d of %d bytes", s.Bytes, s.Limit)
		}
		if _, err := c.Get(t.Context(), bodies[0]); err != nil { // keeps it recent
			t.Fatal(err)
		}
	}
	s := c.Stats()
	if s.Entries != 4 || s.Evictions != 16 || s.Misses != 20 || s.Hits != 20 {
		t.Errorf("stats %+v", s)
	}
	// The one in use stayed; an evicted one is loaded again, and its holder is not
	// affected.
	if f, err := c.Get(t.Context(), bodies[0]); err != nil || f != held[0] {
		t.Errorf("the most used file was dropped: %v", err)
	}
	f, err := c.Get(t.Context(), bodies[1])
	if err != nil || f == held[1] || f.Sum() != held[1].Sum() {
		t.Errorf("evicted file: %v, same %v", err, f == held[1])
	}
	if d := held[1].Decide(ourAgent, parseURL(t, "https://site.test/01")); d.Allowed {
		t.Error("an evicted file forgot its rules")
	}
}

func TestCacheSkipsTooLargeFiles(t *testing.T) {
	small := Parse([]byte(someRules))
	c := NewCache(2*cost(small), &memSource{})
	c.Put([]byte(someRules))
	if f := c.Put([]byte(shop(200))); !f.Binding() {
		t.Error("the large file was not compiled")
	}
	if s := c.Stats(); s.Entries != 1 || s.Evictions != 0 {
		t.Errorf("stats %+v: the small file should have stayed alone", s)
	}
}

func TestCacheErrors(t *testing.T) {
	src := &memSource{}
	c := NewCache(0, src)
	if _, err := c.Get(t.Context(), Sum{1}); !errors.Is(err, ErrNotStored) {
		t.Errorf("unknown sum: %v", err)
	}
	sum := src.put(someRules)
	src.bodies[sum] = []byte(banAll)
	if _, err := c.Get(t.Context(), sum); !errors.Is(err, ErrNotStored) {
		t.Errorf("changed body: %v", err)
	}
	src.bodies[sum] = []byte(someRules)
	if _, err := c.Get(t.Context(), sum); err != nil {
		t.Errorf("an error was remembered: %v", err)
	}
	if f, err := c.Get(t.Context(), emptySum); err != nil || f.Binding() {
		t.Errorf("empty file: %v", err)
	}
}

func TestCacheLoadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &memSource{gate: make(chan struct{})}
		sum := src.put(someRules)
		c := NewCache(0, src)
		files := make([]*File, 50)
		var wg sync.WaitGroup
		for i := range files {
			wg.Go(func() {
				f, err := c.Get(t.Context(), sum)
				if err != nil {
					t.Error(err)
				}
				files[i] = f
			})
		}
		synctest.Wait()
		if s := c.Stats(); s.Loading != 1 || s.Misses != 50 {
			t.Errorf("while loading: %+v", s)
		}
		close(src.gate)
		wg.Wait()
		for _, f := range files {
			if f != files[0] {
				t.Error("callers got different files")
			}
		}
		if src.loads.Load() != 1 || c.Stats().Loading != 0 {
			t.Errorf("%d loads, %d still loading", src.loads.Load(), c.Stats().Loading)
		}
	})
}

// TestCacheCallerGivesUp: when the first caller is cancelled, the others still get
// their file, and a cancelled caller does not wait for the store.
func TestCacheCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &memSource{gate: make(chan struct{})}
		sum := src.put(someRules)
		c := NewCache(0, src)
		first, leave := context.WithCancel(t.Context())
		second, leaveToo := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(first, sum); !errors.Is(err, context.Canceled) {
				t.Errorf("first: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if f, err := c.Get(t.Context(), sum); err != nil || f == nil {
				t.Errorf("patient: %v", err)
			}
		})
		wg.Go(func() {
			if _, err := c.Get(second, sum); !errors.Is(err, context.Canceled) {
				t.Errorf("second: %v", err)
			}
		})
		synctest.Wait()
		leaveToo()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(src.gate)
		wg.Wait()
		if n := src.loads.Load(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
	})
}

// panicking is a source that panics.
type panicking struct{}

func (panicking) LoadRobots(context.Context, Sum) ([]byte, error) { panic("broken source") }

func TestCacheSourcePanics(t *testing.T) {
	c := NewCache(0, panicking{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Get(t.Context(), Sum{1})
	}()
	if s := c.Stats(); s.Loading != 0 {
		t.Errorf("%d loads are stuck", s.Loading)
	}
}

func TestCacheConcurrently(t *testing.T) {
	src := &memSource{}
	var sums []Sum
	for i := range 40 {
		sums = append(sums, src.put(shop(i)))
	}
	c := NewCache(30_000, src)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				sum := sums[(i*7+g*3)%len(sums)]
				f, err := c.Get(t.Context(), sum)
				if err != nil || f.Sum() != sum {
					t.Errorf("Get: %v", err)
					return
				}
				f.For(ourAgent)
				if s := c.Stats(); s.Bytes > s.Limit {
					t.Errorf("holds %d of %d bytes", s.Bytes, s.Limit)
				}
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Hits+s.Misses != 1600 || s.Evictions == 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestCacheReadsWithoutLock: a file in memory is returned while another is added.
func TestCacheReadsWithoutLock(t *testing.T) {
	c := NewCache(0, &memSource{})
	held := c.Put([]byte(someRules))
	c.mu.Lock()
	defer c.mu.Unlock()
	read := make(chan *File, 3)
	go func() {
		f, err := c.Get(t.Context(), held.Sum())
		if err != nil {
			t.Error(err)
		}
		read <- f
		read <- c.Peek(held.Sum())
		read <- c.Put([]byte(someRules))
	}()
	for range cap(read) {
		select {
		case f := <-read:
			if f != held {
				t.Error("another file")
			}
		case <-time.After(10 * time.Second): // only if it waits for the lock
			t.Fatal("reading a file in memory waits for the lock")
		}
	}
}

// BenchmarkCacheGet reads files in memory from many workers.
func BenchmarkCacheGet(b *testing.B) {
	c := NewCache(0, &memSource{})
	var sums []Sum
	for i := range 64 {
		sums = append(sums, c.Put([]byte(shop(i))).Sum())
	}
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := c.Get(b.Context(), sums[i%len(sums)]); err != nil {
				b.Error(err)
			}
		}
	})
}
