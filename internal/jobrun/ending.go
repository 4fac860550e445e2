package jobrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// Reasons of an end, for people.
const (
	// DiscoveryStopped: partial, because an operator stopped discovery.
	DiscoveryStopped = "discovery was stopped"
	// NothingInScope: failed, because no URL it saw is in scope. Its seeds are excluded or
	// redirect elsewhere.
	NothingInScope = "no page in scope"
	// Disk: partial, because the disk is full.
	Disk = "disk"
)

// Snapshot is what the loop knows about a job when it is supervised.
type Snapshot struct {
	State            job.State
	Reason           string
	Drained          time.Time // when the drain time is over
	Seeded           bool
	DiscoveryStopped bool      // discovery was stopped
	Spent            limit.Use // as far as this worker knows
	Tokens           bool      // its pages need tokens, so none is fetched at its page limit
	Starved          bool      // a URL waits here for nothing but a token
}

// Supervise checks a job of a fleet, stores warnings about limits, and ends the job when it
// is over. It reports whether it changed the job's state. Only one worker supervises a job
// at a time.
func (s *Stored) Supervise(ctx context.Context, q Snapshot) (changed bool, counts store.Counts, err error) {
	if !q.Seeded {
		if err := s.AddFirst(ctx, s.Now()); err != nil {
			return false, counts, err
		}
	}
	if counts, err = s.Counts(ctx); err != nil {
		return false, counts, err
	}
	var end *End
	switch {
	case counts.Waiting == 0 && counts.Errands == 0:
		end, err = s.completed(ctx, &counts, q)
	case q.State == job.Draining:
		end = q.drained(s.Now())
	default:
		end, err = s.stopped(ctx, &counts, q)
	}
	if err != nil || end == nil {
		return false, counts, err
	}
	err = s.Store.SetState(ctx, s.Now(), s.ID, q.State, end.State, end.Reason)
	if errors.Is(err, store.ErrConflict) {
		err = nil // it was paused or cancelled meanwhile
	}
	return true, counts, err
}

// completed returns the end of a job without work left, nil if it has work.
func (s *Stored) completed(ctx context.Context, counts *store.Counts, q Snapshot) (*End, error) {
	done, err := store.Complete(ctx, s.ID, s.Store)
	if err != nil {
		return nil, fmt.Errorf("check for waiting URLs: %w", err)
	}
	if !done {
		return nil, nil
	}
	if *counts, err = s.Counts(ctx); err != nil {
		return nil, err
	}
	if _, err := s.overLimit(ctx, counts, q.Spent); err != nil { // limits may have been approached since the last check
		return nil, err
	}
	end, err := s.Ending(ctx, *counts, q.DiscoveryStopped)
	if err == nil && end != nil && end.Limit != nil {
		_, err = s.Queue.Note(ctx, store.StopOf(s.ID, s.Now(), end.Limit))
	}
	return end, err
}

// drained returns the end of a job whose drain time is over, nil before: for a limit, or
// because an operator drained it.
func (q *Snapshot) drained(now time.Time) *End {
	switch {
	case q.State != job.Draining || now.Before(q.Drained):
		return nil
	case slices.Contains(limit.Names, limit.Name(q.Reason)):
		return &End{State: job.Partial, Reason: q.Reason}
	default:
		return &End{State: job.Partial, Reason: "drained"}
	}
}

// Ending returns the end of a job without work left. It is nil if deferred URLs were put
// back to waiting.
func (s *Stored) Ending(ctx context.Context, counts store.Counts, discoveryStopped bool) (*End, error) {
	if s.DryRun {
		// A dry run is complete whatever the crawl would come to.
		return &End{State: job.Complete, Reason: "dry run"}, nil
	}
	state, reason := Verdict(counts)
	switch {
	case state == job.Partial && discoveryStopped:
		reason = DiscoveryStopped
	case state == job.Partial:
		over, again, err := s.exceededHosts(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read hosts over the limit: %w", err)
		case again:
			return nil, nil
		case over != nil:
			s.Log.Info("job stopped by a limit", "job", s.ID, "limit", over.Error())
			return EndFor(over), nil
		}
	}
	return &End{State: state, Reason: reason}, nil
}

// Verdict names the end of a crawl without work left: complete, unless everything was
// forbidden, no host could be reached, or URLs were deferred.
func Verdict(c store.Counts) (job.State, string) {
	var forbidden, optedOut, lost, loops, deferred, other int64
	for e, n := range c.Ended {
		switch {
		case e.Reason == visit.RobotsDisallow, e.Reason == visit.CrawlDelayTooLong, e.Outcome == visit.Blocked:
			forbidden += n
		case e.Reason == visit.OptedOut:
			optedOut += n
		case e.Reason == visit.RedirectLoop:
			loops += n
		case e.Outcome == visit.Failed, e.Reason == visit.PrivateAddress, e.Reason == visit.BadPort:
			lost += n
		case e.Outcome == visit.Deferred, e.Reason == visit.RobotsUnreachable:
			deferred += n
		case e.Reason == visit.OutOfScope, e.Reason == visit.Excluded, e.Reason == visit.NonDocument, e.Reason == visit.Nofollow,
			e.Reason == visit.Depth, e.Outcome == visit.Redirected:
		default:
			other += n
		}
	}
	switch {
	case deferred > 0:
		return job.Partial, "patience"
	case other == 0 && forbidden > 0:
		return job.Blocked, "robots.txt or a firewall blocks everything"
	case other == 0 && optedOut > 0:
		return job.Blocked, "all hosts are on the opt-out list"
	case other == 0 && loops > 0:
		return job.Failed, "redirect loop or too many redirects"
	case other == 0 && lost > 0:
		return job.Failed, "no host could be reached"
	case other == 0 && c.Seen() > 0:
		return job.Failed, NothingInScope
	default:
		return job.Complete, "all URLs processed"
	}
}
