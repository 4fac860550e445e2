package frontier

import (
	"time"

	"headway/job"
	"headway/politeness"
)

// tokensAtOnce is how many page tokens are asked for at a time; the store gives
// single ones near the limit.
const tokensAtOnce = 256

// Job is a crawl whose URLs are scheduled.
type Job struct {
	ID job.ID
	// Tenant is who asked for it: tenants share the places among the fetches.
	Tenant string
	// Policy is how the job treats a host. It must return the same pointer for
	// hosts that are treated alike, and what it points to must not change.
	Policy func(host string) *politeness.Policy
	// Patience is how long it waits for a host that is held or fails.
	Patience time.Duration
	// Limited says that each page needs a token; see [Batch.Tokens].
	Limited bool
	// MaxPagesPerHost ends what waits on a host after so many pages; 0 is no
	// limit.
	MaxPagesPerHost int
	// Choosy says that each host must be taken up first; see [Batch.Take].
	Choosy bool
	// Rate is how many requests a second its tenant may make with all its jobs, the
	// lowest of them all; 0 is any number. See [Batch.Turns].
	Rate int64
}

// jobState is a job and what it may still do.
type jobState struct {
	Job
	claim
	tenant  *tenant
	ready   deque // hosts that could be asked and on which it has its turn
	stopped bool

	tokens    int    // reserved and not in use
	stock     int    // how many are kept ahead, so that no host waits for one
	wanted    int    // how many were last asked for
	scarce    bool   // fewer were given: the limit is near, and others may need them
	out       int    // with requests under way
	looked    uint64 // the turn at which it was last looked whether tokens are used
	asking    bool
	exhausted bool
	starved   deque // hosts that wait for a token
	turnless  deque // hosts that wait for a turn of the tenant
}

// may tells whether the job may have another page.
func (j *jobState) may() bool { return !j.stopped && !j.short() }

// short tells whether the job needs a token first.
func (j *jobState) short() bool { return j.Limited && j.tokens == 0 }

// hopes tells whether the job needs a token first that it may be given.
func (j *jobState) hopes() bool { return !j.stopped && j.short() && !j.exhausted }
