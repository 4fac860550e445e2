package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/exchange"
	"headway/job"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// How many forbidden URLs go into one commit: few enough that pages and orders do not wait
// long behind them. On one machine as many as pages do, or endingsAtOnce. For a fleet pages go
// first, and [endingRate] decides.
const (
	endingsAtOnce  = 64
	endingsOfFleet = 4 // minimum; none in commits with pages
	endingTime     = 50 * time.Millisecond
)

// endingRate adapts how many forbidden URLs go into one commit of a fleet. A commit to a
// distant store takes as long with one of them as with hundreds, though perhaps a round trip
// longer than one of pages: the number doubles while a commit takes at most twice as long as
// a small one plus [endingTime], and halves otherwise.
type endingRate struct {
	most  int
	small [16]smallCommit // the last ones
	count int             // of small commits so far
}

// smallCommit is a commit of pages, or of few forbidden URLs.
type smallCommit struct {
	at   time.Time
	took time.Duration
}

// smallFor is how long small commits tell how fast the store is. The last one does until
// there is another: at the end of a job a store that became slow may store nothing else.
const smallFor = 10 * time.Second

// next is how many go into the next commit.
func (r *endingRate) next() int { return max(r.most, endingsOfFleet) }

// stored adapts to a commit with that many pages and endings.
func (r *endingRate) stored(now time.Time, pages, endings int, took time.Duration) {
	if endings == 0 && pages > 0 || endings >= endingsOfFleet && endings < 2*endingsOfFleet {
		defer r.keep(smallCommit{now, took})
	}
	switch {
	case endings == 0:
	case took > 2*r.shortest(now)+endingTime:
		r.most = r.next() / 2
	case endings >= r.next():
		r.most = min(2*r.next(), store.MaxVisits)
	}
}

func (r *endingRate) keep(c smallCommit) {
	r.small[r.count%len(r.small)] = c
	r.count++
}

// shortest is the duration of the shortest recent small commit.
func (r *endingRate) shortest(now time.Time) time.Duration {
	if r.count == 0 {
		return 0
	}
	least := r.small[(r.count-1)%len(r.small)].took
	for _, c := range r.small[:min(r.count, len(r.small))] {
		if now.Sub(c.at) < smallFor {
			least = min(least, c.took)
		}
	}
	return least
}

// recheckPage is how many waiting URLs are read at a time to be checked against a new
// robots.txt.
const recheckPage = store.MaxVisits

// forbidden returns the visit of a waiting URL that robots.txt forbids, nil for others. It
// runs on the loop and never blocks: if the rules are not in memory, the check right before
// the request decides.
func (qs *queues) forbidden(it *visit.Item) *visit.Visit {
	s, run := qs.sites[it.URL.Host()], qs.jobs.runs[it.Job]
	if s == nil || run == nil || s.ignored {
		return nil
	}
	now := qs.loop.Now()
	verdict := qs.cfg.Robots.Verdict(s.robots, now)
	if qs.domains.Yielding(s.domain) || qs.halted || !exchange.ByRules(verdict) {
		return nil
	}
	file := qs.read.rules.Peek(verdict.Sum)
	if file == nil {
		return nil
	}
	v := qs.read.forbid(verdict, file, it, now)
	if v != nil {
		run.requestSitemaps(s, exchange.SitemapsOf(file)) // before its end is committed, which may end the job
	}
	return v
}

// maxEndings is how many forbidden URLs go into a commit with that many visits.
func (qs *queues) maxEndings(visits int) int {
	switch {
	case qs.halted, qs.solo && visits == 0 && qs.pool.Busy() == 0:
		return store.MaxVisits // nothing waits behind them
	case qs.solo:
		return max(visits, endingsAtOnce)
	case visits > 0:
		return 0
	}
	return qs.endings.next()
}

// withdrawEndings puts forbidden URLs back to waiting that are in no commit yet: those of a
// domain being released, of a stopping job, or all. They must not delay the release.
func (qs *queues) withdrawEndings(now time.Time, which func(*frontier.Request) bool) {
	qs.f.Spare(now, qs.commits.Withdraw(which))
	qs.continueRecheck()
}

// yield stops sending to a domain.
func (qs *queues) yield(now time.Time, domain string) {
	qs.withdrawEndings(now, func(r *frontier.Request) bool { return r.Item.URL.Domain() == domain })
	qs.f.Yield(now, domain)
}

// stopJob stops a job of a fleet.
func (qs *queues) stopJob(now time.Time, id job.ID) {
	qs.withdrawEndings(now, func(r *frontier.Request) bool { return r.Job == id })
	qs.f.StopJob(now, id)
}

// continueRecheck continues a recheck once the URLs it ended are stored.
func (qs *queues) continueRecheck() {
	if stored := qs.recheckStored; stored != nil && !qs.commits.LowPriorityPending() {
		qs.recheckStored = nil
		stored()
	}
}

// startRecheck checks URLs that wait in the store against a new robots.txt, one queue at a
// time. If the process is killed meanwhile, the rest is checked when the host is next
// loaded.
func (qs *queues) startRecheck(ctx context.Context) {
	if qs.rechecking || len(qs.rechecks) == 0 {
		return
	}
	next := qs.rechecks[0]
	qs.rechecks = qs.rechecks[1:]
	s := qs.sites[next.Host]
	if s == nil || s.ignored || !exchange.ByRules(qs.cfg.Robots.Verdict(s.robots, qs.loop.Now())) {
		qs.f.Sifted(qs.loop.Now(), next)
		qs.startRecheck(ctx)
		return
	}
	qs.rechecking = true
	state, read, end := s.robots, qs.read, qs.endForbidden
	qs.loop.Go(func() {
		err := read.recheck(ctx, next, state, end)
		qs.loop.Post(func(now time.Time) {
			qs.rechecking = false
			qs.f.Sifted(now, next)
			if err != nil && !errors.Is(err, robots.ErrNotStored) { // it is fetched again before the next page
				qs.loop.FailUnless(ctx, fmt.Errorf("check waiting URLs of %s against robots.txt: %w", next.Host, err))
			}
		})
	})
}

// endForbidden ends URLs and waits until that is stored. It reports whether to continue.
func (qs *queues) endForbidden(ctx context.Context, s frontier.Sift, list []*visit.Visit) bool {
	ended := make(chan bool, 1)
	qs.loop.Post(func(now time.Time) {
		if !qs.f.Forbid(now, s, list) {
			ended <- false
			return
		}
		qs.recheckStored = func() { ended <- true }
	})
	select {
	case more := <-ended:
		return more
	case <-ctx.Done():
		return false
	}
}
