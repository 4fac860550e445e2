package store

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
)

// Queue is a further ability of stores that many workers share: jobs that wait
// for a place among the running, and the limits of the layers above them. A job
// has a place from when it is set running until it has ended, while it is paused
// or draining, too, and whatever becomes of the workers.
type Queue interface {
	Notices

	// Admit sets queued jobs running, in order, while there are places, and
	// returns them without their Spec and Layers. Safety is the operator's
	// layer: its ConcurrentCrawls are the places of the fleet, those of the plan
	// of a tenant the places of its jobs.
	//
	// Tenants take turns: next is the one whose first queued job has been first
	// of its tenant for longest, so between that moment and its own turn no
	// other tenant is served twice, however many come. A tenant that has all the
	// places of its plan lets others pass and keeps its turn. So does one that has
	// a place where no more are free than are [Kept]. Within a tenant jobs go in
	// the order they were queued. All workers may call it at the same
	// time; each job is returned to one of them.
	//
	// With its place a job gets the limits of the layers above it: see
	// [Surroundings.Admit]. A job for which nothing is left in this month gets no
	// place and ends as partial.
	Admit(ctx context.Context, now time.Time, safety limit.Limits) ([]Job, error)
	// ActiveJobs returns the jobs that have a place, by number, without their
	// Spec and Layers.
	ActiveJobs(ctx context.Context) ([]Job, error)
	// SetPace slows a job that has not ended: its hosts are asked at least so far
	// apart from now on, or as it was asked for, whichever is slower. 0 takes it
	// back.
	SetPace(ctx context.Context, now time.Time, id job.ID, pace time.Duration) error
	// Quota returns what the plan of a tenant allows in the month of now and
	// what was used of it; zero for a tenant without.
	Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error)
}

// keptPart is the part of the places that is kept.
const keptPart = 10

// Kept is how many of so many places are kept for tenants that have none, which need
// not wait then until a job of somebody else ends.
func Kept(places int64) int64 { return places / keptPart }

// MaxPace bounds the pace that a job can be slowed to.
const MaxPace = 7 * 24 * time.Hour

// CheckPace reports a pace that a job cannot be slowed to: one out of bounds, and
// any for one that has ended.
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

// Surroundings are the layers above a job, as an engine finds them when the job
// gets its place or is extended.
type Surroundings struct {
	Safety limit.Limits
	Plan   limit.Limits // of its tenant
	Quota  limit.Quota  // likewise
}

// layers are the layers around a job that asks for so many pages.
func (s *Surroundings) layers(j *Job, pages int64) []limit.Layer {
	return []limit.Layer{{Level: limit.Safety, Limits: s.Safety}, {Level: limit.Plan, Limits: s.Plan}, s.Quota.Layer(), j.asked(pages)}
}

// Admit writes down with a job that gets a place which layers it has around it,
// and makes the strictest page limit its own. A limit of nothing at all keeps it
// from its place, and is returned.
//
// A job that has run without a page limit, of whose pages nobody has kept
// account, gets none: it is held by those who work on it.
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

// Extend gives a job a new page limit, as far as the layers around it allow: its
// safety is what it got with its place. One that has never had a place gets what is
// asked for, and the layers are asked when it gets one.
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
