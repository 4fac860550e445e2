package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/job"
	"headway/store"
)

// jobs holds the jobs that are being worked on.
type jobs struct {
	*base
	hosts *hosts
	runs  map[job.ID]*run
	only  *run // the only job; nil in a fleet
}

// runsOf lists the runs with work on a host.
func (js *jobs) runsOf(host string) []*run {
	if js.only != nil {
		return []*run{js.only}
	}
	var list []*run
	for _, id := range js.f.Jobs(host) {
		if r := js.runs[id]; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// halt stops all jobs: no further requests are sent.
func (js *jobs) halt(now time.Time, s *jobrun.End) {
	js.halted = true
	for _, r := range js.runs {
		r.halt(now, s)
	}
}

// requestSitemaps requests the sitemaps of a host for all jobs with work on it.
func (js *jobs) requestSitemaps(s *site, names []string) {
	for _, r := range js.runsOf(s.home.Host()) {
		r.requestSitemaps(s, names)
	}
}

// sendErrands schedules the errands that wait in the store, each once.
func (js *jobs) sendErrands(now time.Time, errands []store.Errand) {
	for _, e := range errands {
		if !js.owns(store.SlotOf(js.key, e.URL.Domain())) || js.runs[e.Job] == nil {
			continue // its owner is notified
		}
		if s := js.sites[e.URL.Host()]; s != nil && s.sitemaps[e.Job][e.URL].queued {
			continue
		}
		if !js.runs[e.Job].hosts.Has(e.URL.Host()) {
			js.hosts.site(e.URL)
			js.f.Warm(now, e.URL, []job.ID{e.Job}) // they are sent again when the host is reserved
			js.hosts.forgetUnscheduled(e.URL.Host())
			continue
		}
		list := js.hosts.site(e.URL).sitemapsOf(e.Job)
		list[e.URL] = sitemap{nested: e.Nested, queued: js.f.Run(now, frontier.Errand{URL: e.URL, Job: e.Job})}
		js.hosts.forgetUnscheduled(e.URL.Host())
	}
}

// returnTokens returns unused tokens.
func (js *jobs) returnTokens(ctx context.Context, now time.Time) error {
	var list []store.Return
	for id, r := range js.runs {
		if back, ok := r.unused(js.f.Unused(id)); ok {
			list = append(list, back)
		}
	}
	return js.commits.Return(ctx, now, list)
}

// recordPoints stores the time series of the runs whose span has ended.
func (js *jobs) recordPoints(ctx context.Context, now time.Time) {
	var list []store.Point
	for _, r := range js.runs {
		if p, ok := r.endSpan(now); ok {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return
	}
	st := js.st
	js.loop.Go(func() {
		for some := range slices.Chunk(list, pointsAtOnce) {
			if err := js.loop.Retry(ctx, func() error { return st.Record(ctx, some) }); err != nil {
				js.loop.Post(func(time.Time) { js.loop.FailUnless(ctx, fmt.Errorf("record the time series: %w", err)) })
				return
			}
		}
	})
}

// pointsAtOnce bounds the points written together: a write of a job's points blocks other
// writers of that job.
const pointsAtOnce = 50

// waiting is how many URLs of all runs wait, as last counted.
func (js *jobs) waiting() (n int64) {
	for _, r := range js.runs {
		n += r.counts.Waiting
	}
	return n
}

// cancel ends a job with work left. A job of a fleet is ended in the store, and all workers
// drop it when they are notified.
func (js *jobs) cancel(now time.Time, r *run, reason string) {
	if !r.shared {
		r.halt(now, &jobrun.End{State: job.Cancelled, Reason: reason})
		return
	}
	r.cancelled = true
	js.f.StopJob(now, r.ID)
	st, id, clock, work := js.st, r.ID, js.loop.Now, js.workCtx
	loop.Do(work, js.loop, func(ctx context.Context) error {
		err := st.SetState(ctx, clock(), id, job.Running, job.Cancelled, reason)
		if errors.Is(err, store.ErrConflict) {
			return nil // it was ended, drained or paused meanwhile
		}
		return err
	}, func(_ time.Time, err error) {
		if err != nil {
			js.loop.FailUnless(work, fmt.Errorf("cancel job %d: %w", id, err))
		}
	})
}
