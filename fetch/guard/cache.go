package guard

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	// cacheShards reduces lock contention between lookups of different names.
	cacheShards = 64
	// evictionSample is how many entries are compared to evict one.
	evictionSample = 5
	// maxTTL limits how long a DNS answer is cached, whatever its TTL.
	maxTTL = 24 * time.Hour
	// maxAddrs limits how many addresses of one answer are kept.
	maxAddrs = 64
)

// cache keeps DNS answers until their TTL expires. It is bounded: a full shard evicts
// the entry that expires first among a random sample, which needs no list and no
// extra memory per entry.
type cache struct {
	seed   maphash.Seed
	start  time.Time // expiry times count from here, in monotonic time
	shards [cacheShards]shard
}

type shard struct {
	mu      sync.Mutex
	max     int
	entries map[string]entry
	evicted uint64
}

// entry is one DNS answer, compact because there may be a million.
type entry struct {
	addrs string        // packed addresses; empty for a negative answer
	ends  time.Duration // since cache.start
	kind  DNSKind       // of a negative answer
}

func newCache(limit int) *cache {
	c := &cache{seed: maphash.MakeSeed(), start: time.Now()}
	for i := range c.shards {
		c.shards[i] = shard{max: limit / cacheShards, entries: map[string]entry{}}
	}
	return c
}

func (c *cache) shard(host string) *shard {
	return &c.shards[maphash.String(c.seed, host)%cacheShards]
}

// get returns what is cached for a host: addresses, or a *DNSError with one of the
// definite kinds.
func (c *cache) get(host string) (addrs []netip.Addr, err error, ok bool) {
	now := time.Since(c.start)
	s := c.shard(host)
	s.mu.Lock()
	e, ok := s.entries[host]
	if ok && e.ends <= now {
		delete(s.entries, host)
		ok = false
	}
	s.mu.Unlock()
	switch {
	case !ok:
		return nil, nil, false
	case e.addrs == "":
		return nil, &DNSError{Host: host, Kind: e.kind}, true
	}
	return unpackAddrs(e.addrs), nil, true
}

// put caches an answer for ttl; a zero ttl is not cached.
func (c *cache) put(host string, addrs []netip.Addr, kind DNSKind, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	now := time.Since(c.start)
	e := entry{addrs: packAddrs(addrs), ends: now + min(ttl, maxTTL), kind: kind}
	s := c.shard(host)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.entries[host]; !ok && len(s.entries) >= s.max {
		s.evict()
	}
	s.entries[host] = e
}

// evict drops the entry that expires first among a few. Go starts a map iteration at
// a random place.
func (s *shard) evict() {
	var victim string
	var ends time.Duration
	seen := 0
	for host, e := range s.entries {
		if seen == 0 || e.ends < ends {
			victim, ends = host, e.ends
		}
		if seen++; seen == evictionSample {
			break
		}
	}
	delete(s.entries, victim)
	s.evicted++
}

// size counts entries, including expired ones that were not looked up since.
func (c *cache) size() (entries int, evicted uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		entries += len(s.entries)
		evicted += s.evicted
		s.mu.Unlock()
	}
	return entries, evicted
}

// packAddrs writes each address as its length and its bytes.
func packAddrs(addrs []netip.Addr) string {
	var b []byte
	for _, a := range addrs {
		s := a.AsSlice()
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return string(b)
}

// unpackAddrs reads what packAddrs wrote.
func unpackAddrs(s string) []netip.Addr {
	addrs := make([]netip.Addr, 0, 4)
	for len(s) > 0 {
		n := int(s[0])
		a, _ := netip.AddrFromSlice([]byte(s[1 : 1+n]))
		addrs = append(addrs, a)
		s = s[1+n:]
	}
	return addrs
}
