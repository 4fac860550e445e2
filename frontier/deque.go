package frontier

// blockHosts is how many hosts of a line are kept together.
const blockHosts = 512

// deque is a line of hosts, served from the front. Hosts that have left it by
// other ways are skipped when they come up. It is kept in blocks, so that it
// takes no more memory than it is long, and nobody waits while it grows.
type deque struct {
	blocks []*[blockHosts]*host
	first  int // in the first block
	n      int
}

func (d *deque) len() int { return d.n }

func (d *deque) place(i int) **host {
	i += d.first
	return &d.blocks[i/blockHosts][i%blockHosts]
}

func (d *deque) push(h *host) {
	if d.first+d.n == len(d.blocks)*blockHosts {
		d.blocks = append(d.blocks, new([blockHosts]*host))
	}
	d.n++
	*d.place(d.n - 1) = h
}

// at is the i-th host from the front.
func (d *deque) at(i int) *host { return *d.place(i) }

// pop takes the i-th host out; those before it stay in order.
func (d *deque) pop(i int) *host {
	h := d.at(i)
	for ; i > 0; i-- {
		*d.place(i) = d.at(i - 1)
	}
	*d.place(0) = nil
	d.first++
	d.n--
	if d.first == blockHosts {
		d.first = 0
		copy(d.blocks, d.blocks[1:])
		d.blocks[len(d.blocks)-1] = nil
		d.blocks = d.blocks[:len(d.blocks)-1]
	}
	return h
}
