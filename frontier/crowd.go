package frontier

import (
	"cmp"
	"net/netip"
	"slices"
)

// Crowd is hosts with work on one address.
type Crowd struct {
	Address netip.Addr
	Hosts   int
}

// Crowds lists the addresses with at least two hosts, the most crowded first, at
// most so many. One host alone asks an address no more often than its pace says.
func (f *Frontier) Crowds(most int) []Crowd {
	var list []Crowd
	for _, a := range f.addresses {
		if a.hosts >= 2 {
			list = append(list, Crowd{a.addr, a.hosts})
		}
	}
	slices.SortFunc(list, func(a, b Crowd) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts), a.Address.Compare(b.Address))
	})
	return list[:min(len(list), most)]
}

// SetCrowds says how many hosts other workers are busy with on addresses; none on
// those that are not listed. From the next request on we take our share of what
// an address is asked.
func (f *Frontier) SetCrowds(others []Crowd) {
	for a := range f.crowded {
		a.others = 0
	}
	clear(f.crowded)
	for _, c := range others {
		if a := f.addresses[c.Address]; a != nil && c.Hosts > 0 {
			a.others = c.Hosts
			f.crowded[a] = struct{}{}
		}
	}
}
