package jobrun

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// reported identifies a warning that was stored.
type reported struct {
	limit   limit.Name
	max     int64
	percent int
}

// overLimit checks a job of a fleet against its limits: it stores warnings, and returns the
// limit that is reached, if any. Known is the usage that the loop knows of.
func (s *Stored) overLimit(ctx context.Context, counts *store.Counts, known limit.Use) (*limit.ExceededError, error) {
	spent, err := s.spent(ctx, counts, known)
	if err != nil {
		return nil, err
	}
	near, over := s.compare(spent)
	if s.Metered {
		// Other jobs of the tenant share the quota, so warnings are of all of it, not of what was
		// left when this job started.
		near = slices.DeleteFunc(near, func(w limit.Warning) bool { return w.Layer == limit.Usage })
		quota, err := s.Queue.Quota(ctx, s.Now(), s.Tenant)
		if err != nil {
			return nil, err
		}
		month, met := quota.Month()
		near = append(near, month...)
		if over == nil && met != "" {
			// What was stored between the two reads is only in the quota.
			again, err := s.Counts(ctx)
			if err != nil {
				return nil, err
			}
			if spent, err = s.spent(ctx, &again, known); err != nil {
				return nil, err
			}
			if _, over = s.compare(spent); over == nil {
				over = s.Limits.UsedUp(met, spent.Of(met))
			}
		}
	}
	return over, s.warn(ctx, near)
}

// compare compares usage with the limits of the job.
func (s *Stored) compare(spent limit.Use) (near []limit.Warning, over *limit.ExceededError) {
	b := limit.NewBudget(s.Limits, s.Now(), limit.Use{})
	b.Observe(s.Now(), spent)
	return b.Warnings(), b.Exceeded()
}

// spent is the usage of the job in the whole fleet.
func (s *Stored) spent(ctx context.Context, counts *store.Counts, known limit.Use) (limit.Use, error) {
	spent := limit.Use{Pages: counts.Pages(), Time: known.Time, Hosts: known.Hosts}
	if s.Limits.Of(limit.Requests).Limited() || s.Limits.Of(limit.Bytes).Limited() {
		list, err := s.Store.Points(ctx, s.ID)
		if err != nil {
			return spent, fmt.Errorf("read time series: %w", err)
		}
		got, err := s.Queue.ReserveRequests(ctx, s.Reservation())
		if err != nil {
			return spent, err
		}
		points := store.UseOf(list) // workers of an older version reserve nothing
		spent.Requests, spent.Bytes = max(points.Requests, got.Use.Requests), max(points.Bytes, got.Use.Bytes)
	}
	if most := s.Limits.Of(limit.Hosts); most.Limited() && !most.Reached(known.Hosts) {
		t, _, err := s.Take(ctx, nil)
		if err != nil {
			return spent, err
		}
		spent.Hosts = t.N
	}
	return spent, nil
}

// Reservation reserves no request yet, with the limits of the job.
func (s *Stored) Reservation() store.Reservation {
	most := func(n limit.Name) int64 {
		l := s.Limits.Of(n)
		if !l.Limited() {
			return 0
		}
		return max(l.Max, 1)
	}
	return store.Reservation{Worker: s.Worker, Job: s.ID, Max: most(limit.Requests), MaxBytes: most(limit.Bytes)}
}

// warn stores and logs warnings: each threshold of each limit once in the whole fleet.
func (s *Stored) warn(ctx context.Context, near []limit.Warning) error {
	for _, highest := range near {
		for _, w := range highest.Passed() {
			key := reported{w.Limit, w.Max, w.Percent}
			if _, was := s.reported.Load(key); was {
				continue
			}
			first, err := s.Queue.Note(ctx, store.NoticeOf(s.ID, s.Now(), w))
			if err != nil {
				return err
			}
			if s.reported.Store(key, true); first {
				s.Log.Warn("limit usage", "job", s.ID, "limit", w.String())
			}
		}
	}
	return nil
}

// stopped returns the end of a job with work left that has reached a limit, nil otherwise.
// Requests in flight get a moment, except at the page limit, which leaves none.
func (s *Stored) stopped(ctx context.Context, counts *store.Counts, q Snapshot) (*End, error) {
	over, err := s.overLimit(ctx, counts, q.Spent)
	if err != nil || over == nil {
		s.resolving = Resolving{}
		return nil, err
	}
	used := s.Limits.Of(limit.Pages).Reached(counts.Pages()) // otherwise the tenant's quota is used up
	resolves := over.Limit == limit.Requests || over.Limit == limit.Bytes && over.Layer != limit.Usage || over.Limit == limit.Pages && used && q.Tokens && !q.Starved
	if resolves && s.resolving.Continue(s.Now(), counts.Waiting) {
		return nil, nil
	}
	if _, err := s.Queue.Note(ctx, store.StopOf(s.ID, s.Now(), over)); err != nil {
		return nil, err
	}
	s.Log.Info("job stopped by a limit", "job", s.ID, "limit", over.Error())
	end := EndFor(over)
	if over.Limit != limit.Pages || over.Layer == limit.Usage {
		end.State = job.Draining
	}
	return end, nil
}

// Times of a job at its page or request limit: URLs that end without a request, such as those
// that robots.txt forbids, end a moment after they were found, and if no other is left the
// job is complete.
const (
	// resolveFor is how long it waits for the next of them to end.
	resolveFor = 2 * time.Second
	// maxResolving is how long it waits for all of them.
	maxResolving = 30 * time.Second
)

// Resolving is the wait of a job at its limit for URLs that end without a request. The zero
// Resolving has not begun.
type Resolving struct {
	began   time.Time
	at      time.Time // when the number of URLs last changed
	waiting int64     // that number
}

// Continue reports whether to wait longer, with that many URLs left.
func (r *Resolving) Continue(now time.Time, waiting int64) bool {
	if r.began.IsZero() {
		*r = Resolving{now, now, waiting}
	}
	if waiting != r.waiting {
		r.at, r.waiting = now, waiting
	}
	return now.Sub(r.at) < resolveFor && now.Sub(r.began) < maxResolving
}
