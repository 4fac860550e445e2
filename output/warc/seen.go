package warc

// maxSeen limits the memory for known payloads, in bytes. The oldest are forgotten first; such
// a payload is then archived again.
const maxSeen = 32 << 20

// original is the first record of a payload.
type original struct {
	id, url, date string
}

// cost is its approximate memory.
func (o *original) cost() int { return 256 + len(o.url) }

// seen is the set of archived payloads.
type seen struct {
	byDigest map[digest]original
	order    []digest // oldest first
	size     int
}

func newSeen() *seen { return &seen{byDigest: map[digest]original{}} }

// put remembers the first record of a payload.
func (s *seen) put(d digest, o original) {
	if _, ok := s.byDigest[d]; ok {
		return
	}
	s.byDigest[d] = o
	s.order = append(s.order, d)
	s.size += o.cost()
	for s.size > maxSeen && len(s.order) > 1 {
		old := s.byDigest[s.order[0]]
		s.size -= old.cost()
		delete(s.byDigest, s.order[0])
		s.order = s.order[1:]
	}
}
