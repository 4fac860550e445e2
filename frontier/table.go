package frontier

import (
	"hash/maphash"
	"math/bits"
)

// chained is a named element in a chain of a [table].
type chained[T any] interface {
	*T
	key() string
	chain() **T
}

// table is a hash table of hosts or domains by name. It takes a third of the memory of
// a map, because names and links are stored in the elements, and it grows by one chain
// at a time, so that no call waits for a rehash.
type table[T any, P chained[T]] struct {
	seed   maphash.Seed
	chains []P // about one for each name
	n      int
}

func newTable[T any, P chained[T]]() table[T, P] {
	return table[T, P]{seed: maphash.MakeSeed(), chains: make([]P, 1)}
}

func (t *table[T, P]) len() int { return t.n }

// place is the index of the chain of a name. The number of chains is between two powers
// of two: a chain beyond it is not yet split from that at half its number.
func (t *table[T, P]) place(name string) uint64 {
	n := uint64(len(t.chains))
	full := uint64(1) << bits.Len64(n-1)
	i := maphash.String(t.seed, name) & (full - 1)
	if i >= n {
		i -= full / 2
	}
	return i
}

// find returns the element with the name, or nil.
func (t *table[T, P]) find(name string) P {
	p := t.chains[t.place(name)]
	for p != nil && p.key() != name {
		p = *p.chain()
	}
	return p
}

// insert adds an element whose name is not in the table.
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

// split adds a chain and moves the elements that belong there.
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

// remove removes an element that is in the table.
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
