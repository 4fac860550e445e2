package store

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
)

// Queue is an optional interface of stores that many workers share: jobs that wait for
// admission, and the limits of the layers above them. A job occupies a place from when it
// is set running until it has ended, also while it is paused or draining, whatever
// happens to the workers.
type Queue interface {
	Notices

	// Admit sets queued jobs running, in order, while there are places, and returns them
	// without their Spec and Layers. safety is the operator's layer: its ConcurrentCrawls
	// is the number of places of the fleet; that of a tenant's plan is the number of
	// places for its jobs.
	//
	// Tenants take turns: next is the tenant whose first queued job has been first of its
	// tenant for longest, so until then no other tenant is served twice, however many
	// arrive. A tenant that uses all the places of its plan is passed over and keeps its
	// turn. So is one that already has a place if no more than [Kept] places are free.
	// Within a tenant jobs are admitted in the order they were queued. All workers may
	// call it concurrently; each job is returned to one of them.
	//
	// On admission a job gets the limits of the layers above it: see [Surroundings.Admit].
	// A job whose quota for this month is used up is not admitted and ends as partial.
	Admit(ctx context.Context, now time.Time, safety limit.Limits) ([]Job, error)
	// ActiveJobs returns the admitted jobs, by number, without their Spec and Layers.
	ActiveJobs(ctx context.Context) ([]Job, error)
	// SetPace slows down a job that has not ended: requests to a host are at least pace
	// apart from now on, or as the job requested if that is slower. 0 removes the order.
	SetPace(ctx context.Context, now time.Time, id job.ID, pace time.Duration) error
	// Quota returns what the plan of a tenant allows in the month of now and what was
	// used of it; zero for a tenant without a plan.
	Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error)
}

// keptPart: one in keptPart places is kept free.
const keptPart = 10

// Kept is how many of the places are kept free for tenants that have none, so that these
// need not wait until another tenant's job ends.
func Kept(places int64) int64 { return places / keptPart }

// MaxPace bounds the pace that a job can be slowed to.
const MaxPace = 7 * 24 * time.Hour

// CheckPace reports an invalid pace: one out of bounds, or any for a job that has ended.
func CheckPace(j *Job, pace time.Duration) error {
	switch {
	case pace < 0 || pace > MaxPace:
		return fmt.Errorf("set the pace of job %d to %s: not between 0 and %s", j.ID, pace, MaxPace)
	case j.State.Ended():
		return fmt.Errorf("set the pace of job %d, which is %s: %w", j.ID, j.State, ErrConflict)
	default:
		return nil
	}
}

// Surroundings are the layers above a job, as an engine finds them when the job is
// admitted or extended.
type Surroundings struct {
	Safety limit.Limits
	Plan   limit.Limits // of its tenant
	Quota  limit.Quota  // likewise
}

// layers are the layers around a job that requests a number of pages.
func (s *Surroundings) layers(j *Job, pages int64) []limit.Layer {
	return []limit.Layer{{Level: limit.Safety, Limits: s.Safety}, {Level: limit.Plan, Limits: s.Plan}, s.Quota.Layer(), j.asked(pages)}
}

// Admit records the layers around a job that is being admitted, and makes the strictest
// page limit its own. If a limit is zero, it is returned and the job is not admitted.
//
// A job that has already run without a page limit gets none, because its pages were not
// counted: the workers enforce its limits.
func (s *Surroundings) Admit(j *Job) (over *limit.ExceededError) {
	asked := j.AskedPages()
	first := j.StartedAt.IsZero()
	j.Layers = s.layers(j, asked)
	e := limit.Resolve(j.Layers...)
	for _, n := range []limit.Name{limit.Pages, limit.Bytes} {
		if c := e.Of(n); c.Limited() && c.Max == 0 {
			return c.Exceeded(0)
		}
	}
	if pages := e.Of(limit.Pages); pages.Limited() && (first || j.MaxPages > 0) {
		j.MaxPages = pages.Max
	}
	return nil
}

// Extend gives a job a new page limit, as far as the layers around it allow; its safety
// layer is the one of its admission. A job never admitted gets what is requested, and the
// layers apply on admission.
func (s *Surroundings) Extend(j *Job, c Counts, maxPages int64) error {
	if err := CheckExtend(*j, c, maxPages); err != nil {
		return err
	}
	placed := false
	for _, l := range j.Layers {
		if l.Level == limit.Safety {
			s.Safety, placed = l.Limits, true
		}
	}
	if !placed {
		j.Layers = []limit.Layer{j.asked(maxPages)}
		j.MaxPages = maxPages
		return nil
	}
	layers, most := s.layers(j, maxPages), maxPages
	if pages := limit.Resolve(layers...).Of(limit.Pages); pages.Limited() && j.MaxPages > 0 {
		if most = max(pages.Max, c.Pages()+c.Tokens); most == 0 {
			return fmt.Errorf("extend job %d: %s: %w", j.ID, pages, ErrConflict)
		}
	}
	j.MaxPages, j.Layers = most, layers
	return nil
}
