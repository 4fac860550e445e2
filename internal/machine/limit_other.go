//go:build !unix

package machine

// descriptors is the number of handles a process may open; other limits are reached
// first.
func descriptors() (n int64, by string) { return 1 << 16, "no system limit" }
