package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/loop"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// queues read what waits in the store, and end what need not wait.
type queues struct {
	*base
	hosts *hosts
	jobs  *jobs

	refills    []frontier.Want
	refilling  bool
	sifts      []frontier.Sift // to be judged by a robots.txt that is new
	sifting    bool
	siftStored func()            // called when what it ended is stored
	endings    endingRate        // how many of these go with one commit
	tokens     int               // reservations under way
	rates      store.Timeline    // of tenants, where nobody shares the store
	reading    bool              // hosts are being read
	reads      []store.HostQuery // further hosts to be read
}

// warm takes in hosts that wait in the store.
func (qs *queues) warm(ctx context.Context) {
	qs.readHosts(ctx, store.HostQuery{Slots: qs.slots.List()})
}

// readHosts takes in hosts that wait in the store: those asked for, or some more.
// One reading is under way at a time.
func (qs *queues) readHosts(ctx context.Context, q store.HostQuery) {
	q.Max = warmPage
	if qs.reading {
		whole := func(q store.HostQuery) bool { return q.Job == 0 && len(q.Slots) == qs.slots.Len() }
		switch {
		case qs.alone || slices.ContainsFunc(qs.reads, whole):
		case len(qs.reads) == maxReads:
			qs.reads = []store.HostQuery{{Slots: qs.slots.List(), Max: warmPage}} // all at once is cheaper
		default:
			qs.reads = append(qs.reads, q)
		}
		return
	}
	qs.reading = true
	read := qs.read
	qs.loop.Go(func() {
		for {
			var page store.HostPage
			var errands []store.Errand
			err := qs.loop.Retry(ctx, func() (err error) {
				if page, err = read.st.Hosts(ctx, q); err == nil {
					errands, err = read.errandsOf(ctx, page.Hosts)
				}
				return err
			})
			if err != nil {
				qs.loop.Post(func(time.Time) { qs.reading = false; qs.loop.FailUnless(ctx, fmt.Errorf("read hosts: %w", err)) })
				return
			}
			more := make(chan bool, 1)
			qs.loop.Post(func(now time.Time) {
				ok := qs.tookHosts(now, page.Hosts, page.Next == "", q.Job == 0 && len(q.Slots) == qs.slots.Len())
				qs.jobs.sendErrands(now, errands)
				if !ok {
					qs.reading = false
					if len(qs.reads) > 0 && qs.loop.Err() == nil {
						next := qs.reads[0]
						qs.reads = qs.reads[1:]
						qs.readHosts(ctx, next)
					}
				}
				more <- ok
			})
			select {
			case ok := <-more:
				if !ok {
					return
				}
			case <-ctx.Done():
				return
			}
			q.After = page.Next
		}
	})
}

// Bounds of reading hosts.
const (
	warmPage = 2000 // hosts read at a time
	maxReads = 16   // readings that wait: of jobs or slots that are new
)

// tookHosts takes in a page of hosts and tells whether to read on. The whole is
// all hosts of all our slots.
func (qs *queues) tookHosts(now time.Time, hosts []store.HostWork, last, whole bool) bool {
	room := true
	for i := range hosts {
		h := &hosts[i]
		u, err := store.ParseHost(h.Host.Host)
		if err != nil {
			qs.loop.Fail(fmt.Errorf("stored host: %w", err))
			return false
		}
		jobs := make([]job.ID, 0, len(h.Jobs))
		for _, j := range h.Jobs {
			if qs.jobs.runs[j.Job] != nil {
				jobs = append(jobs, j.Job)
			}
		}
		if len(jobs) > 0 && room && qs.owns(store.SlotOf(qs.key, u.Domain())) {
			qs.hosts.site(u)
			room = qs.f.Warm(now, u, jobs)
			qs.hosts.forgetUnscheduled(h.Host.Host)
		}
	}
	if last && whole {
		qs.f.Warmed()
	}
	return !last && room && qs.loop.Err() == nil
}

// startRefill reads the heads of queues, one question at a time.
func (qs *queues) startRefill(ctx context.Context, now time.Time) {
	if qs.refilling || len(qs.refills) == 0 {
		return
	}
	wants := qs.refills
	qs.refills, qs.refilling = nil, true
	list := make([]store.Want, len(wants))
	for i, w := range wants {
		list[i] = store.Want(w)
	}
	st := qs.st
	loop.Ask(ctx, qs.loop, func(ctx context.Context) ([]visit.Item, error) {
		return st.Heads(ctx, now, list)
	}, func(now time.Time, items []visit.Item, err error) {
		qs.refilling = false
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("read queues: %w", err))
			return
		}
		qs.f.Refilled(now, wants, items)
	})
}

// reserve asks for page tokens.
func (qs *queues) reserve(ctx context.Context, t frontier.Tokens) {
	qs.tokens++
	read := qs.read
	loop.Once(ctx, qs.loop, func(ctx context.Context) (int, error) {
		return read.reserve(ctx, t)
	}, func(now time.Time, n int, err error) {
		qs.tokens--
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("reserve pages: %w", err))
			return
		}
		qs.f.Grant(now, t.Job, n)
	})
}
