package store

import (
	"fmt"
	"slices"
)

// Taken are the hosts that a host-limited job has reserved.
type Taken struct {
	N int64 // total
	// Hosts are those of the given hosts that are reserved; all reserved hosts if the
	// limit is reached, so that no further call is needed. They are sorted.
	Hosts []string
}

// CheckTake reports an invalid reservation of hosts. An engine calls it first.
func CheckTake(most int64, hosts []string) error {
	if most <= 0 {
		return fmt.Errorf("take hosts: a limit of %d", most)
	}
	if len(hosts) > MaxHosts {
		return fmt.Errorf("take %d hosts, at most %d", len(hosts), MaxHosts)
	}
	for _, h := range hosts {
		if _, err := ParseHost(h); err != nil {
			return fmt.Errorf("take hosts: %w", err)
		}
	}
	return nil
}

// Has reports whether a host is reserved.
func (t *Taken) Has(host string) bool {
	_, ok := slices.BinarySearch(t.Hosts, host)
	return ok
}
