// Package jobrun handles a running job. [Stored] is its part in the store: creating or
// finding it, its seeds, its limits across a fleet, its end. These calls may be slow, so
// they run in the background and have no access to the loop.
package jobrun

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"headway/internal/discovery"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Spec describes a job, as far as the store is concerned.
type Spec struct {
	Name  string
	Asked []byte // the request as stored with the job
	Seeds []weburl.URL
	Since iter.Seq2[visit.Item, error] // URLs of an earlier crawl; nil for none
	// Known returns what an earlier crawl, or an earlier run of this one, recorded about a
	// URL; nil for none.
	Known    func(ctx context.Context, u weburl.URL) (*visit.Visit, error)
	Limits   limit.Effective
	Widened  bool // the scope differs from the last run
	Continue bool // resume a job that ended as partial
	DryRun   bool // pages are not requested
	Deferred bool // URLs may be deferred for other reasons than limits
	Metered  bool // it counts towards the quota of its tenant
	Tenant   string
}

// Stored is a job in the store.
type Stored struct {
	Spec
	ID     job.ID
	Rules  *discovery.Rules
	Store  store.Store
	Queue  store.Queue    // of a fleet; nil otherwise
	Worker store.WorkerID // of a fleet: who asks
	Log    *slog.Logger
	Now    func() time.Time

	reported  sync.Map  // warnings that were stored, by [reported]
	resolving Resolving // of Supervise
}

// End is why a job stops. Without a State it can be resumed.
type End struct {
	State   job.State
	Reason  string               // for people
	Limit   *limit.ExceededError // the limit that stopped it, if any
	Timeout bool                 // it is a time limit
}

// EndFor returns the end for a limit that was reached.
func EndFor(over *limit.ExceededError) *End {
	return &End{State: job.Partial, Reason: string(over.Limit), Limit: over, Timeout: over.Timeout()}
}

// Opening is the state of a job when it was opened.
type Opening struct {
	Resumed bool
	Started time.Time // when it last started to run
	Ended   *End      // it has ended; nothing to resume
}

// Open finds the job to resume, or creates one and adds its seeds.
func (s *Stored) Open(ctx context.Context, now time.Time) (Opening, error) {
	out := Opening{Started: now}
	last, err := s.find(ctx)
	if err != nil {
		return out, err
	}
	pages := s.Limits.Max(limit.Pages)
	if last == nil {
		s.ID, err = s.Store.CreateJob(ctx, store.Job{Name: s.Name, State: job.Running, MaxPages: pages, Spec: s.Asked, CreatedAt: now, StartedAt: now})
		if err != nil {
			return out, fmt.Errorf("create job: %w", err)
		}
		return out, s.AddFirst(ctx, now)
	}
	s.ID, out.Resumed = last.ID, true
	if last.State.Ended() && !(last.State == job.Partial && s.Continue) {
		out.Ended = &End{State: last.State, Reason: last.Reason}
		return out, nil
	}
	if last.State == job.Running {
		out.Started = last.StartedAt
	}
	if err := s.resume(ctx, now, last, pages); err != nil {
		return out, err
	}
	if err := s.RestoreScope(ctx); err != nil {
		return out, err
	}
	if err := s.addKnown(ctx, now); err != nil {
		return out, err
	}
	_, err = s.Renew(ctx, now)
	return out, err
}

// find returns the last job with the name.
func (s *Stored) find(ctx context.Context) (last *store.Job, err error) {
	for after := job.ID(0); ; {
		list, err := s.Store.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		for i := range list {
			if list[i].Name == s.Name {
				last = &list[i]
			}
			after = list[i].ID
		}
		if len(list) < store.MaxPage {
			return last, nil
		}
	}
}

// resume sets a job running again, with the current page limit.
func (s *Stored) resume(ctx context.Context, now time.Time, last *store.Job, pages int64) error {
	again, err := s.hasDeferred(ctx)
	if err != nil {
		return err
	}
	if last.State == job.Partial || last.MaxPages != pages || again {
		if err := s.Store.Extend(ctx, now, s.ID, pages); err != nil {
			return fmt.Errorf("set the page limit to %d: %w", pages, err)
		}
	}
	for _, to := range []job.State{job.Queued, job.Running} {
		if last.State == job.Partial && to == job.Queued || last.State == job.Queued && to == job.Running {
			if err := s.Store.SetState(ctx, now, s.ID, last.State, to, ""); err != nil {
				return fmt.Errorf("resume: %w", err)
			}
			last.State = to
		}
	}
	return nil
}

// hasDeferred reports whether URLs of the job were deferred. They are requested when it resumes.
func (s *Stored) hasDeferred(ctx context.Context) (bool, error) {
	counts, err := s.Counts(ctx)
	return counts.Ended[store.Ending{Outcome: visit.Deferred}] > 0, err
}

// Counts returns the counts of URLs by outcome.
func (s *Stored) Counts(ctx context.Context) (store.Counts, error) {
	counts, err := s.Store.Counts(ctx, s.ID)
	if err != nil {
		return counts, fmt.Errorf("read counts: %w", err)
	}
	return counts, nil
}

// AddFirst adds the URLs that are known before the first fetch.
func (s *Stored) AddFirst(ctx context.Context, now time.Time) error {
	if err := s.addKnown(ctx, now); err != nil {
		return err
	}
	_, err := s.addSeeds(ctx, now)
	return err
}

// seedsAtOnce and knownAtOnce are how many URLs are added at a time.
const (
	seedsAtOnce = 10_000
	knownAtOnce = 5000
)

// addSeeds adds the seeds, and returns how many are new and wait. Known ones are not
// changed.
func (s *Stored) addSeeds(ctx context.Context, now time.Time) (fresh int, err error) {
	for seeds := range slices.Chunk(s.Seeds, seedsAtOnce) {
		found := make([]store.Found, 0, len(seeds))
		for _, u := range seeds {
			found = append(found, s.Rules.Seed(s.ID, u))
		}
		if err := s.takeSeeds(ctx, found); err != nil {
			return fresh, err
		}
		receipt, err := s.Store.Add(ctx, now, found)
		if err != nil {
			return fresh, fmt.Errorf("add seeds: %w", err)
		}
		fresh += len(receipt.Fresh)
	}
	return fresh, nil
}

// addKnown adds the URLs of an earlier crawl with their validators, for conditional
// requests. A 304 response has no links, so the pages it led to are added here. URLs no
// longer in scope are left out. It may be repeated.
func (s *Stored) addKnown(ctx context.Context, now time.Time) error {
	if s.Since == nil {
		return nil
	}
	found := make([]store.Found, 0, knownAtOnce)
	flush := func() error {
		if len(found) == 0 {
			return nil
		}
		if _, err := s.Store.Add(ctx, now, found); err != nil {
			return fmt.Errorf("add URLs of the earlier crawl: %w", err)
		}
		found = found[:0]
		return nil
	}
	for item, err := range s.Since {
		if err != nil {
			return fmt.Errorf("read the earlier crawl: %w", err)
		}
		if !s.Rules.Belongs(item) {
			continue
		}
		found = append(found, store.Found{Item: visit.Item{
			Job: s.ID, URL: item.URL, Via: item.Via, Found: item.Found, Depth: item.Depth, Priority: item.Priority, Validators: item.Validators,
		}})
		if len(found) == knownAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// RestoreScope restores the scope of a resumed job: the redirect targets of its seeds.
func (s *Stored) RestoreScope(ctx context.Context) error {
	q := store.Query{Job: s.ID, Outcome: visit.Redirected, Max: store.MaxPage}
	for {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return fmt.Errorf("read redirects: %w", err)
		}
		for i := range page.Entries {
			if e := &page.Entries[i]; e.Item.Depth == 0 && e.Visit != nil && !e.Visit.Answer.Location.IsZero() {
				s.Rules.Scope.Widen(e.Item.URL, e.Visit.Answer.Location)
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}
