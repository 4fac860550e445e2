package store

import (
	"context"
	"fmt"
	"net/netip"
)

// AddressLoads is an optional interface of stores that many workers share: how many
// hosts the workers have together on one IP address, so that each keeps to its share of
// the address's request rate.
type AddressLoads interface {
	// ShareAddressLoad replaces what the worker reported before: its number of hosts
	// with work per address. It returns the sums of the other workers for these
	// addresses, without those on which they have none. The report of a worker is
	// removed with the worker.
	ShareAddressLoad(ctx context.Context, w WorkerID, mine []AddressLoad) ([]AddressLoad, error)
}

// MaxAddressLoads is how many addresses a worker may report.
const MaxAddressLoads = 1000

// AddressLoad is the number of hosts with work on one IP address.
type AddressLoad struct {
	Address netip.Addr
	Hosts   int
}

// CheckAddressLoads reports an invalid list: too long, or with an invalid or repeated
// address.
func CheckAddressLoads(list []AddressLoad) error {
	if len(list) > MaxAddressLoads {
		return fmt.Errorf("%d addresses, at most %d", len(list), MaxAddressLoads)
	}
	seen := make(map[netip.Addr]bool, len(list))
	for _, c := range list {
		if !c.Address.IsValid() || c.Address.Zone() != "" || c.Hosts < 1 || seen[c.Address] {
			return fmt.Errorf("%d hosts on address %v", c.Hosts, c.Address)
		}
		seen[c.Address] = true
	}
	return nil
}
