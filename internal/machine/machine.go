// Package machine reads the file descriptors and memory available to this process, and
// divides them among their users.
//
// The shares of a [Division] add up to no more than what was divided, unless that is less
// than the minimum; and less to divide makes shares smaller, never larger.
package machine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what this process may use.
type Machine struct {
	Descriptors   int64
	DescriptorsBy string // source of the limit, for people
	Memory        int64  // bytes; 0 if not known
	MemoryBy      string
}

// Read reads the limits of the machine. Unknown limits get a conservative value.
func Read() Machine {
	var m Machine
	m.Descriptors, m.DescriptorsBy = descriptors()
	if runtime.GOOS == "linux" {
		m.Memory, m.MemoryBy = memory(os.DirFS("/"))
	}
	return m
}

// manyDescriptors is treated as unlimited.
const manyDescriptors = 1 << 20

// memory is the minimum of the machine's memory and the limits of its control groups.
func memory(root fs.FS) (bytes int64, by string) {
	bytes = math.MaxInt64
	if n := total(root); n > 0 {
		bytes, by = n, "/proc/meminfo"
	}
	for _, name := range groupFiles(root) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" means no limit
		if err == nil && n > 0 && n < bytes {
			bytes, by = n, "/"+name
		}
	}
	if by == "" {
		return 0, "unknown"
	}
	return bytes, by
}

// total is the memory of the machine.
func total(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

// Paths of control groups, versions 1 and 2.
const (
	groups    = "sys/fs/cgroup"
	oldGroups = groups + "/memory"
)

// groupFiles are the files with the memory limits of the process's control groups, from
// its own up to the root. A container sees its own group as the root.
func groupFiles(root fs.FS) (names []string) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		at, limits := groups, []string{"memory.max", "memory.high"}
		switch {
		case parts[1] == "memory":
			at, limits = oldGroups, []string{"memory.limit_in_bytes"}
		case parts[0] != "0" || parts[1] != "":
			continue
		}
		for own := path.Clean("/" + parts[2]); ; own = path.Dir(own) {
			for _, l := range limits {
				names = append(names, path.Join(at, own, l))
			}
			if own == "/" {
				break
			}
		}
	}
	return names
}

// Fixed shares. The store's comes first: it opens its files before anything is fetched,
// and nothing works without it.
const (
	ownShare   = 12 // standard streams, runtime polling, random bytes
	storeShare = 32 // two for each connection, logs, locks, and spills of large commits
	filesShare = 12 // results, archives, mailbox
)

// Maximums of shares, however much there is to divide.
const (
	MostWorkers = 512
	MostRobots  = 64
	MostLookups = 256
	MostConns   = 100_000

	mostBodies = 256 << 20
	mostRobots = 256 << 20
	mostSeen   = 64 << 20
	mostIdle   = 128 << 20
	mostHosts  = 500_000
)

// hostBytes is the memory of a host scheduled in memory.
const hostBytes = 540

// slowBytes is the memory of a waiting exchange: its connection, HTTP/2 data sent ahead,
// and a goroutine or two.
const slowBytes = 256 << 10

// Division is the share of each user.
type Division struct {
	// Descriptors.
	Store   int64
	Files   int64
	Lookups int64
	Conns   int64 // for Workers, Robots and Slow together, and idle ones

	// Connections by use.
	Workers int64
	Robots  int64
	Slow    int64

	// Memory, in bytes, except Hosts.
	Bodies      int64
	RobotsCache int64
	Seen        int64
	Idle        int64
	Hosts       int64
}

// Divide divides the resources of a machine.
func Divide(m Machine) Division {
	d := Division{Store: storeShare, Files: filesShare}
	rest := max(m.Descriptors-ownShare-storeShare-filesShare, 0)
	d.Lookups = within(rest/8, 1, MostLookups)
	// A host with several addresses is dialled at two of them for a moment.
	d.Conns = within((rest-d.Lookups)*15/16, 4, MostConns)
	d.Workers = within(d.Conns/2, 2, MostWorkers)
	d.Robots = within(d.Conns/8, 1, MostRobots)
	d.Slow = max(d.Conns*3/8, d.Conns-MostWorkers-MostRobots, 1)

	memory := m.Memory
	if memory <= 0 {
		memory = math.MaxInt64
	}
	d.Slow = min(d.Slow, max(memory/8/slowBytes, 1))
	d.Bodies = within(memory/8, 16<<20, mostBodies)
	d.RobotsCache = within(memory/8, 4<<20, mostRobots)
	d.Seen = within(memory/16, 1<<20, mostSeen)
	d.Idle = within(memory/16, 1<<20, mostIdle)
	d.Hosts = within(memory/8/hostBytes, 1000, mostHosts)
	return d
}

func within(n, least, most int64) int64 { return min(max(n, least), most) }

// String describes the resources, for people.
func (m Machine) String() string {
	if m.Memory == 0 {
		return fmt.Sprintf("%d descriptors", m.Descriptors)
	}
	return fmt.Sprintf("%d descriptors, %d MiB", m.Descriptors, m.Memory>>20)
}
