package machine

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDivision divides many numbers of descriptors and sizes of memory: the shares fit,
// and never shrink when there is more.
func TestDivision(t *testing.T) {
	for _, memory := range []int64{0, 64 << 20, 512 << 20, 4 << 30, 1 << 40} {
		var before Division
		for n := int64(1); n <= 30_000; n += 1 + n/64 {
			d := Divide(Machine{Descriptors: n, Memory: memory})
			if used := ownShare + d.Store + d.Files + d.Lookups + d.Conns; used > n && n >= 64 {
				t.Fatalf("%d descriptors: %d are given away, %+v", n, used, d)
			}
			if places := d.Workers + d.Robots + d.Slow; places > max(d.Conns, 4) {
				t.Fatalf("%d descriptors: %d exchanges for %d connections", n, places, d.Conns)
			}
			if v := reflect.ValueOf(d); true {
				for i := range v.NumField() {
					if v.Field(i).Int() < 1 {
						t.Fatalf("%d descriptors, %d bytes: nothing for %s", n, memory, v.Type().Field(i).Name)
					}
					if v.Field(i).Int() < reflect.ValueOf(before).Field(i).Int() {
						t.Fatalf("%d descriptors, %d bytes: less for %s than before, %+v, %+v", n, memory, v.Type().Field(i).Name, before, d)
					}
				}
			}
			before = d
		}
		if memory > 0 && before.Bodies+before.RobotsCache+before.Seen+before.Idle+before.Hosts*hostBytes > max(memory*3/4, 32<<20) {
			t.Errorf("of %d bytes: %+v", memory, before)
		}
	}
	// The usual values where there is enough.
	d := Divide(Machine{Descriptors: 20_000, Memory: 8 << 30})
	if d.Workers != MostWorkers || d.Robots != MostRobots || d.Lookups != MostLookups || d.Bodies != mostBodies || d.Seen != mostSeen || d.Hosts != mostHosts || d.Idle != mostIdle {
		t.Errorf("%+v", d)
	}
}

// TestMachine reads the limits of different kinds of machines.
func TestMachine(t *testing.T) {
	const meminfo = "MemTotal:        8000000 kB\nMemFree:  1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		by    string
	}{
		"no groups":        {map[string]string{"proc/meminfo": meminfo}, 8000000 << 10, "/proc/meminfo"},
		"nothing known":    {nil, 0, "unknown"},
		"a container":      {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20, "/sys/fs/cgroup/memory.max"},
		"no limit":         {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 8000000 << 10, "/proc/meminfo"},
		"a unit in a unit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service\n", "sys/fs/cgroup/a.slice/memory.max": "268435456", "sys/fs/cgroup/a.slice/b.service/memory.high": "max"}, 256 << 20, "/sys/fs/cgroup/a.slice/memory.max"},
		"more than there is": {
			map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/x/memory.max": "99999999999999"}, 8000000 << 10, "/proc/meminfo",
		},
		"the older version": {
			map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728"}, 128 << 20, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"nonsense": {map[string]string{"proc/meminfo": "MemTotal: many\n", "proc/self/cgroup": "\n:::\n0::/../../..\n", "sys/fs/cgroup/memory.max": "-1"}, 0, "unknown"},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if n, by := memory(root); n != c.want || by != c.by {
			t.Errorf("%s: %d by %s, want %d by %s", name, n, by, c.want, c.by)
		}
	}
	m := Read()
	if m.Descriptors < 1 || m.DescriptorsBy == "" || !strings.Contains(m.String(), "descriptors") {
		t.Errorf("this machine: %+v", m)
	}
	t.Log(m, m.DescriptorsBy, m.MemoryBy)
}
