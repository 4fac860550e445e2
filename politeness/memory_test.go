package politeness_test

import (
	"container/heap"
	"fmt"
	"runtime"
	"testing"

	"headway/politeness"
)

// scheduled is a host as a scheduler keeps it: in a map by name, in a heap by ready time.
type scheduled struct {
	name  string
	state politeness.State
	ready int64
	place int
}

type readyHeap []*scheduled

func (h readyHeap) Len() int           { return len(h) }
func (h readyHeap) Less(i, j int) bool { return h[i].ready < h[j].ready }
func (h readyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].place, h[j].place = i, j }
func (h *readyHeap) Push(x any)        { *h = append(*h, x.(*scheduled)) }
func (h *readyHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// TestHostInAScheduler measures the memory of one of many hosts: its name, its state, its entry
// in a map and in a heap.
func TestHostInAScheduler(t *testing.T) {
	const hosts, most = 100_000, 400
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	byName := make(map[string]*scheduled)
	var ready readyHeap
	for i := range hosts {
		s := &scheduled{name: fmt.Sprintf("https://host-%d.example.com", i), ready: int64(i*7919) % hosts}
		s.state = politeness.New(s.name)
		byName[s.name] = s
		heap.Push(&ready, s)
	}
	each := (used() - before) / hosts
	t.Logf("%d bytes a host, all in", each)
	if each > most {
		t.Errorf("a host takes %d bytes all in, at most %d", each, most)
	}
	if first := heap.Pop(&ready).(*scheduled); first.ready != 0 || byName[first.name] != first {
		t.Errorf("first is %+v", first)
	}
}
