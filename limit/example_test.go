package limit_test

import (
	"fmt"
	"time"

	"headway/limit"
)

// A job that requests more than the operator allows is capped. This is reported before it begins and
// when the cap stops it.
func Example() {
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	effective := limit.Resolve(
		limit.NewService(),
		limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 100}},
	)
	for _, c := range effective.Capped() {
		fmt.Println(c)
	}
	budget := limit.NewBudget(effective, start, limit.Use{})
	for page := range 50 {
		budget.Observe(start.Add(time.Duration(page)*100*time.Millisecond), limit.Use{Pages: 1})
		for _, w := range budget.Warnings() {
			fmt.Println(w)
		}
	}
	fmt.Println(budget.Exceeded())
	// Output:
	// max_pages 50 (safety; requested 100)
	// max_pages: 80 % used, 40 of 50 (safety)
	// max_pages: 95 % used, 48 of 50 (safety)
	// Safety limit: Maximum 50 pages per crawl (requested: 100)
}
