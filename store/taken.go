package store

import (
	"fmt"
	"slices"
)

// Taken is which hosts a job with a limit of them has taken up.
type Taken struct {
	N int64 // how many in all
	// Hosts are those of them that were asked about; all of them where there is no
	// room for more, so that nobody has to ask again. They are sorted.
	Hosts []string
}

// CheckTake reports hosts that cannot be taken up. An engine calls it first.
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

// Has tells whether a host is among them.
func (t *Taken) Has(host string) bool {
	_, ok := slices.BinarySearch(t.Hosts, host)
	return ok
}
