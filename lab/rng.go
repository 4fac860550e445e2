package lab

// rng is splitmix64: tiny, seedable, good enough for synthetic pages. The output for a
// seed must never change, or every recorded crawl of the lab changes.
type rng uint64

// newRNG mixes its parts into one independent stream.
func newRNG(parts ...uint64) *rng {
	r := rng(0x9e3779b97f4a7c15)
	for _, p := range parts {
		r ^= rng(p)
		r = rng(r.next())
	}
	return &r
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *rng) intn(n int) int { return int(r.next() >> 1 % uint64(n)) }

func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }
