package frontier

import (
	"time"

	"headway/job"
	"headway/politeness"
)

// tokensAtOnce is how many tokens are requested at a time; near the limit the store
// grants single ones.
const tokensAtOnce = 256

// dryRunTurn is how many pages of other jobs come before a sitemap of a dry run.
const dryRunTurn = 10

// Job is a crawl whose URLs are scheduled.
type Job struct {
	ID job.ID
	// Tenant is the owner of the job: tenants share the places in the worker pool.
	Tenant string
	// Policy returns how the job treats a host. It must return the same pointer for
	// hosts that are treated alike, and what it points to must not change.
	Policy func(host string) *politeness.Policy
	// Patience is how long it waits for a host that is held or fails.
	Patience time.Duration
	// DryRun says that the job reads robots.txt and sitemaps and requests no pages. It does
	// not slow the pages of other jobs: on a host where one of them has work its policy
	// does not apply, and its sitemaps come after dryRunTurn of their pages.
	DryRun bool
	// Limited says that each page needs a token; see [Batch.Tokens].
	Limited bool
	// RequestLimited says that each request needs a token, also for robots.txt and
	// sitemaps.
	RequestLimited bool
	// MaxPagesPerHost ends what waits on a host after that many pages; 0 means no
	// limit. Set HostLimited, too, so that pages of earlier owners and runs count.
	MaxPagesPerHost int
	// HostLimited says that each host must be reserved first; see [Batch.Take].
	HostLimited bool
	// Rate is the maximum of requests per second for all jobs of its tenant; the lowest
	// of its jobs applies. 0 means no limit. See [Batch.Turns].
	Rate int64
}

// jobState is a job and what it may still do.
type jobState struct {
	Job
	claim
	tenant  *tenant
	account *Account
	ready   deque // ready hosts on which it is this job's turn
	stopped bool

	pools    [tokenKinds]tokenPool
	looked   uint64 // the turn at the last check for unused tokens
	turnless deque  // hosts that wait for a turn of the tenant
}

// TokenKind is what a token allows.
type TokenKind uint8

// The kinds of tokens. A job that needs both for a page gets that for the page first: so no
// two workers wait for what the other has.
const (
	PageToken    TokenKind = iota // one page
	RequestToken                  // one request
	tokenKinds
)

// tokenPool is a job's tokens of one kind.
type tokenPool struct {
	tokens    int  // granted and not in use
	stock     int  // how many are kept in advance, so that no host waits for one
	wanted    int  // size of the last request for tokens
	scarce    bool // fewer were given: the limit is near, and others may need them
	out       int  // used by requests in flight
	asking    bool
	exhausted bool
	starved   deque // hosts that wait for a token
}

// needs reports whether a page of the job needs a token of this kind.
func (j *jobState) needs(k TokenKind) bool {
	if k == PageToken {
		return j.Limited
	}
	return j.RequestLimited
}

// lacks reports whether the job needs a token of this kind first.
func (j *jobState) lacks(k TokenKind) bool { return j.needs(k) && j.pools[k].tokens == 0 }

// may reports whether the job may have another page.
func (j *jobState) may() bool { return !j.stopped && !j.short() }

// short reports whether the job needs a token first.
func (j *jobState) short() bool { return j.lacks(PageToken) || j.lacks(RequestToken) }

// hopes reports whether the job waits for tokens that it may still be given.
func (j *jobState) hopes() bool { return !j.stopped && j.short() && !j.spent() }

// limited reports whether the job cannot have another page because of a limit: it is stopped,
// or was given fewer of the tokens it lacks than it wanted. Other tokens only take the time of
// their reservation.
func (j *jobState) limited() bool {
	for k := range tokenKinds {
		if p := &j.pools[k]; j.lacks(k) && (p.scarce || p.exhausted) {
			return true
		}
	}
	return j.stopped
}

// spent reports whether the job needs a token first and was given none.
func (j *jobState) spent() bool {
	for k := range tokenKinds {
		if j.lacks(k) && j.pools[k].exhausted {
			return true
		}
	}
	return false
}
