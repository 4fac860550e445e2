//go:build unix

package machine

import "syscall"

// leastDescriptors is assumed if the system does not report a limit.
const leastDescriptors = 256

// descriptors is how many this process may open. Go raised the soft limit to the hard
// one at startup.
func descriptors() (n int64, by string) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return leastDescriptors, "system limit unknown"
	}
	return int64(min(uint64(l.Cur), manyDescriptors)), "ulimit -Hn" //nolint:unconvert // the types differ between systems
}
