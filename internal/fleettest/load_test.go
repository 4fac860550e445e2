package fleettest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headway/client"
)

// loadBar is how long one request in a hundred may take at full size.
const loadBar = 500 * time.Millisecond

// TestServiceLoad creates and reads jobs at a fixed rate, whether or not the server
// keeps up: all requests succeed.
func TestServiceLoad(t *testing.T) {
	t.Parallel()
	creations, reads, lasts := 20, 100, 5*time.Second
	if full {
		creations, reads, lasts = 200, 1000, time.Minute
	}
	f := newFleet(t, setup{hosts: 1, pages: 1})
	s := f.service()
	c := s.tenant("acme")
	load := &load{tenant: c, ctx: t.Context(), took: map[string][]time.Duration{}}
	create := func() error {
		j, err := c.CreateJob(load.ctx, f.crawl(3, f.lab.Seeds()...), client.CreateJobParams{})
		if err == nil {
			load.last.Store(j.ID)
		}
		return err
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	questions := []func() error{
		func() error { return second(c.GetJob(load.ctx, load.last.Load())) },
		func() error { return second(c.ListJobs(load.ctx, client.ListJobsParams{Limit: 20})) },
		func() error { return second(c.ListPages(load.ctx, load.last.Load(), client.ListPagesParams{})) },
		func() error {
			return second(c.ListEvents(load.ctx, client.ListEventsParams{Job: load.last.Load(), Limit: 20}))
		},
		func() error { return second(c.GetUsage(load.ctx, client.GetUsageParams{})) },
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		load.send("creations", creations, lasts, func(int) error { return create() })
	})
	wg.Go(func() {
		load.send("reads", reads, lasts, func(i int) error { return questions[i%len(questions)]() })
	})
	wg.Wait()
	for _, kind := range []string{"creations", "reads"} {
		list := load.took[kind]
		slices.Sort(list)
		p50, p99, most := list[len(list)/2], list[len(list)*99/100], list[len(list)-1]
		t.Logf("%d %s in %v: p50 %v, p99 %v, max %v", len(list), kind, lasts, p50, p99, most)
		if full && p99 >= loadBar {
			t.Errorf("%s: one request in a hundred took %v, want less than %v", kind, p99, loadBar)
		}
	}
	jobs := len(all(f, c.AllJobs(t.Context(), client.ListJobsParams{Limit: 100})))
	if want := creations*int(lasts.Seconds()) + 1; jobs != want || len(load.took["creations"]) != want-1 || len(load.took["reads"]) != reads*int(lasts.Seconds()) {
		t.Errorf("%d jobs after %d creations and %d reads, want %d", jobs, len(load.took["creations"]), len(load.took["reads"]), want)
	}
}

// second returns the second of two results.
func second[T any](_ T, err error) error { return err }

// load is requests sent at a fixed rate, whatever happens to earlier ones.
type load struct {
	*tenant
	ctx  context.Context
	last atomic.Int64 // the latest job

	mu   sync.Mutex
	took map[string][]time.Duration // by kind, each from when it was due
}

// send sends requests at a rate for a time, and waits for the responses.
func (l *load) send(kind string, rate int, lasts time.Duration, request func(i int) error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	began := time.Now()
	for i := range rate * int(lasts.Seconds()) {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due)) // the rate of the load is real time
		wg.Go(func() {
			if err := request(i); err != nil {
				l.Errorf("%s: %v", kind, err)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.took[kind] = append(l.took[kind], time.Since(due))
		})
	}
}
