package frontier

import (
	"hash/maphash"
	"math/bits"
)

// chained is something with a name that hangs in one chain of a [table].
type chained[T any] interface {
	*T
	key() string
	chain() **T
}

// table finds hosts and domains by name. It takes a third of the memory of a
// map, because names and links are kept in what it finds, and it grows by one
// chain at a time, so that no call waits until all are moved.
type table[T any, P chained[T]] struct {
	seed   maphash.Seed
	chains []P // about one for each name
	n      int
}

func newTable[T any, P chained[T]]() table[T, P] {
	return table[T, P]{seed: maphash.MakeSeed(), chains: make([]P, 1)}
}

func (t *table[T, P]) len() int { return t.n }

// place is the chain of a name. The number of chains is between two powers of
// two: chains beyond it are still one with those of half their number.
func (t *table[T, P]) place(name string) uint64 {
	n := uint64(len(t.chains))
	full := uint64(1) << bits.Len64(n-1)
	i := maphash.String(t.seed, name) & (full - 1)
	if i >= n {
		i -= full / 2
	}
	return i
}

// find returns what has the name, or nil.
func (t *table[T, P]) find(name string) P {
	p := t.chains[t.place(name)]
	for p != nil && p.key() != name {
		p = *p.chain()
	}
	return p
}

// insert puts in something whose name is not in the table.
func (t *table[T, P]) insert(p P) {
	if t.n++; t.n > len(t.chains) {
		t.split()
	}
	t.hang(p)
}

func (t *table[T, P]) hang(p P) {
	i := t.place(p.key())
	*p.chain() = t.chains[i]
	t.chains[i] = p
}

// split adds a chain and moves what belongs there.
func (t *table[T, P]) split() {
	n := len(t.chains)
	old := n - 1<<(bits.Len(uint(n))-1)
	p := t.chains[old]
	t.chains[old] = nil
	t.chains = append(t.chains, nil)
	for p != nil {
		next := P(*p.chain())
		t.hang(p)
		p = next
	}
}

// remove takes out what is in the table.
func (t *table[T, P]) remove(p P) {
	t.n--
	i := t.place(p.key())
	if t.chains[i] == p {
		t.chains[i] = *p.chain()
		*p.chain() = nil
		return
	}
	for before := t.chains[i]; ; before = *before.chain() {
		if P(*before.chain()) == p {
			*before.chain() = *p.chain()
			*p.chain() = nil
			return
		}
	}
}
