package output_test

import (
	"context"
	"fmt"

	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
)

// tally is a custom output: it counts outcomes.
type tally map[visit.Outcome]int

func (t tally) Write(_ context.Context, v *visit.Visit) error {
	t[v.Outcome]++
	return nil
}

func (tally) Close() error { return nil }

// A crawl passes batches of visits to its outputs, in commit order.
func ExampleRun() {
	batches := make(chan []visit.Visit, 1)
	batches <- []visit.Visit{*outputtest.Visit(7), *outputtest.Visit(8), *outputtest.Visit(4)}
	close(batches)

	counts := tally{}
	if err := output.Run(context.Background(), batches, counts); err != nil {
		fmt.Println(err)
	}
	fmt.Println(counts[visit.Fetched], counts[visit.Skipped])
	// Output:
	// 2 1
}
