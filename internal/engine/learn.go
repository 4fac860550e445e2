package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/fetchpool"
	"headway/internal/ownership"
	"headway/internal/redirects"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// learner applies responses to the schedule and the stored state.
type learner struct {
	*base
	hosts     *hosts
	jobs      *jobs
	suspects  *suspects
	redirects *redirects.Redirects
}

// onPage handles the result of a page request.
func (lr *learner) onPage(now time.Time, l fetchpool.Page) {
	r, run := l.Request, lr.jobs.runs[l.Request.Job]
	if r.Watched() {
		lr.suspects.finish(&r.Item)
	}
	if l.First && l.LocalErr == nil && !l.RobotsLost {
		run.requestSitemaps(lr.sites[r.Host], l.Sitemaps) // before the end of the page is committed, which may end the job
	}
	switch {
	case l.LocalErr != nil:
		lr.redirects.Drop(&r.Item)
		lr.calledOff(now, r, l.Sent, l.MaybeSent, l.LocalErr)
	case l.Judged:
		lr.f.PutBack(now, r)
		run.stopAtPageLimit(now)
	case l.RobotsLost:
		s := lr.sites[r.Host]
		delete(lr.hosts.versions, s.robots.Sum) // the store has lost it
		s.robots = s.robots.Forget()
		lr.f.PutBack(now, r)
		lr.f.SetRobots(now, r.Host, lr.hosts.robotsState(s, now, lr.hosts.crawlDelay(r.Host)))
	case l.Skipped:
		lr.f.Skip(now, r)
		lr.commitPage(now, r, &l, nil, frontier.Settled{})
	default:
		lr.pool.ReportHeard(now)
		settled := lr.f.Settle(now, r, l.Answer, l.Visit)
		lr.measure(r, &l.Answer, l.Wire, settled.Effect)
		lr.noteEffect(now, r.Host, settled.Effect)
		lr.hosts.touch(r.Host)
		pages := int64(0)
		if settled.Verdict == frontier.Ended && l.Visit.Outcome.Page() {
			pages = 1
		}
		run.spend(now, pages, requestsSent(l.Answer), l.Wire)
		if v := l.Visit; v.Outcome == visit.Fetched && v.Page.Digest != "" && !l.Leaf {
			run.duplicates.Observe(v.Item.URL, v.Page.SimHash, v.Page.Digest)
		}
		lr.commitPage(now, r, &l, run.filterLinks(now, l.Links), settled)
	}
}

// onRobots handles the result of a robots.txt request.
func (lr *learner) onRobots(now time.Time, l fetchpool.Robots) {
	s := lr.sites[l.Request.Host]
	payer := lr.jobs.runs[l.Request.Payer()]
	if payer != nil && payer.requests != nil {
		payer.requests.giveBack(l.Followed - max(l.MaybeSent-1, 0))
	}
	if l.LocalErr != nil {
		lr.calledOff(now, l.Request, l.Sent, l.MaybeSent > 0, l.LocalErr)
		return
	}
	if payer != nil {
		payer.spend(now, 0, l.RequestsSent, l.Wire)
	}
	if reason := l.Refused(); reason != "" {
		// Nothing was sent, so there is nothing to learn or to wait for.
		lr.f.PutBack(now, l.Request)
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, reason)
		return
	}
	if l.Owned && !s.owned {
		s.owned = true
		lr.f.Reconsider(now, l.Request.Host)
	}
	lr.pool.ReportHeard(now)
	settled := lr.f.Settle(now, l.Request, l.Answer, nil)
	lr.measure(l.Request, &l.Answer, l.Wire, settled.Effect)
	lr.noteEffect(now, l.Request.Host, settled.Effect)
	s.robots = lr.cfg.Robots.Observe(s.robots, now, l.Says)
	if l.Body != nil && lr.hosts.newRobots(s.robots.Sum) {
		lr.enqueue(committer.Entry{Robots: &store.RobotsVersion{Sum: s.robots.Sum, Body: l.Body, FetchedAt: now}})
	}
	gone := lr.giveUpUnreachable(now, s, l)
	delay := lr.hosts.crawlDelay(l.Request.Host)
	switch {
	case l.Read:
		delay = l.Delay
	case s.robots.Known == robots.Missing, s.robots.Known == robots.Closed:
		delay = 0
	}
	lr.f.SetRobots(now, l.Request.Host, lr.hosts.robotsState(s, now, delay))
	lr.f.Judge(now, l.Request.Host)
	lr.hosts.touch(l.Request.Host)
	if gone {
		return
	}
	if s.robots.Known != robots.Nothing {
		lr.jobs.requestSitemaps(s, l.Sitemaps)
	}
}

// onSitemap handles the result of a sitemap request.
func (lr *learner) onSitemap(now time.Time, l fetchpool.Sitemap) {
	r := l.Request
	switch {
	case l.LocalErr != nil:
		lr.calledOff(now, r, l.Sent, l.MaybeSent, l.LocalErr)
		return
	case l.Skipped:
		lr.f.Skip(now, r)
		return
	}
	if run := lr.jobs.runs[r.Job]; run != nil {
		run.spend(now, 0, requestsSent(l.Answer), l.Wire)
	}
	settled := lr.f.Settle(now, r, l.Answer, nil)
	lr.measure(r, &l.Answer, l.Wire, settled.Effect)
	lr.noteEffect(now, r.Host, settled.Effect)
	lr.hosts.touch(r.Host)
}

// calledOff puts back a request that failed for a local reason. If it was sent (sent is not
// zero) it still counts for the host's pace; if it may have been (maybeSent), for the limits.
func (lr *learner) calledOff(now time.Time, r frontier.Request, sent time.Time, maybeSent bool, own error) {
	if !sent.IsZero() {
		lr.f.Sent(sent, r) // possibly reported before
	} else if maybeSent {
		lr.f.MaybeSent(r)
	}
	if lr.f.PutBack(now, r) {
		lr.hosts.touch(r.Host)
	}
	lr.failOnLocalErr(own)
}

// commitPage adds a visit to the next commit.
func (lr *learner) commitPage(now time.Time, r frontier.Request, l *fetchpool.Page, links []discovery.Link, s frontier.Settled) {
	v := l.Visit
	switch s.Verdict {
	case frontier.InDoubt:
	case frontier.Again:
		v.Outcome, v.Reason, v.Wait = visit.Pending, "", visit.WaitHold
		v.Links, v.Page.Links = nil, nil
		lr.meter.Totals.Retries[s.Effect.Charge()]++
		lr.hosts.enqueueFor(r.Host, committer.Entry{Request: &r, Retry: &store.Retry{Visit: *v, Attempt: s.Attempt}})
		if s.Effect.Urgent() {
			lr.commits.FlushNow()
		}
	case frontier.Ended:
		lr.hosts.enqueueFor(r.Host, committer.Entry{Request: &r, Visit: v, Found: links, Raw: l.Raw, RawLen: l.RawLen})
	}
}

// requestsSent is the number of requests behind an answer: 0 if it was never sent.
func requestsSent(a frontier.Answer) int64 {
	if a.SentAt.IsZero() {
		return 0
	}
	return 1
}

// noteEffect logs and stores how an answer changed the pace of a host.
func (lr *learner) noteEffect(now time.Time, host string, e politeness.Effect) {
	if e.Has(politeness.Incident) {
		for _, r := range lr.jobs.runsOf(host) {
			r.tally.Incidents++
		}
	}
	from, to := e.Pace()
	if from != to {
		cause := "probe"
		switch {
		case e.Has(politeness.Noise):
			cause = "noise"
		case e.Has(politeness.Relieved):
			cause = "url"
		case e.Has(politeness.ProbeFailed):
			cause = "probe_failed"
		case e.Has(politeness.Incident), e.Has(politeness.Slowed):
			cause = "incident"
		}
		lr.commits.Pace(store.PaceChange{Host: host, At: now, From: from, To: to, Cause: cause}, lr.hosts.slotOf(host))
		if to > from {
			lr.cfg.Log.Info("host slowed", "host", host, "delay", to, "why", e.String())
		} else {
			lr.cfg.Log.Info("host sped up", "host", host, "delay", to, "why", e.String())
		}
	}
	if e.Urgent() {
		lr.commits.FlushNow()
	}
	if !e.Has(politeness.Cancelled) {
		return
	}
	for _, r := range lr.jobs.runsOf(host) {
		if most := r.cfg.Policy.CancelAfter; most > 0 && r.stop == nil && !r.cancelled {
			lr.meter.Totals.Cancelled++
			lr.jobs.cancel(now, r, fmt.Sprintf("%s refused %d times in a row at the slowest pace", host, most))
		}
	}
}

// measure counts a finished request and its effect on the host.
func (lr *learner) measure(r frontier.Request, a *frontier.Answer, wire int64, e politeness.Effect) {
	view, ok := lr.f.View(r.Host)
	s := lr.sites[r.Host]
	refusal, cut := politeness.IsRefusal(a.Status), false
	if ok && view.Policy != nil {
		refusal = view.Policy.Refuses(a.Status)
		cut = e.Has(politeness.Incident) && s != nil && view.Policy.Cap(view.State) < int(s.promise.Cap)
	}
	lr.meter.RequestDone(r.Kind, a, wire)
	lr.meter.Affected(a.Status, refusal, cut, e)
}

// maxUnreachableTries is after how many consecutive responses an unreachable host is given
// up: as often as a URL is tried after network errors.
const maxUnreachableTries = 3

// giveUpUnreachable gives up on a host that may not or cannot be reached: what stopped the
// request for robots.txt would stop every page, and becomes their outcome.
func (lr *learner) giveUpUnreachable(now time.Time, s *site, l fetchpool.Robots) bool {
	failure, ok := errors.AsType[*fetch.Error](l.Err)
	s.unreachable = ""
	if hop, ok := errors.AsType[*fetch.RefusedHopError](l.Err); ok {
		// Waiting would not help.
		lr.cfg.Log.Warn("robots.txt redirects to a blocked address", "host", l.Request.Host, "to", hop.To.Host(), "err", hop.Err)
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, visit.RobotsUnreachable)
		return true
	}
	switch {
	case !ok:
		s.unreachableTries = 0
		return false
	case lr.fallBack(now, l.Request.Host, failure):
		return true
	case failure.Reason.Skipped():
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, visit.Reason(failure.Reason))
		return true
	case !l.Answer.Answered || s.robots.Known != robots.Nothing:
		return false
	}
	s.unreachable = visit.Reason(failure.Reason)
	if s.unreachableTries++; s.unreachableTries < maxUnreachableTries {
		return false
	}
	lr.f.GiveUp(now, l.Request.Host, visit.Failed, visit.Reason(failure.Reason))
	return true
}

// parked adjusts how the URLs of a parked host end. If robots.txt could not be read because
// the host is unreachable, that is their reason too.
func (lr *learner) parked(p frontier.Park) frontier.Park {
	if s := lr.sites[p.Host]; s != nil && s.unreachable != "" && p.Reason == visit.RobotsUnreachable {
		p.Outcome, p.Reason = visit.Failed, s.unreachable
	}
	return p
}

// fallBack switches to the alternative seed of a host that cannot be connected to.
func (lr *learner) fallBack(now time.Time, host string, failure *fetch.Error) (turned bool) {
	if failure.Phase != fetch.PhaseConnect && failure.Phase != fetch.PhaseTLS {
		return false
	}
	for _, r := range lr.jobs.runsOf(host) {
		turned = r.fallBack(host, failure) || turned
	}
	if turned {
		lr.f.GiveUp(now, host, visit.Failed, visit.Reason(failure.Reason))
	}
	return turned
}

// failOnLocalErr ends the crawl for an error that is neither a host's nor the result of
// stopping.
func (lr *learner) failOnLocalErr(err error) {
	if !lr.halted && !errors.Is(err, context.Canceled) && !errors.Is(err, ownership.ErrExpired) && !errors.Is(err, errEnded) && !fetchpool.CalledOff(err) {
		lr.loop.Fail(err)
	}
}

// lookForLoops checks the redirects of a commit for loops again, in a fleet.
func (lr *learner) lookForLoops(ctx context.Context, visits []visit.Visit) {
	if lr.solo {
		return // a single process sees them all before
	}
	var list []visit.Visit
	for i := range visits {
		if v := &visits[i]; v.Outcome == visit.Redirected && lr.jobs.runs[v.Item.Job] != nil && len(list) < redirects.MaxFollowed {
			list = append(list, visit.Visit{Item: v.Item, Answer: visit.Answer{Location: v.Answer.Location}})
		}
	}
	if len(list) == 0 {
		return
	}
	known, now := lr.redirects, lr.loop.Now
	lr.loop.Go(func() {
		if err := known.Break(ctx, now, list); err != nil {
			lr.loop.Post(func(time.Time) { lr.loop.FailUnless(ctx, err) })
		}
	})
}

func (r *run) fallBack(host string, failure *fetch.Error) bool {
	other, ok := r.cfg.Fallback[host]
	if !ok {
		return false
	}
	r.log.Info("cannot connect, trying the other scheme", "host", host, "url", other.String(), "err", failure)
	f := store.Found{Item: visit.Item{Job: r.ID, URL: other, Found: visit.FoundSeed}}
	r.seedHosts[other.Host()] = true
	r.enqueue(committer.Entry{Found: []discovery.Link{{Found: f, Mark: r.rules.Mark(&f, 0)}}})
	return true
}
