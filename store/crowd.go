package store

import (
	"context"
	"fmt"
	"net/netip"
)

// Crowds is a further ability of stores that many workers share: how many hosts
// on one address the workers are busy with together, so that each can keep to its
// share of what the address is asked.
type Crowds interface {
	// Crowds says on which addresses the worker is busy with how many hosts, in
	// place of what it said before, and returns what the other workers have said
	// of these addresses, leaving out those of which they said nothing. What a
	// worker said is forgotten with it.
	Crowds(ctx context.Context, w WorkerID, mine []Crowd) ([]Crowd, error)
}

// MaxCrowds is how many addresses a worker may speak of.
const MaxCrowds = 1000

// Crowd is hosts on one address.
type Crowd struct {
	Address netip.Addr
	Hosts   int
}

// CheckCrowds reports what a worker cannot say: too much, of no address, or of one
// twice.
func CheckCrowds(list []Crowd) error {
	if len(list) > MaxCrowds {
		return fmt.Errorf("%d addresses, at most %d", len(list), MaxCrowds)
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
