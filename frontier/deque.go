package frontier

// blockHosts is how many hosts one block of a deque holds.
const blockHosts = 512

// deque is a FIFO queue of hosts. Hosts that no longer wait in it are skipped when
// they reach the front. It is stored in blocks, so that memory follows its length
// and growing never copies it.
type deque struct {
	blocks []*[blockHosts]*host
	first  int // index in the first block
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

// at returns the i-th host from the front.
func (d *deque) at(i int) *host { return *d.place(i) }

// pop removes the i-th host; those before it stay in order.
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
