// Package jobrun is one job that is worked on. [Stored] is what the store has of it:
// finding or making it, its seeds, its limits across a fleet, its end. All of that asks
// the store, which may take long, so none of it belongs to the loop, and nothing of the
// loop can be reached from it.
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

// Spec is what a job is asked for, and for whom, as far as the store is concerned.
type Spec struct {
	Name  string
	Asked []byte // what was asked for, as it is kept with the job
	Seeds []weburl.URL
	Since iter.Seq2[visit.Item, error] // URLs of an earlier crawl; nil for none
	// Known tells what an earlier crawl, or an earlier run of this one, recorded of a
	// URL; nil for nobody to ask.
	Known    func(ctx context.Context, u weburl.URL) (*visit.Visit, error)
	Limits   limit.Effective
	Widened  bool // what belongs to it differs from when it last ran
	Continue bool // go on though it has ended as partial
	DryRun   bool // pages are not asked for
	Deferred bool // more may be put off than limits do
	Metered  bool // it counts against the quota of its tenant
	Tenant   string
}

// Stored is a job as the store has it.
type Stored struct {
	Spec
	ID    job.ID
	Rules *discovery.Rules
	Store store.Store
	Queue store.Queue // of a fleet; nil for one alone
	Log   *slog.Logger
	Now   func() time.Time

	told sync.Map // warnings that were told, by their [told]
}

// End is why a job sends nothing more. Without a State it can be resumed.
type End struct {
	State   job.State
	Reason  string               // for people
	Limit   *limit.ExceededError // what stopped it, if a limit did
	Timeout bool                 // that limit is one of time
}

// EndFor is the end that a limit brings.
func EndFor(over *limit.ExceededError) *End {
	return &End{State: job.Partial, Reason: string(over.Limit), Limit: over, Timeout: over.Timeout()}
}

// Opening is how a job was found.
type Opening struct {
	Resumed bool
	Started time.Time // when it last began to run
	Ended   *End      // it has ended, and there is nothing to go on with
}

// Open finds the job to go on with, or makes one and adds its seeds.
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
	if err := s.WidenAgain(ctx); err != nil {
		return out, err
	}
	if err := s.addKnown(ctx, now); err != nil {
		return out, err
	}
	_, err = s.Renew(ctx, now)
	return out, err
}

// find is the last job of the name.
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

// resume lets a job run again, under the page limit of now.
func (s *Stored) resume(ctx context.Context, now time.Time, last *store.Job, pages int64) error {
	again, err := s.putOff(ctx)
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

// putOff tells whether URLs of the job were put off: they are asked for when it
// goes on.
func (s *Stored) putOff(ctx context.Context) (bool, error) {
	counts, err := s.Counts(ctx)
	return counts.Ended[store.Ending{Outcome: visit.Deferred}] > 0, err
}

// Counts is how the URLs stand.
func (s *Stored) Counts(ctx context.Context) (store.Counts, error) {
	counts, err := s.Store.Counts(ctx, s.ID)
	if err != nil {
		return counts, fmt.Errorf("read counts: %w", err)
	}
	return counts, nil
}

// AddFirst makes seen what is known before anything was fetched.
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

// addSeeds makes the seeds seen, and tells how many are new and wait. Those seen
// before are left alone.
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

// addKnown makes the URLs of an earlier crawl seen, with what servers gave to ask
// by whether they changed. A page that did not change names no links, so what it
// led to last time is asked for because of that, not because of a link. Those
// that are no longer in scope are left to be found. It may be repeated.
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
			return fmt.Errorf("add what is known: %w", err)
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

// WidenAgain learns from a resumed job where its seeds had redirected to.
func (s *Stored) WidenAgain(ctx context.Context) error {
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
