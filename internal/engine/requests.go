package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/internal/committer"
	"headway/internal/fetchpool"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/limit"
	"headway/store"
)

// requests reserves the requests of a fleet job with a request or byte limit. On one machine
// the crawl counts them itself.
type requests struct {
	*base
	reserver
	received  int64 // bytes that are not stored yet
	reporting bool
}

// reserver reserves in the background. It uses no state of the loop.
type reserver struct{ job *jobrun.Stored }

// newRequests returns nil for a job without such a limit.
func newRequests(b *base, job *jobrun.Stored) *requests {
	if !slices.ContainsFunc(usageLimits, func(n limit.Name) bool { return job.Limits.Of(n).Limited() }) {
		return nil
	}
	return &requests{base: b, reserver: reserver{job}}
}

// reserve reserves up to n requests, after that many bytes were received.
func (r reserver) reserve(ctx context.Context, n int, bytes int64) (store.Reserved, error) {
	x := r.job.Reservation()
	x.N, x.Bytes = n, bytes
	got, err := r.job.Queue.ReserveRequests(ctx, x)
	if errors.Is(err, store.ErrNotFound) {
		return store.Reserved{}, nil // it was dropped, as we will notice
	}
	return got, err
}

// reserveHop reserves a request for a redirect of robots.txt.
func (r reserver) reserveHop(ctx context.Context) error {
	got, err := r.reserve(ctx, 1, 0)
	if err == nil && got.N == 0 {
		err = fetchpool.ErrNoRequest
	}
	return err
}

// giveBack returns requests that were reserved and not sent.
func (r *requests) giveBack(n int64) {
	if n > 0 {
		r.enqueue(committer.Entry{Tokens: &store.Return{Job: r.job.ID, Requests: int(n)}})
	}
}

// report stores how many bytes were received, one report at a time, so that no worker reserves
// a request beyond the byte limit.
func (r *requests) report(bytes int64) {
	if !r.job.Limits.Of(limit.Bytes).Limited() {
		return
	}
	if r.received += bytes; r.reporting || r.received == 0 {
		return
	}
	r.reporting = true
	bytes = r.takeReceived()
	background, l := r.reserver, r.loop
	loop.Do(r.workCtx, l, func(ctx context.Context) error {
		return l.Retry(ctx, func() error {
			_, err := background.reserve(ctx, 0, bytes)
			return err
		})
	}, func(_ time.Time, err error) {
		r.reporting = false
		if err != nil {
			r.loop.FailUnless(r.workCtx, fmt.Errorf("store received bytes: %w", err))
			return
		}
		r.report(0)
	})
}

// takeReceived takes the bytes that are not stored yet.
func (r *requests) takeReceived() (n int64) {
	n, r.received = r.received, 0
	return n
}
