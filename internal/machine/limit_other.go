//go:build !unix

package machine

// descriptors is how many handles a process may have: so many that other things
// end first.
func descriptors() (n int64, by string) { return 1 << 16, "no system limit" }
