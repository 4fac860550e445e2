package robots

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// DefaultCacheBytes is the default memory limit for the compiled files of a process.
const DefaultCacheBytes = 256 << 20

// emptySum is the sum of an empty robots.txt.
var emptySum = Sum(sha256.Sum256(nil))

// ErrNotStored is returned, wrapped or not, by a [Source] without the body. The
// robots.txt then has to be fetched again: see [State.Forget].
var ErrNotStored = errors.New("robots.txt is not stored")

// Source loads stored bodies. Load returns the body with a sum, or [ErrNotStored]. It
// may block and is called concurrently, but never twice at once for the same sum.
type Source interface {
	LoadRobots(ctx context.Context, sum Sum) ([]byte, error)
}

// Cache is a cache of compiled files by sum, limited in bytes. Hosts hold sums, not
// files, so any number of hosts with the same robots.txt share one compiled form. A file
// that was not used since it was last considered for eviction is evicted first (second
// chance): so a file in memory is read without a lock.
//
// An eviction loses nothing: the body is in the store and is loaded again when needed,
// and a file already returned stays valid. A miss makes its caller wait for the store;
// there is no queue, so waiting callers are the only back-pressure.
//
// All methods are safe for concurrent use.
type Cache struct {
	source Source

	files sync.Map // of *cached, by Sum; changed under mu
	hits  atomic.Uint64

	mu      sync.Mutex
	queue   []*cached // the next to consider for eviction first
	loading map[Sum]*load
	stats   CacheStats
}

// cached is a file in the cache.
type cached struct {
	file *File
	used atomic.Bool // since it was last considered for eviction
}

// load is a running load that several callers may wait for.
type load struct {
	done chan struct{}
	file *File
	err  error
}

// CacheStats are the counters of a cache.
type CacheStats struct {
	Limit     int64  // bytes the cache may hold
	Bytes     int64  // bytes it holds
	Entries   int    // files it holds
	Loading   int    // files being loaded now
	Hits      uint64 // served from memory
	Misses    uint64 // waited for the source
	Evictions uint64 // files evicted to stay within the limit
}

// NewCache returns an empty cache of at most limit bytes; [DefaultCacheBytes] if limit
// is zero or less.
func NewCache(limit int64, source Source) *Cache {
	if limit <= 0 {
		limit = DefaultCacheBytes
	}
	return &Cache{
		source: source, loading: map[Sum]*load{}, stats: CacheStats{Limit: limit},
	}
}

// Put compiles a fetched body and returns the compiled form shared by all hosts with
// that body. Store the body ([Cut]) before relying on the sum.
func (c *Cache) Put(body []byte) *File {
	body = Cut(body)
	sum := Sum(sha256.Sum256(body))
	if f := c.Peek(sum); f != nil {
		return f
	}
	f := Parse(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.insert(f)
}

// Peek returns the file with a sum if it is in memory, otherwise nil.
func (c *Cache) Peek(sum Sum) *File {
	x, ok := c.files.Load(sum)
	if !ok {
		return nil
	}
	e := x.(*cached)
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.file
}

// Get returns the file with a sum, from memory or from the source. The error is the
// source's: [ErrNotStored] means that robots.txt must be fetched again, any other that
// the store failed.
func (c *Cache) Get(ctx context.Context, sum Sum) (*File, error) {
	if f := c.Peek(sum); f != nil {
		c.hits.Add(1)
		return f, nil
	}
	for missed := false; ; missed = true {
		c.mu.Lock()
		if f := c.Peek(sum); f != nil { // loaded meanwhile
			if !missed {
				c.hits.Add(1)
			}
			c.mu.Unlock()
			return f, nil
		}
		if !missed {
			c.stats.Misses++
		}
		l, waiting := c.loading[sum]
		if !waiting {
			l = &load{done: make(chan struct{})}
			c.loading[sum] = l
		}
		c.mu.Unlock()
		if !waiting {
			c.load(ctx, sum, l)
			return l.file, l.err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// Another caller's cancellation must not make this one fail: retry.
		if l.err == nil || !errors.Is(l.err, context.Canceled) && !errors.Is(l.err, context.DeadlineExceeded) {
			return l.file, l.err
		}
	}
}

// load loads the file from the source and wakes the waiters.
func (c *Cache) load(ctx context.Context, sum Sum, l *load) {
	defer func() {
		if l.file == nil && l.err == nil { // the source panicked: release the waiters
			l.err = fmt.Errorf("load robots.txt %s: interrupted", sum)
		}
		c.mu.Lock()
		delete(c.loading, sum)
		if l.file != nil {
			l.file = c.insert(l.file)
		}
		c.mu.Unlock()
		close(l.done)
	}()
	body := []byte(nil)
	if sum != emptySum { // an empty file is not stored
		var err error
		if body, err = c.source.LoadRobots(ctx, sum); err != nil {
			l.err = fmt.Errorf("load robots.txt %s: %w", sum, err)
			return
		}
	}
	f := Parse(body)
	if f.Sum() != sum {
		l.err = fmt.Errorf("load robots.txt %s: the stored body has sum %s: %w", sum, f.Sum(), ErrNotStored)
		return
	}
	l.file = f
}

// insert adds a file, or returns the one already there, and evicts others to stay within
// the limit. A file larger than the limit is not kept: it would evict all others. Callers
// hold the lock.
func (c *Cache) insert(f *File) *File {
	if held := c.Peek(f.Sum()); held != nil {
		return held
	}
	if cost(f) > c.stats.Limit {
		return f
	}
	for chances := len(c.queue); c.stats.Bytes+cost(f) > c.stats.Limit; chances-- {
		old := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		if old.used.Swap(false) && chances > 0 {
			c.queue = append(c.queue, old)
			continue
		}
		c.files.Delete(old.file.Sum())
		c.stats.Bytes -= cost(old.file)
		c.stats.Evictions++
	}
	e := &cached{file: f}
	c.queue = append(c.queue, e)
	c.files.Store(f.Sum(), e)
	c.stats.Bytes += cost(f)
	return f
}

// cost is the memory of a cached file, with its places in the map and the queue.
func cost(f *File) int64 {
	const places = 128
	return f.Size() + places
}

// Stats returns the current counters.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries, s.Loading, s.Hits = len(c.queue), len(c.loading), c.hits.Load()
	return s
}
