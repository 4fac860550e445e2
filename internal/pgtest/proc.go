//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc, the same on all Linux systems.
const clockTick = 10 * time.Millisecond

// stat are the fields of /proc/PID/stat after the name.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return nil, fmt.Errorf("process %d: %q", pid, text)
	}
	return fields, nil
}

// isZombie reports whether a process has ended but was not reaped.
func isZombie(pid int) bool {
	fields, err := stat(pid)
	return err == nil && fields[0] == "Z"
}

// childrenOf lists the processes of a postmaster. Without /proc it returns none.
func childrenOf(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields, err := stat(child); err == nil && fields[1] == strconv.Itoa(pid) {
			list = append(list, child)
		}
	}
	return list
}

// CPU is the processor time of all processes of the cluster since it started,
// including those that have ended. It needs Linux.
func (p *Cluster) CPU() (time.Duration, error) {
	pid, err := p.PID()
	if err != nil {
		return 0, err
	}
	// The postmaster's own time and that of children it has waited for.
	fields, err := stat(pid)
	if err != nil {
		return 0, fmt.Errorf("CPU of the cluster: %w", err)
	}
	ticks, err := sumTicks(fields[11:15])
	if err != nil {
		return 0, err
	}
	for _, child := range childrenOf(pid) {
		fields, err := stat(child)
		if err != nil {
			continue // ended just now: its time counts for the postmaster
		}
		n, err := sumTicks(fields[11:13])
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

func sumTicks(fields []string) (int64, error) {
	var sum int64
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
