package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	Settings

	// Admit sets queued jobs running, in order, while there are places, and returns them
	// without their Spec and Layers. The safety layer is that of the newest [FleetSettings]:
	// its ConcurrentCrawls is the number of places of the fleet; that of a tenant's plan is
	// the number of places for its jobs. Nothing is admitted before there are settings, nor
	// while a worker of a version that does not know them is alive.
	//
	// Tenants take turns: next is the tenant whose first queued job has been first of its
	// tenant for longest, so until then no other tenant is served twice, however many
	// arrive. A tenant that uses all the places of its plan is passed over and keeps its
	// turn. So is one that already has a place if no more places are free than are kept:
	// see [KeptPart]. Within a tenant jobs are admitted in the order they were queued. All
	// workers may call it concurrently; each job is returned to one of them.
	//
	// On admission a job gets the limits of the layers above it: see [Surroundings.Admit].
	// A job whose quota for this month or whose running time is used up is not admitted and
	// ends as partial.
	//
	// If the settings have changed, jobs that were admitted before get the new safety layer
	// first: see [Job.Resettle].
	Admit(ctx context.Context, now time.Time) ([]Job, error)
	// ActiveJobs returns the admitted jobs, by number, without their Spec.
	ActiveJobs(ctx context.Context) ([]Job, error)
	// SetPace slows down a job that has not ended: requests to a host are at least pace
	// apart from now on, or as the job requested if that is slower. 0 removes the order.
	SetPace(ctx context.Context, now time.Time, id job.ID, pace time.Duration) error
	// ExtendLimits is Extend for any of the limits in [limit.Extendable]: those in to are
	// the job's own from now on, and the others stay. The layers above still apply.
	ExtendLimits(ctx context.Context, now time.Time, id job.ID, to Extension) error
	// ReserveRequests reserves requests of a job with a request limit; see [Reservation].
	ReserveRequests(ctx context.Context, r Reservation) (Reserved, error)
	// Quota returns what the plan of a tenant allows in the month of now and what was
	// used of it; zero for a tenant without a plan.
	Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error)
}

// KeptPart says that one in KeptPart places is kept free for tenants that have none, so that these
// need not wait until another tenant's job ends.
const KeptPart = 10

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
// page limit its own. If a limit leaves nothing, it is returned and the job is not
// admitted: it is zero, or the running time of earlier runs has reached it.
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
	if c := e.Of(limit.Time); c.Reached(int64(j.Ran)) {
		return c.Exceeded(int64(j.Ran))
	}
	if pages := e.Of(limit.Pages); pages.Limited() && (first || j.MaxPages > 0) {
		j.MaxPages = pages.Max
	}
	return nil
}

// Resettle gives a job that was admitted under other settings the safety layer of this
// version. Its page limit becomes the strictest of its layers, even below what was used: the
// job then stops. A job without a page limit keeps none, because its pages were not counted:
// the workers enforce its limits.
func (j *Job) Resettle(v SettingsVersion) {
	layers := slices.DeleteFunc(slices.Clone(j.Layers), func(l limit.Layer) bool { return l.Level == limit.Safety || l.Level == limit.Job })
	asked := j.AskedPages()
	j.Layers = append([]limit.Layer{{Level: limit.Safety, Limits: v.Safety}}, append(layers, j.asked(asked))...)
	j.Settings = v.Version
	if j.MaxPages > 0 {
		j.MaxPages = limit.Resolve(j.Layers...).Max(limit.Pages)
	}
}

// Extension is new limits of a job, by name; durations in nanoseconds, 0 for no limit.
type Extension map[limit.Name]int64

// Describe lists the limits that the extension names as they are in force.
func (to Extension) Describe(e limit.Effective) string {
	var list []string
	for _, n := range limit.Extendable {
		if _, ok := to[n]; ok {
			list = append(list, e.Of(n).String())
		}
	}
	return strings.Join(list, ", ")
}

// check reports an invalid extension: see [CheckExtend] for pages. The others must not be
// below what the job requested before, because part of that may be used.
func (to Extension) check(j *Job, c Counts) error {
	// Without a new page limit it is checked as one to none, which any job may have.
	if err := CheckExtend(*j, c, to[limit.Pages]); err != nil {
		return err
	}
	before := limit.Resolve(limit.Layer{Level: limit.Job, Limits: j.Asked()})
	for n, amount := range to {
		was := before.Of(n)
		switch {
		case !slices.Contains(limit.Extendable, n), amount < 0:
			return fmt.Errorf("cannot extend %s to %d", n, amount)
		case n != limit.Pages && amount > 0 && amount < was.Max:
			return fmt.Errorf("%s is below %s: %w", limit.Ceiling{Limit: n, Layer: limit.Job, Max: amount}, was, ErrConflict)
		}
	}
	return nil
}

// Extend gives a job new limits, as far as the layers around it allow. A job never admitted
// gets what is requested, and the layers apply on admission.
func (s *Surroundings) Extend(j *Job, c Counts, to Extension) error {
	if err := to.check(j, c); err != nil {
		return err
	}
	asked := limit.Layer{Level: limit.Job, Limits: j.Asked()}
	for n, amount := range to {
		*n.Rule().At(&asked.Limits) = amount
	}
	pages := asked.Limits.Pages
	with := Job{Layers: []limit.Layer{asked}}
	if !slices.ContainsFunc(j.Layers, func(l limit.Layer) bool { return l.Level == limit.Safety }) {
		j.Layers, j.MaxPages = with.Layers, pages
		return nil
	}
	layers, most := s.layers(&with, pages), pages
	if ceiling := limit.Resolve(layers...).Of(limit.Pages); ceiling.Limited() && j.MaxPages > 0 {
		if most = max(ceiling.Max, c.Pages()+c.Tokens); most == 0 {
			return fmt.Errorf("extend job %d: %s: %w", j.ID, ceiling, ErrConflict)
		}
	}
	if _, changed := to[limit.Pages]; !changed && j.MaxPages == 0 {
		most = 0 // it has run without a page limit
	}
	j.MaxPages, j.Layers = most, layers
	return nil
}
