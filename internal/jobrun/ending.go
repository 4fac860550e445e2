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
	// DiscoveryStopped is that of a crawl that is partial because it was told to
	// follow no further links.
	DiscoveryStopped = "discovery was stopped"
	// NothingInScope is that of a crawl that has failed because no URL that it saw
	// belongs to it: its seeds are excluded, or redirect to elsewhere.
	NothingInScope = "no page in scope"
	// Disk is that of a crawl that is partial for want of room on the disk.
	Disk = "disk"
)

// Inquiry is what the loop knows of a job when it is looked how it stands.
type Inquiry struct {
	State   job.State
	Reason  string
	Drained time.Time // when it has drained
	Seeded  bool
	Enough  bool      // discovery was stopped
	Spent   limit.Use // as far as is known here
}

// Standing looks how a job of a fleet stands, tells what comes near, and ends it when it
// is over. It tells whether the state of the job was changed. One worker does this at a
// time.
func (s *Stored) Standing(ctx context.Context, q Inquiry) (changed bool, counts store.Counts, err error) {
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
		end, err = s.stopped(ctx, &counts, q.Spent)
	}
	if err != nil || end == nil {
		return false, counts, err
	}
	err = s.Store.SetState(ctx, s.Now(), s.ID, q.State, end.State, end.Reason)
	if errors.Is(err, store.ErrConflict) {
		err = nil // somebody paused or cancelled it meanwhile
	}
	return true, counts, err
}

// completed is the end of a job that has nothing left to do, if that is so.
func (s *Stored) completed(ctx context.Context, counts *store.Counts, q Inquiry) (*End, error) {
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
	if s.Limits.Of(limit.Hosts).Limited() { // which may have come near and gone by since it was last looked
		if _, err := s.overLimit(ctx, counts, q.Spent); err != nil {
			return nil, err
		}
	}
	end, err := s.Ending(ctx, *counts, q.Enough)
	if err == nil && end != nil && end.Limit != nil {
		_, err = s.Queue.Note(ctx, store.StopOf(s.ID, s.Now(), end.Limit))
	}
	return end, err
}

// drained is the end of a job that has drained, if it has: for a limit, or because
// somebody said so.
func (q *Inquiry) drained(now time.Time) *End {
	switch {
	case q.State != job.Draining || now.Before(q.Drained):
		return nil
	case slices.Contains(limit.Names, limit.Name(q.Reason)):
		return &End{State: job.Partial, Reason: q.Reason}
	default:
		return &End{State: job.Partial, Reason: "drained"}
	}
}

// Ending is the end of a job that has nothing left to do, nil for one that has after
// all: what was put off may have been so by a limit.
func (s *Stored) Ending(ctx context.Context, counts store.Counts, enough bool) (*End, error) {
	if s.DryRun {
		// What a crawl would come to is not the end of its dry run.
		return &End{State: job.Complete, Reason: "dry run"}, nil
	}
	state, reason := Verdict(counts)
	switch {
	case state == job.Partial && enough:
		reason = DiscoveryStopped
	case state == job.Partial:
		over, again, err := s.leftOut(ctx)
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

// Verdict names the end of a crawl that has nothing left: complete, unless
// nobody let it in, nobody could be reached, or a host was given up on.
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
