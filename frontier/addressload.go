package frontier

import (
	"cmp"
	"net/netip"
	"slices"
)

// AddressLoad is the number of hosts with work on one IP address.
type AddressLoad struct {
	Address netip.Addr
	Hosts   int
}

// AddressLoads lists the addresses with at least two hosts, those with the most
// hosts first, up to most of them. A single host is already limited by its pace.
func (f *Frontier) AddressLoads(most int) []AddressLoad {
	var list []AddressLoad
	for _, a := range f.addresses {
		if a.hosts >= 2 {
			list = append(list, AddressLoad{a.addr, a.hosts})
		}
	}
	slices.SortFunc(list, func(a, b AddressLoad) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts), a.Address.Compare(b.Address))
	})
	return list[:min(len(list), most)]
}

// SetAddressLoads sets how many hosts with work other workers have on each address;
// addresses not listed have none. From the next request on, this frontier keeps to
// its share of the request rate of an address.
func (f *Frontier) SetAddressLoads(others []AddressLoad) {
	for a := range f.shared {
		a.others = 0
	}
	clear(f.shared)
	for _, c := range others {
		if a := f.addresses[c.Address]; a != nil && c.Hosts > 0 {
			a.others = c.Hosts
			f.shared[a] = struct{}{}
		}
	}
}
