package frontier

import (
	"encoding/binary"

	"headway/job"
	"headway/weburl"
)

// DefaultSeenBytes is the default size of a [Seen].
const DefaultSeenBytes = 64 << 20

// seenWays is the number of entries per set. When a set is full, the least recently
// used entry is evicted.
const seenWays = 4

// Seen is a bounded cache of fingerprints known to be stored. Most links of a page
// are known: a hit saves a query, a miss costs an insert that finds a duplicate. A hit
// is never wrong: a URL is identified by 128 bits, and only what the store has
// acknowledged is added. Provisional skips are not added, because a later link may
// turn them back to waiting.
type Seen struct {
	sets [][seenWays]weburl.Fingerprint128
	mask uint64
	most uint64 // maximum number of sets
	held uint64 // marks added since it last grew
	hits uint64
	asks uint64
}

// leastSets is the initial number of sets: a crawl of one site should not take the
// memory of a large crawl.
const leastSets = 1024

// NewSeen returns an empty cache of about that many bytes, rounded down to a
// power of two; zero means [DefaultSeenBytes].
func NewSeen(bytes int64) *Seen {
	if bytes <= 0 {
		bytes = DefaultSeenBytes
	}
	const setBytes = seenWays * 16
	n := uint64(1)
	for n*2*setBytes <= uint64(bytes) {
		n *= 2
	}
	first := min(n, leastSets)
	return &Seen{sets: make([][seenWays]weburl.Fingerprint128, first), mask: first - 1, most: n}
}

// Mark identifies a URL of a job in a [Seen]: its fingerprint, made different for each
// job.
func Mark(id job.ID, fp weburl.Fingerprint128) weburl.Fingerprint128 {
	// The fingerprint is keyed and uniform, so adding the job's number keeps the marks
	// of one job distinct.
	binary.LittleEndian.PutUint64(fp[8:], binary.LittleEndian.Uint64(fp[8:])+uint64(id))
	return fp
}

// Has reports whether the mark is known to be stored.
func (s *Seen) Has(m weburl.Fingerprint128) bool {
	s.asks++
	known := s.find(m)
	if known {
		s.hits++
	}
	return known
}

// Put records that the mark is stored.
func (s *Seen) Put(m weburl.Fingerprint128) {
	if s.find(m) {
		return
	}
	if s.held++; s.held > 2*uint64(len(s.sets)) && uint64(len(s.sets)) < s.most {
		s.grow()
	}
	set := s.set(m)
	copy(set[1:], set[:seenWays-1])
	set[0] = m
}

// grow doubles the cache. The marks of a set are split over two.
func (s *Seen) grow() {
	old := s.sets
	s.sets = make([][seenWays]weburl.Fingerprint128, 2*len(old))
	s.mask = uint64(len(s.sets)) - 1
	var none weburl.Fingerprint128
	for i := range old {
		for j := seenWays - 1; j >= 0; j-- { // the most recent last, so that it ends up first
			if m := old[i][j]; m != none {
				set := s.set(m)
				copy(set[1:], set[:seenWays-1])
				set[0] = m
			}
		}
	}
}

// find looks for a mark and moves it to the front of its set.
func (s *Seen) find(m weburl.Fingerprint128) bool {
	set := s.set(m)
	for i := range set {
		if set[i] == m {
			copy(set[1:i+1], set[:i])
			set[0] = m
			return true
		}
	}
	return false
}

func (s *Seen) set(m weburl.Fingerprint128) *[seenWays]weburl.Fingerprint128 {
	return &s.sets[binary.LittleEndian.Uint64(m[:8])&s.mask]
}

// Bytes is the memory in use.
func (s *Seen) Bytes() int64 { return int64(len(s.sets)) * seenWays * 16 }

// Limit is the maximum memory.
func (s *Seen) Limit() int64 { return int64(s.most) * seenWays * 16 }

// Hits returns the number of lookups and of hits.
func (s *Seen) Hits() (asks, hits uint64) { return s.asks, s.hits }
