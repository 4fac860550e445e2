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

// queues loads waiting URLs from the store, and ends those that robots.txt forbids.
type queues struct {
	*base
	hosts *hosts
	jobs  *jobs

	refills       []frontier.Want
	refilling     bool
	rechecks      []frontier.Sift // to be checked against a new robots.txt
	rechecking    bool
	recheckStored func()            // called when the URLs it ended are stored
	endings       endingRate        // how many of these go into one commit
	tokens        int               // page token reservations under way
	rates         store.Timeline    // request rates of tenants, if the store is not shared
	reading       bool              // hosts are being read
	reads         []store.HostQuery // reads that wait
}

// warm loads hosts that wait in the store.
func (qs *queues) warm(ctx context.Context) {
	qs.readHosts(ctx, store.HostQuery{Slots: qs.slots.List()})
}

// readHosts loads hosts that match a query, or as many as there is room for. One read runs
// at a time.
func (qs *queues) readHosts(ctx context.Context, q store.HostQuery) {
	q.Max = warmPage
	if qs.reading {
		whole := func(q store.HostQuery) bool { return q.Job == 0 && len(q.Slots) == qs.slots.Len() }
		switch {
		case qs.solo || slices.ContainsFunc(qs.reads, whole):
		case len(qs.reads) == maxReads:
			qs.reads = []store.HostQuery{{Slots: qs.slots.List(), Max: warmPage}} // one full read is cheaper
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
				ok := qs.onHostsRead(now, page.Hosts, page.Next == "", q.Job == 0 && len(q.Slots) == qs.slots.Len())
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
	maxReads = 16   // queued reads, for new jobs or slots
)

// onHostsRead schedules a page of hosts and reports whether to read on. Whole says that the
// read covers all hosts of all our slots.
func (qs *queues) onHostsRead(now time.Time, hosts []store.HostWork, last, whole bool) bool {
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

// startRefill reads the heads of queues, one query at a time.
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

// reserve requests tokens.
func (qs *queues) reserve(ctx context.Context, t frontier.Tokens) {
	qs.tokens++
	read := qs.read
	var requests reserver
	var bytes int64
	if t.Kind == frontier.RequestToken {
		r := qs.jobs.runs[t.Job].requests
		requests, bytes = r.reserver, r.takeReceived()
	}
	loop.Once(ctx, qs.loop, func(ctx context.Context) (n int, err error) {
		if t.Kind == frontier.PageToken {
			return read.reserve(ctx, t)
		}
		err = read.loop.Retry(ctx, func() error {
			got, err := requests.reserve(ctx, t.N, bytes)
			n = got.N
			return err
		})
		return n, err
	}, func(now time.Time, n int, err error) {
		qs.tokens--
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("reserve tokens: %w", err))
			return
		}
		qs.f.Grant(now, t.Job, t.Kind, n)
	})
}
