package memory_test

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// A crawl of one page that links to another, by a worker that owns all slots.
func Example() {
	ctx, now := context.Background(), time.Now()
	s := memory.Open(memory.Config{})
	defer s.Close()

	home, err := weburl.Parse("https://example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	about, err := home.Resolve("about")
	if err != nil {
		fmt.Println(err)
		return
	}

	// A client creates a crawl.
	id, err := s.CreateJob(ctx, store.Job{Name: "example", State: job.Running, CreatedAt: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	seed := store.Found{Item: visit.Item{Job: id, URL: home, Found: visit.FoundSeed}}
	if _, err := s.Add(ctx, now, []store.Found{seed}); err != nil {
		fmt.Println(err)
		return
	}

	// A worker joins and reads what waits.
	w, err := s.Join(ctx, now, "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	leases, err := s.Acquire(ctx, now, w, store.SlotCount)
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := s.Heads(ctx, now, []store.Want{{Host: home.Host(), Job: id, Max: 64}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("to fetch:", items[0].URL)

	// The results are committed at once.
	receipt, err := s.Commit(ctx, store.Commit{
		Worker: w, Number: 1, Leases: leases, At: now,
		Visits: []visit.Visit{{Item: items[0], Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}},
		Found:  []store.Found{{Item: visit.Item{Job: id, URL: about, Via: home, Found: visit.FoundLink, Depth: 1}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("new URLs:", receipt.Seen)

	counts, err := s.Counts(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("seen %d = waiting %d + finished %d\n", counts.Seen(), counts.Waiting, counts.Finished())
	// Output:
	// to fetch: https://example.com/
	// new URLs: 1
	// seen 2 = waiting 1 + finished 1
}
