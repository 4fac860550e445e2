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
	// leastSlack and mostSlack bound how much more than what is in use the heap may grow to,
	// in per cent, once the process is larger than leastMemory. Go's own is 100.
	leastSlack, mostSlack, slackStep = 30, 100, 10
	// mostRoom bounds how many bytes that is, unless leastSlack allows more: twice the memory
	// of 100,000 hosts would be too much.
	mostRoom = 128 << 20
	// dearCollector and cheapCollector are shares of the CPU time. Above the first the heap
	// may become larger, below the second smaller.
	dearCollector, cheapCollector = 0.10, 0.04
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
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var c collector
	for slack := leastSlack; ; {
		if share, ok := c.share(); ok {
			slack = nextSlack(slack, share)
		}
		live, rest := heapInUse()
		debug.SetMemoryLimit(int64(max(leastMemory, live+room(live, uint64(slack))+rest)))
		select {
		case <-ctx.Done():
			debug.SetMemoryLimit(math.MaxInt64)
			return
		case <-tick.C:
		}
	}
}

// room is how many bytes the heap may grow by.
func room(live, slack uint64) uint64 {
	return max(live*leastSlack/100, min(live*slack/100, mostRoom))
}

// nextSlack is how much more than what is in use the heap may grow to, after a time in which
// the collector took a share of the CPU time.
func nextSlack(slack int, share float64) int {
	switch {
	case share > dearCollector:
		return min(slack+slackStep, mostSlack)
	case share < cheapCollector:
		return max(slack-slackStep, leastSlack)
	}
	return slack
}

// heapInUse is what the last collection has left, and the memory of Go's runtime that is not
// the heap's: stacks and metadata.
func heapInUse() (live, rest uint64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	total := sample[1].Value.Uint64()
	heap := sample[2].Value.Uint64() + sample[3].Value.Uint64() + sample[4].Value.Uint64() + sample[5].Value.Uint64()
	return sample[0].Value.Uint64(), total - min(heap, total)
}

// collector is what Go's collector has cost so far.
type collector struct{ gc, used float64 } // CPU seconds

// share is its share of the CPU time since the last call. CPU time that nothing else needed is
// not counted. Without a collection since then the share is not known.
func (c *collector) share() (share float64, ok bool) {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(sample)
	spare := sample[1].Value.Float64()
	now := collector{gc: sample[0].Value.Float64() - spare, used: sample[2].Value.Float64() - sample[3].Value.Float64() - spare}
	gc, used := now.gc-c.gc, now.used-c.used
	*c = now
	return gc / used, used > 0 // these figures change with each collection only
}
