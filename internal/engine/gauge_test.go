package engine

import (
	"fmt"
	"testing"

	"headway/gauge"
	"headway/internal/jobrun"
	"headway/store"
	"headway/store/memory"
)

// BenchmarkShow measures the gauge update that the loop does four times a second.
func BenchmarkShow(b *testing.B) {
	var g gauge.Gauge
	cfg := newWorker(memory.Open(memory.Config{}))
	cfg.Gauge = &g
	c := newCrawler(cfg, true)
	c.mode = &solo{base: c.base, queues: c.queues, r: &run{base: c.base, Stored: &jobrun.Stored{ID: 1}}}
	c.loop.Begin()
	if err := c.open(b.Context(), c.loop.Now(), store.SlotCount); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		c.sites[fmt.Sprint("http://h", i, ".example")] = &site{}
	}
	b.ReportAllocs()
	for b.Loop() {
		c.show(c.loop.Now(), false)
	}
}
