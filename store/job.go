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

// SingleTokens is how many page tokens must be left for more than one to be
// reserved at a time. Near the limit nobody sits on tokens another could use.
const SingleTokens = 1000

// MaxSpec bounds the stored text of what was asked for.
const MaxSpec = 1 << 20

// Job is a requested crawl as it is stored.
type Job struct {
	ID       job.ID
	Tenant   string // who asked for it; empty on the command line
	Name     string // for people
	State    job.State
	Reason   string // why it is in this state, for people
	MaxPages int64  // 0: no limit
	Spec     []byte // seeds, scope, limits as they were asked for; JSON, opaque to the store
	// Layers are those of its limits: what was asked for and, where there is a
	// [Queue], what the layers above allowed when it last got a place.
	Layers []limit.Layer
	// Pace is the least interval between two requests to a host, by an order that
	// came later; see [Queue.SetPace]. 0: none.
	Pace time.Duration

	CreatedAt time.Time
	StartedAt time.Time // when it last began to run
	EndedAt   time.Time // zero while it lives
}

// Check reports what makes a job impossible to create.
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

// asked is what the job is known to ask for, with a number of pages.
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

// AskedPages is the page limit that was asked for, at first or to extend the job;
// 0: none.
func (j *Job) AskedPages() int64 {
	for i := range j.Layers {
		if j.Layers[i].Level == limit.Job {
			return j.Layers[i].Limits.Pages
		}
	}
	return j.MaxPages
}

// Limits are those in force: of the layers around the job, what it asks for, and
// more.
func (j *Job) Limits(more ...limit.Layer) limit.Effective {
	return limit.Resolve(slices.Concat(j.Layers, []limit.Layer{j.asked(j.AskedPages())}, more)...)
}

// Active tells whether a job in this state has a place among the running: it has
// begun and not ended.
func Active(s job.State) bool { return s != job.Queued && !s.Ended() }

// Ending is how a URL can stand: an outcome and, where the outcome has them, a
// reason.
type Ending struct {
	Outcome visit.Outcome
	Reason  visit.Reason
}

// Counts says how the URLs of a job stand.
type Counts struct {
	// Ended counts those that ended, by ending. URLs out of scope are among
	// them, once for each slot they were found in.
	Ended   map[Ending]int64
	Waiting int64
	// Errands are those that wait. They are not URLs of the run.
	Errands int64
	// Admitted counts how often a URL or an errand was put to waiting. It only
	// grows.
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

// Seen is the number of URLs of the run: those that wait and those that ended.
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

// Equal tells whether two counts say the same. Endings that nobody met and
// endings that are not listed are the same.
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

// Idle is one reading of whether a job has work.
type Idle struct {
	None     bool  // neither a URL nor an errand of it waits
	Admitted int64 // see [Counts.Admitted]
}

// Complete tells whether nothing of the job, URL or errand, waits in any of the
// stores.
//
// A link may move from store to store while they are read one after the other, so
// they are read twice: only when nothing waited in either reading and nothing
// was put to waiting between them was there a moment, the one between the
// readings, at which nothing waited anywhere. A URL in flight waits until its
// commit, and links are stored before or with the page that carries them, entries
// of a sitemap before or with the end of its errand, so after such a moment
// nothing can come up any more.
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

// Grant is how many tokens to give to someone who asks for n when left are
// left: see SingleTokens.
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

// CheckExtend reports an invalid new page limit: one below what
// was used or is reserved, any limit for a job that had none, because
// its tokens were not counted, and any for a cancelled job.
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
