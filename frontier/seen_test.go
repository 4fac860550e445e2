package frontier

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"headway/weburl"
)

// mark is the fingerprint for n.
func mark(n uint64) (m weburl.Fingerprint128) {
	// splitmix64, twice: as uniform as fingerprints are.
	for i := range 2 {
		z := n*2 + uint64(i) + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(m[8*i:], z^z>>31)
	}
	return m
}

func TestSeenHasNoFalsePositive(t *testing.T) {
	s := NewSeen(1 << 20)
	const known = 300_000
	for n := range uint64(known) {
		if s.Has(mark(n)) {
			t.Fatalf("%d is known before it was put in", n)
		}
		s.Put(mark(n))
		if !s.Has(mark(n)) {
			t.Fatalf("%d is not known after it was put in", n)
		}
	}
	for n := range uint64(known) {
		if s.Has(mark(known + n)) {
			t.Fatalf("%d was never put in", known+n)
		}
	}
	if got := s.Bytes(); got > 1<<20 {
		t.Errorf("takes %d bytes, at most %d", got, 1<<20)
	}
}

func TestSeenTellsJobsApart(t *testing.T) {
	s := NewSeen(1 << 16)
	s.Put(Mark(1, mark(7)))
	if s.Has(Mark(2, mark(7))) || !s.Has(Mark(1, mark(7))) {
		t.Error("the same URL of another job is known")
	}
}

// TestSeenHitRate repeats links as on the web, where few URLs are linked very often. The
// cache holds an eighth of the URLs.
func TestSeenHitRate(t *testing.T) {
	const urls, places = 1 << 17, 1 << 14
	s := NewSeen(places * 16)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 4, urls-1)
	known := map[uint64]bool{}
	repeats := 0
	for range 1_000_000 {
		n := zipf.Uint64()
		if known[n] {
			repeats++
		}
		known[n] = true
		if !s.Has(mark(n)) {
			s.Put(mark(n))
		}
	}
	asks, hits := s.Hits()
	t.Logf("%d of %d links repeated, %d known (%.1f %%)", repeats, asks, hits, 100*float64(hits)/float64(repeats))
	if float64(hits) < 0.85*float64(repeats) {
		t.Errorf("%d of %d repeated links were known", hits, repeats)
	}
}

func BenchmarkSeen(b *testing.B) {
	s := NewSeen(0)
	n := uint64(0)
	for b.Loop() {
		n++
		m := mark(n & (1<<20 - 1))
		if !s.Has(m) {
			s.Put(m)
		}
	}
}
