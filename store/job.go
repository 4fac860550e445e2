package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/visit"
)

// SingleTokens is how many page tokens must be left for more than one to be reserved at
// a time. Near the limit no worker holds tokens that another could use.
const SingleTokens = 1000

// MaxSpec bounds the stored specification of a job.
const MaxSpec = 1 << 20

// Job is a requested crawl as it is stored.
type Job struct {
	ID       job.ID
	Tenant   string // its owner; empty on the command line
	Name     string // for people
	State    job.State
	Reason   string // why it is in this state, for people
	MaxPages int64  // 0: no limit
	Spec     []byte // seeds, scope and limits as requested; JSON, opaque to the store
	// Layers are the layers of its limits: what was requested and, with a [Queue], what
	// the layers above allowed when the job was last admitted.
	Layers []limit.Layer
	// Pace is the minimum interval between requests to a host, by a later order; see
	// [Queue.SetPace]. 0: none.
	Pace time.Duration
	// Since is the job whose pages are requested only if they have changed since; 0 for none.
	// Only a store with [Schedules] keeps it. While the job has not ended, that one is not
	// dropped.
	Since job.ID

	// Settings is the version of the [FleetSettings] whose safety layer it has; 0 for none.
	Settings int64

	CreatedAt time.Time
	StartedAt time.Time // when it last began to run
	// Ran is how long it was in the state running before StartedAt, or in all if it is in
	// another state.
	Ran     time.Duration
	EndedAt time.Time // zero before it ended
}

// Check reports why a job cannot be created.
func (j *Job) Check() error {
	if j.State != job.Queued && j.State != job.Running {
		return fmt.Errorf("create job %q: invalid initial state %q", j.Name, j.State)
	}
	if j.MaxPages < 0 {
		return fmt.Errorf("create job %q: invalid page limit %d", j.Name, j.MaxPages)
	}
	if len(j.Spec) > MaxSpec {
		return fmt.Errorf("create job %q: specification of %d bytes, the maximum is %d", j.Name, len(j.Spec), MaxSpec)
	}
	return nil
}

// asked is the layer of the job's own limits, with a number of pages.
func (j *Job) asked(pages int64) limit.Layer {
	l := limit.Layer{Level: limit.Job}
	for i := range j.Layers {
		if j.Layers[i].Level == limit.Job {
			l = j.Layers[i]
		}
	}
	l.Limits.Pages = pages
	return l
}

// Asked is the limits that the job requests, at first or by an extension.
func (j *Job) Asked() limit.Limits { return j.asked(j.AskedPages()).Limits }

// AskedPages is the page limit that was requested, at first or by an extension; 0:
// none.
func (j *Job) AskedPages() int64 {
	for i := range j.Layers {
		if j.Layers[i].Level == limit.Job {
			return j.Layers[i].Limits.Pages
		}
	}
	return j.MaxPages
}

// Limits are the limits in force: of the layers around the job, of the job itself, and of
// more. What the job was last extended to counts, not what more says it requested.
func (j *Job) Limits(more ...limit.Layer) limit.Effective {
	more = slices.Clone(more)
	own := slices.ContainsFunc(j.Layers, func(l limit.Layer) bool { return l.Level == limit.Job })
	for i := range more {
		if own && more[i].Level == limit.Job {
			for _, n := range limit.Extendable {
				*n.Rule().At(&more[i].Limits) = 0
			}
		}
	}
	return limit.Resolve(slices.Concat(j.Layers, []limit.Layer{j.asked(j.AskedPages())}, more)...)
}

// RanFor is how long the job has run at now, over its whole life.
func (j *Job) RanFor(now time.Time) time.Duration {
	if j.State != job.Running {
		return j.Ran
	}
	return j.Ran + max(now.Sub(j.StartedAt), 0)
}

// Active reports whether a job in this state counts as running: it has begun and not
// ended.
func Active(s job.State) bool { return s != job.Queued && !s.Ended() }

// Ending is how a URL ended: an outcome and, where the outcome has them, a reason.
type Ending struct {
	Outcome visit.Outcome
	Reason  visit.Reason
}

// Counts are the numbers of a job's URLs by state.
type Counts struct {
	// Ended counts the URLs that ended, by ending. Out-of-scope URLs are included, once
	// for each slot they were found in.
	Ended   map[Ending]int64
	Waiting int64
	// Errands are the waiting errands. They are not counted as URLs.
	Errands int64
	// Admitted counts how often a URL or an errand was set to waiting. It only grows.
	Admitted int64
	// Tokens are page tokens that workers hold.
	Tokens int64
}

// Finished is the number of URLs that ended.
func (c Counts) Finished() int64 {
	var n int64
	for _, k := range c.Ended {
		n += k
	}
	return n
}

// Seen is the number of URLs of the job: those that wait and those that ended.
func (c Counts) Seen() int64 { return c.Waiting + c.Finished() }

// Pages is the number of URLs that count against page limits.
func (c Counts) Pages() int64 {
	var n int64
	for e, k := range c.Ended {
		if e.Outcome.Page() {
			n += k
		}
	}
	return n
}

// Equal reports whether two counts are the same. An ending with count zero equals one
// that is not listed.
func (c Counts) Equal(d Counts) bool {
	if c.Waiting != d.Waiting || c.Errands != d.Errands || c.Admitted != d.Admitted || c.Tokens != d.Tokens {
		return false
	}
	return maps.Equal(withoutZeros(c.Ended), withoutZeros(d.Ended))
}

func withoutZeros(m map[Ending]int64) map[Ending]int64 {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(_ Ending, n int64) bool { return n == 0 })
	return m
}

// Idle is one observation of whether a job has work.
type Idle struct {
	None     bool  // neither a URL nor an errand of it waits
	Admitted int64 // see [Counts.Admitted]
}

// Complete reports whether nothing of the job, URL or errand, waits in any of the stores.
//
// A link may move from store to store while they are read in sequence, so they are read
// twice. If nothing waited in either reading and nothing was set to waiting between them,
// then nothing waited anywhere at the time between the readings. A URL in flight waits
// until its commit; links are stored before or with the page that contains them, and
// entries of a sitemap before or with the end of its errand. So after such a moment no
// new work can appear.
func Complete(ctx context.Context, id job.ID, stores ...Jobs) (bool, error) {
	if len(stores) == 0 {
		return false, errors.New("complete: no store to ask")
	}
	first := make([]Idle, len(stores))
	for i, s := range stores {
		idle, err := s.Idle(ctx, id)
		if err != nil || !idle.None {
			return false, err
		}
		first[i] = idle
	}
	for i, s := range stores {
		idle, err := s.Idle(ctx, id)
		if err != nil || idle != first[i] {
			return false, err
		}
	}
	return true, nil
}

// Grant is how many of n requested tokens to give when left are left; see SingleTokens.
func Grant(left int64, n int) int {
	switch {
	case left <= 0 || n <= 0:
		return 0
	case left < SingleTokens:
		return 1
	default:
		return int(min(int64(n), left))
	}
}

// CheckExtend reports an invalid new page limit: one below what was used or is reserved,
// any limit for a job that had none, because its tokens were not counted, and any for a
// cancelled job.
func CheckExtend(j Job, c Counts, maxPages int64) error {
	switch {
	case j.State == job.Cancelled:
		return fmt.Errorf("the job was cancelled: %w", ErrConflict)
	case maxPages < 0, maxPages > 0 && maxPages < c.Pages()+c.Tokens:
		return fmt.Errorf("page limit %d is below the %d pages already used or reserved: %w", maxPages, c.Pages()+c.Tokens, ErrConflict)
	case j.MaxPages == 0 && maxPages > 0:
		return fmt.Errorf("cannot set page limit %d: the job was created without one: %w", maxPages, ErrConflict)
	default:
		return nil
	}
}
