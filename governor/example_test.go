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

	// It returns, and the next ones are fast again.
	g.Commit(now, now.Sub(began), 500)
	for range 300 {
		now = now.Add(100 * time.Millisecond)
		g.Commit(now, 20*time.Millisecond, 100)
	}
	fmt.Println(g.Permits(now), g.Reason())
	// Output:
	// 25 storage
	// 100
}
