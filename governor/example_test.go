package governor_test

import (
	"fmt"
	"time"

	"headway/governor"
)

func ExampleNew() {
	g := governor.New(governor.Config{Workers: 100})
	now := time.Date(2026, time.November, 15, 12, 0, 0, 0, time.UTC)

	// A commit hangs; the crawl's loop reports that in each round.
	began := now
	for range 30 {
		now = now.Add(100 * time.Millisecond)
		g.Stalled(now, began)
	}
	fmt.Println(g.Permits(now), g.Reason())

	// It is done: what it took returns at once.
	g.Commit(now, now.Sub(began), 500)
	fmt.Println(g.Permits(now))

	// Then memory is nearly full for two seconds.
	for range 21 {
		now = now.Add(100 * time.Millisecond)
		g.Memory(now, 95, 100)
	}
	fmt.Println(g.Permits(now), g.Reason())

	// What that took returns evenly.
	for range 300 {
		now = now.Add(100 * time.Millisecond)
		g.Memory(now, 50, 100)
	}
	fmt.Println(g.Permits(now), g.Reason())
	// Output:
	// 25 storage
	// 100
	// 25 memory
	// 100
}
