package governor

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"time"
)

// maxThreads bounds the threads that a [CPU] reads at a time.
const maxThreads = 64

// CPU measures how much of this process needs a CPU. The zero CPU is ready; its Demand belongs
// to one goroutine.
type CPU struct {
	Overload

	at      time.Time
	threads map[string]threadTime
	metrics [2]metrics.Sample
	waits   []uint64 // scheduling latencies at the last call
}

// threadTime is what the kernel has counted for a thread.
type threadTime struct {
	ran, waited time.Duration // on a CPU, and in the run queue
	turns       int64         // on a CPU
}

// Demand is how much CPU was needed in a period, in goroutines on average.
type Demand struct {
	Running float64       // on a CPU
	Waiting float64       // on a thread in the run queue of the kernel: other programs run, or a CPU limit is reached
	Queued  float64       // ready, but all threads that GOMAXPROCS allows are in use
	Latency time.Duration // how long a goroutine that becomes ready waits for a CPU
}

// Demand returns the demand since the last call; the first call returns the zero Demand. The
// times of threads are only known on Linux.
func (c *CPU) Demand() (d Demand) {
	now := time.Now()
	passed := now.Sub(c.at)
	first := c.at.IsZero()
	c.at = now
	sum := c.readThreads()
	c.metrics[0].Name, c.metrics[1].Name = "/sched/goroutines/runnable:goroutines", "/sched/latencies:seconds"
	metrics.Read(c.metrics[:])
	// A runtime without these metrics has values of another kind.
	if v := c.metrics[1].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram()
		d.Latency = p90(h.Counts, c.waits, h.Buckets)
		c.waits = append(c.waits[:0], h.Counts...)
	}
	if first || passed <= 0 {
		return Demand{}
	}
	d.Running, d.Waiting = float64(sum.ran)/float64(passed), float64(sum.waited)/float64(passed)
	if v := c.metrics[0].Value; v.Kind() == metrics.KindUint64 {
		d.Queued = float64(v.Uint64())
	}
	if sum.turns > 0 {
		d.Latency += sum.waited / time.Duration(sum.turns)
	}
	return d
}

// readThreads adds up what the kernel has counted since the last call.
func (c *CPU) readThreads() (sum threadTime) {
	const tasks = "/proc/self/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return sum // another system than Linux
	}
	defer dir.Close()
	ids, err := dir.Readdirnames(maxThreads)
	if err != nil {
		return sum
	}
	threads := make(map[string]threadTime, len(ids))
	for _, id := range ids {
		t, ok := readThread(filepath.Join(tasks, id, "schedstat"))
		if !ok {
			continue // it has ended
		}
		threads[id] = t
		if last, known := c.threads[id]; known {
			sum.ran += max(t.ran-last.ran, 0)
			sum.waited += max(t.waited-last.waited, 0)
			sum.turns += max(t.turns-last.turns, 0)
		}
	}
	c.threads = threads
	return sum
}

// readThread reads three numbers: nanoseconds on a CPU and in the run queue, and turns.
func readThread(path string) (t threadTime, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return t, false
	}
	var n [3]int64
	fields := bytes.Fields(text)
	if len(fields) < len(n) {
		return t, false
	}
	for i := range n {
		if n[i], err = strconv.ParseInt(string(fields[i]), 10, 64); err != nil {
			return t, false
		}
	}
	return threadTime{time.Duration(n[0]), time.Duration(n[1]), n[2]}, true
}
