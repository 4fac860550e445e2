package crawl

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Numbers of [tendMemory].
const (
	// leastMemory is what Go's runtime may take without being told to collect. A crawl that
	// keeps texts is about 100 MB larger: the program itself, and the memory of SQLite.
	leastMemory = 112 << 20
	memoryEvery = time.Second
	// slack is how much more than what is in use the heap may grow to, in per
	// cent, once the process is larger than leastMemory. Go's own is 100.
	slack = 30
)

// memoryLimit is the limit a person has set for this process (GOMEMLIMIT), 0 for
// none.
func memoryLimit() int64 {
	if most := debug.SetMemoryLimit(-1); most != math.MaxInt64 {
		return most
	}
	return 0
}

// LimitMemory keeps the process within a memory limit and returns it: the one that a
// person has set, or nine tenths of the machine's or the control group's; 0 if unknown.
func (c *Setup) LimitMemory(ctx context.Context) int64 {
	if most := memoryLimit(); most > 0 {
		return most
	}
	most := c.Settings.Machine.Memory / 10 * 9
	go tendMemory(ctx)
	return most
}

// tendMemory keeps a large process near what it uses: the collector, left to
// itself, lets the heap double. Below leastMemory it is left to itself, and it
// never works against what is really in use.
func tendMemory(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		metrics.Read(sample)
		live, total := sample[0].Value.Uint64(), sample[1].Value.Uint64()
		heap := sample[2].Value.Uint64() + sample[3].Value.Uint64() + sample[4].Value.Uint64() + sample[5].Value.Uint64()
		rest := total - min(heap, total) // stacks, metadata and what is not the heap's
		debug.SetMemoryLimit(int64(max(leastMemory, live+live*slack/100+rest)))
		select {
		case <-ctx.Done():
			debug.SetMemoryLimit(math.MaxInt64)
			return
		case <-tick.C:
		}
	}
}
