package fleettest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadBar is how long one request in a hundred may take at full size.
const loadBar = 500 * time.Millisecond

// TestServiceLoad asks for jobs and reads, so many a second whether or not the answers
// keep up: all are answered, and none with an error.
func TestServiceLoad(t *testing.T) {
	t.Parallel()
	creations, reads, lasts := 20, 100, 5*time.Second
	if full {
		creations, reads, lasts = 200, 1000, time.Minute
	}
	f := newFleet(t, setup{hosts: 1, pages: 1})
	s := f.service()
	c := s.client("acme")
	load := &load{client: c, ctx: t.Context()}
	load.last.Store(c.create(f.crawl(3, f.lab.Seeds()...)))
	questions := []func() string{
		func() string { return fmt.Sprintf("/v1/jobs/%d", load.last.Load()) },
		func() string { return "/v1/jobs?limit=20" },
		func() string { return fmt.Sprintf("/v1/jobs/%d/pages", load.last.Load()) },
		func() string { return fmt.Sprintf("/v1/events?limit=20&job=%d", load.last.Load()) },
		func() string { return "/v1/usage" },
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		load.send(creations, lasts, func(int) (string, string, any) { return "POST", "/v1/jobs", f.crawl(3, f.lab.Seeds()...) })
	})
	wg.Go(func() {
		load.send(reads, lasts, func(i int) (string, string, any) { return "GET", questions[i%len(questions)](), nil })
	})
	wg.Wait()
	for _, kind := range []string{"POST", "GET"} {
		list := load.took[kind]
		slices.Sort(list)
		p50, p99, most := list[len(list)/2], list[len(list)*99/100], list[len(list)-1]
		t.Logf("%d × %s in %v: p50 %v, p99 %v, max %v", len(list), kind, lasts, p50, p99, most)
		if full && p99 >= loadBar {
			t.Errorf("%s: one request in a hundred took %v, want less than %v", kind, p99, loadBar)
		}
	}
	var jobs int
	for cursor := "/v1/jobs?limit=100"; cursor != ""; {
		var page struct {
			Jobs []job  `json:"jobs"`
			Next string `json:"next_cursor"`
		}
		c.must("GET", cursor, nil, &page)
		jobs += len(page.Jobs)
		if cursor = ""; page.Next != "" {
			cursor = "/v1/jobs?limit=100&cursor=" + page.Next
		}
	}
	if want := creations*int(lasts.Seconds()) + 1; jobs != want || len(load.took["POST"]) != want-1 || len(load.took["GET"]) != reads*int(lasts.Seconds()) {
		t.Errorf("%d jobs after %d creations and %d reads, want %d", jobs, len(load.took["POST"]), len(load.took["GET"]), want)
	}
}

// load is requests that are sent whatever becomes of those before.
type load struct {
	*client
	ctx  context.Context
	last atomic.Int64 // the latest job

	mu   sync.Mutex
	took map[string][]time.Duration // by method, each from when it was due
}

// send sends so many requests a second for a time, and waits for the answers.
func (l *load) send(rate int, lasts time.Duration, request func(i int) (method, path string, body any)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	began := time.Now()
	for i := range rate * int(lasts.Seconds()) {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			method, path, body := request(i)
			status, text, err := l.ask(l.ctx, method, path, body)
			var made job
			if err == nil && method == "POST" {
				err = json.Unmarshal(text, &made)
				l.last.Store(made.Job)
			}
			if err != nil || status/100 != 2 {
				l.Errorf("%s %s: %d: %v: %s", method, path, status, err, text)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.took == nil {
				l.took = map[string][]time.Duration{}
			}
			l.took[method] = append(l.took[method], time.Since(due))
		})
	}
}
