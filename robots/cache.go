package robots

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
)

// DefaultCacheBytes is how much memory the compiled files of one process take
// by default.
const DefaultCacheBytes = 256 << 20

// emptySum names the empty robots.txt.
var emptySum = Sum(sha256.Sum256(nil))

// ErrNotStored is returned, wrapped or not, by a [Source] that does not have a
// body. The host's robots.txt has to be fetched again: see [State.Forget].
var ErrNotStored = errors.New("robots.txt is not stored")

// Source is where bodies are kept: the store. Load returns the body that has a
// sum, or [ErrNotStored]. It may block and is called concurrently, but never
// twice at once for the same sum.
type Source interface {
	LoadRobots(ctx context.Context, sum Sum) ([]byte, error)
}

// Cache keeps compiled files by their sum within a bound of bytes, the least
// recently used going first. Hosts hold sums, not files, so any number of
// hosts with the same robots.txt share one compiled form.
//
// Nothing is lost by an eviction: the body is in the store and comes back on
// the next question, and a file handed out stays valid for whoever holds it. A
// miss makes its caller wait for the store; there is no queue, so waiting
// callers are the only back-pressure and the only bound needed.
//
// All methods may be called concurrently.
type Cache struct {
	source Source

	mu      sync.Mutex
	files   map[Sum]*list.Element // of *File
	recent  *list.List            // most recently used in front
	loading map[Sum]*load
	stats   CacheStats
}

// load is a question to the source that several callers may wait for.
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
	Hits      uint64 // answered from memory
	Misses    uint64 // had to wait for the source
	Evictions uint64 // files dropped to stay within the limit
}

// NewCache returns an empty cache of at most limit bytes, [DefaultCacheBytes]
// where limit is zero or less.
func NewCache(limit int64, source Source) *Cache {
	if limit <= 0 {
		limit = DefaultCacheBytes
	}
	return &Cache{
		source: source,
		files:  map[Sum]*list.Element{}, recent: list.New(), loading: map[Sum]*load{},
		stats: CacheStats{Limit: limit},
	}
}

// Put compiles a freshly fetched body and returns the one form shared by all
// who have that body. Store the body ([Cut]) before the sum is relied on.
func (c *Cache) Put(body []byte) *File {
	body = Cut(body)
	sum := Sum(sha256.Sum256(body))
	c.mu.Lock()
	f := c.lookup(sum)
	c.mu.Unlock()
	if f != nil {
		return f
	}
	f = Parse(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.insert(f)
}

// Peek returns the file with a sum if it is in memory, else nil.
func (c *Cache) Peek(sum Sum) *File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookup(sum)
}

// Get returns the file with a sum, from memory or from the source. The error
// is the source's: with [ErrNotStored] the host has to be asked again, any
// other one means that the store could not answer.
func (c *Cache) Get(ctx context.Context, sum Sum) (*File, error) {
	for missed := false; ; missed = true {
		c.mu.Lock()
		if f := c.lookup(sum); f != nil {
			if !missed {
				c.stats.Hits++
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
		// A caller that gave up must not make others fail: ask again.
		if l.err == nil || !errors.Is(l.err, context.Canceled) && !errors.Is(l.err, context.DeadlineExceeded) {
			return l.file, l.err
		}
	}
}

// load asks the source and tells those who wait.
func (c *Cache) load(ctx context.Context, sum Sum, l *load) {
	defer func() {
		if l.file == nil && l.err == nil { // the source panicked: do not leave others waiting for ever
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
	if sum != emptySum { // an empty file needs no storing
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

// lookup returns a held file and marks it as used. Callers hold the lock.
func (c *Cache) lookup(sum Sum) *File {
	e, ok := c.files[sum]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*File)
}

// insert adds a file, or returns the one that is there already, and drops what
// goes beyond the limit. A file that alone is larger is not kept: it would
// only drive out the others. Callers hold the lock.
func (c *Cache) insert(f *File) *File {
	if held := c.lookup(f.Sum()); held != nil {
		return held
	}
	if cost(f) > c.stats.Limit {
		return f
	}
	c.files[f.Sum()] = c.recent.PushFront(f)
	c.stats.Bytes += cost(f)
	for c.stats.Bytes > c.stats.Limit {
		old := c.recent.Remove(c.recent.Back()).(*File)
		delete(c.files, old.Sum())
		c.stats.Bytes -= cost(old)
		c.stats.Evictions++
	}
	return f
}

// cost is what holding a file takes, with its places in map and list.
func cost(f *File) int64 {
	const places = 160
	return f.Size() + places
}

// Stats returns the counters as they stand.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries, s.Loading = len(c.files), len(c.loading)
	return s
}
