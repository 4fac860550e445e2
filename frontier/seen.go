package frontier

import (
	"encoding/binary"

	"headway/job"
	"headway/weburl"
)

// DefaultSeenBytes is how much memory a [Seen] takes unless told otherwise.
const DefaultSeenBytes = 64 << 20

// seenWays is how many places a fingerprint may have. When all are taken the
// one that was not asked for longest makes room.
const seenWays = 4

// Seen is a bounded cache of fingerprints known to be stored. Most links of a
// page are known; a hit saves asking the store, a miss costs an insert that
// finds a duplicate. It never says that something is stored which is not: 128
// bits stand for a URL, and only what the store has acknowledged is put in.
// Provisional skips are left out, because a later link may turn them back to
// waiting.
type Seen struct {
	sets [][seenWays]weburl.Fingerprint128
	mask uint64
	most uint64 // sets at the bound
	held uint64 // marks put in since it last grew
	hits uint64
	asks uint64
}

// leastSets is with how many sets a cache begins: a crawl of one site should
// not take the memory of a crawl of all.
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

// Mark is what stands for a URL of a job in a [Seen]: its fingerprint, told
// apart from the same URL of another job.
func Mark(id job.ID, fp weburl.Fingerprint128) weburl.Fingerprint128 {
	// The fingerprint is keyed and uniform, so adding the number of the job to
	// it keeps marks of one job apart as well as before.
	binary.LittleEndian.PutUint64(fp[8:], binary.LittleEndian.Uint64(fp[8:])+uint64(id))
	return fp
}

// Has tells whether the mark is known to be stored.
func (s *Seen) Has(m weburl.Fingerprint128) bool {
	s.asks++
	known := s.find(m)
	if known {
		s.hits++
	}
	return known
}

// Put notes that the mark is stored.
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

// grow doubles the cache, which is half full. The marks of a set go to two.
func (s *Seen) grow() {
	old := s.sets
	s.sets = make([][seenWays]weburl.Fingerprint128, 2*len(old))
	s.mask = uint64(len(s.sets)) - 1
	var none weburl.Fingerprint128
	for i := range old {
		for j := seenWays - 1; j >= 0; j-- { // the latest last, so that it is first
			if m := old[i][j]; m != none {
				set := s.set(m)
				copy(set[1:], set[:seenWays-1])
				set[0] = m
			}
		}
	}
}

// find looks for a mark and puts it first in its set.
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

// Bytes is the memory it takes.
func (s *Seen) Bytes() int64 { return int64(len(s.sets)) * seenWays * 16 }

// Limit is the memory it may take.
func (s *Seen) Limit() int64 { return int64(s.most) * seenWays * 16 }

// Hits returns how often it was asked and how often it knew.
func (s *Seen) Hits() (asks, hits uint64) { return s.asks, s.hits }
