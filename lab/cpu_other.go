//go:build !unix

package lab

// cpuSeconds is the CPU time of this process; it is not known on this platform.
func cpuSeconds() float64 { return 0 }
