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
	"headway/limit"
	"headway/store"
)

// jobs are those that are worked on.
type jobs struct {
	*base
	hosts *hosts
	runs  map[job.ID]*run
	only  *run // the only one there will be; nil in a fleet
}

// runsOf lists the runs that have a part in a host.
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

// halt sends nothing more, for nobody.
func (js *jobs) halt(now time.Time, s *jobrun.End) {
	js.halted = true
	for _, r := range js.runs {
		r.halt(now, s)
	}
}

// findSitemaps sends for the sitemaps of a host, for all who have a part in it.
func (js *jobs) findSitemaps(s *site, names []string) {
	for _, r := range js.runsOf(s.home.Host()) {
		r.findSitemaps(s, names)
	}
}

// sendErrands puts errands on the schedule that wait in the store, each once.
func (js *jobs) sendErrands(now time.Time, errands []store.Errand) {
	for _, e := range errands {
		if !js.owns(store.SlotOf(js.key, e.URL.Domain())) || js.runs[e.Job] == nil {
			continue // its owner hears of it
		}
		if s := js.sites[e.URL.Host()]; s != nil && s.sitemaps[e.Job][e.URL].queued {
			continue
		}
		if !js.runs[e.Job].hosts.Has(e.URL.Host()) {
			js.hosts.site(e.URL)
			js.f.Warm(now, e.URL, []job.ID{e.Job}) // they come back when the host was taken up
			js.hosts.forgetUnscheduled(e.URL.Host())
			continue
		}
		list := js.hosts.site(e.URL).read(e.Job)
		list[e.URL] = sitemap{nested: e.Nested, queued: js.f.Run(now, frontier.Errand{URL: e.URL, Job: e.Job})}
		js.hosts.forgetUnscheduled(e.URL.Host())
	}
}

// returnTokens gives back page tokens that were not used.
func (js *jobs) returnTokens(ctx context.Context, now time.Time) error {
	var list []store.Return
	for id, r := range js.runs {
		if n := js.f.Unused(id); n > 0 && r.cfg.Limits.Of(limit.Pages).Limited() {
			list = append(list, store.Return{Job: id, Tokens: n})
		}
	}
	return js.commits.Return(ctx, now, list)
}

// recordPoints writes the time series of the runs whose span has ended.
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

// pointsAtOnce bounds the points that are written together: whoever writes one of a
// job makes others wait who do.
const pointsAtOnce = 50

// waiting is how many URLs of all runs wait, as of a moment ago.
func (js *jobs) waiting() (n int64) {
	for _, r := range js.runs {
		n += r.counts.Waiting
	}
	return n
}

// cancel ends a job with work left. That of a fleet is ended in the store: all workers
// let go of it when they hear of that.
func (js *jobs) cancel(now time.Time, r *run, reason string) {
	if !r.shared {
		r.halt(now, &jobrun.End{State: job.Cancelled, Reason: reason})
		return
	}
	r.cancelled = true
	js.f.StopJob(now, r.ID)
	st, id, clock, work := js.st, r.ID, js.loop.Now, js.shift
	loop.Do(work, js.loop, func(ctx context.Context) error {
		err := st.SetState(ctx, clock(), id, job.Running, job.Cancelled, reason)
		if errors.Is(err, store.ErrConflict) {
			return nil // somebody else has ended, drained or paused it
		}
		return err
	}, func(_ time.Time, err error) {
		if err != nil {
			js.loop.FailUnless(work, fmt.Errorf("cancel job %d: %w", id, err))
		}
	})
}
