package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/exchange"
	"headway/job"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// How many URLs that end without a turn go with one commit: few enough that a page or
// an order does not wait long behind them. A store that is a network away is slower: there
// pages go first, and [endingRate] decides.
const (
	endingsAtOnce  = 64
	endingsOfFleet = 4 // at least, and none beside pages
	endingTime     = 50 * time.Millisecond
)

// endingRate is how many URLs that end without a turn go with one commit of a fleet. A
// commit to a store that is far away takes as long with one of them as with hundreds: the
// number doubles while they add at most [endingTime] to a commit, and halves otherwise.
type endingRate struct {
	most    int
	without [16]time.Duration // what the last commits without any took
	commits int               // without any so far
}

// next is how many go with the next commit.
func (r *endingRate) next() int { return max(r.most, endingsOfFleet) }

// stored learns from a commit with so many of them.
func (r *endingRate) stored(endings int, took time.Duration) {
	switch {
	case endings == 0:
		r.without[r.commits%len(r.without)] = took
		r.commits++
	case took > r.shortest()+endingTime:
		r.most = r.next() / 2
	case endings >= r.next():
		r.most = min(2*r.next(), store.MaxVisits)
	}
}

// shortest is what the shortest of the last commits without any took.
func (r *endingRate) shortest() time.Duration {
	if r.commits == 0 {
		return 0
	}
	return slices.Min(r.without[:min(r.commits, len(r.without))])
}

// siftPage is how many waiting URLs are read from the store at a time to be judged
// by a robots.txt that is new.
const siftPage = store.MaxVisits

// forbidden is how a URL that waits ends if the robots.txt of its host forbids it, nil
// otherwise. It belongs to the loop and never waits: where the rules are not in memory
// the verdict before the request decides alone, as it does for all others.
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
		run.findSitemaps(s, exchange.SitemapsOf(file)) // before its end is committed, which may be that of the job
	}
	return v
}

// endingsBeside is how many URLs that end without a turn go with a commit of so many
// visits.
func (qs *queues) endingsBeside(visits int) int {
	switch {
	case qs.halted:
		return store.MaxVisits // nobody waits behind them
	case qs.alone:
		return endingsAtOnce
	case visits > 0:
		return 0
	}
	return qs.endings.next()
}

// spareEndings leaves URLs waiting that would end without a turn and are in no commit
// yet: those of a domain that is given up, of a job that stops, or all. Nobody waits for
// them to leave.
func (qs *queues) spareEndings(now time.Time, which func(*frontier.Request) bool) {
	qs.f.Spare(now, qs.commits.Spare(which))
	qs.siftOn()
}

// yield stops sending to a domain.
func (qs *queues) yield(now time.Time, domain string) {
	qs.spareEndings(now, func(r *frontier.Request) bool { return r.Item.URL.Domain() == domain })
	qs.f.Yield(now, domain)
}

// stopJob starts nothing more for a job of a fleet.
func (qs *queues) stopJob(now time.Time, id job.ID) {
	qs.spareEndings(now, func(r *frontier.Request) bool { return r.Job == id })
	qs.f.StopJob(now, id)
}

// siftOn lets a sift go on once what it ended is stored.
func (qs *queues) siftOn() {
	if stored := qs.siftStored; stored != nil && !qs.commits.Ending() {
		qs.siftStored = nil
		stored()
	}
}

// startSift judges what waits in the store beyond what is in memory, one queue at a
// time. A process that is killed meanwhile leaves the rest waiting: it is judged when the
// host is next taken into memory.
func (qs *queues) startSift(ctx context.Context) {
	if qs.sifting || len(qs.sifts) == 0 {
		return
	}
	next := qs.sifts[0]
	qs.sifts = qs.sifts[1:]
	s := qs.sites[next.Host]
	if s == nil || s.ignored || !exchange.ByRules(qs.cfg.Robots.Verdict(s.robots, qs.loop.Now())) {
		qs.f.Sifted(qs.loop.Now(), next)
		qs.startSift(ctx)
		return
	}
	qs.sifting = true
	state, read, end := s.robots, qs.read, qs.endForbidden
	qs.loop.Go(func() {
		err := read.sift(ctx, next, state, end)
		qs.loop.Post(func(now time.Time) {
			qs.sifting = false
			qs.f.Sifted(now, next)
			if err != nil && !errors.Is(err, robots.ErrNotStored) { // which is fetched again before the next page
				qs.loop.FailUnless(ctx, fmt.Errorf("judge what waits on %s: %w", next.Host, err))
			}
		})
	})
}

// endForbidden ends URLs and waits until that is stored. It tells whether to go on.
func (qs *queues) endForbidden(ctx context.Context, s frontier.Sift, list []*visit.Visit) bool {
	ended := make(chan bool, 1)
	qs.loop.Post(func(now time.Time) {
		if !qs.f.Forbid(now, s, list) {
			ended <- false
			return
		}
		qs.siftStored = func() { ended <- true }
	})
	select {
	case more := <-ended:
		return more
	case <-ctx.Done():
		return false
	}
}
