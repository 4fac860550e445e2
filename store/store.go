package store

import (
	"context"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// Store is everything an engine does. All methods are safe for concurrent use and may
// block on the disk or the network until ctx ends. A call that returns an error has
// changed nothing, unless ctx or the connection ended during a commit: then it may have
// been applied, and sending it again with the same number finds out.
type Store interface {
	Slots
	URLs
	Budget
	Hosts
	Jobs
	Series

	// Key is the secret key of the fingerprints and slots of this store. It is created with
	// the store and never changes.
	Key() weburl.Key
	// Close closes the store. Leases that are still held end uncleanly, at once or when
	// their worker is declared dead.
	Close() error
}

// Slots is fenced ownership of slots.
type Slots interface {
	// Join registers a worker. Every start of a process is a new worker; the name is for
	// people.
	Join(ctx context.Context, now time.Time, name string) (WorkerID, error)
	// Acquire leases up to most free slots and returns them. Before that, a worker whose
	// heartbeat has not changed for Terms.TakeOver by the caller's clock, as seen by
	// earlier calls of Acquire on this Store, is declared dead: it loses all its leases
	// and tokens at once. The time it takes to read the heartbeats may be counted.
	Acquire(ctx context.Context, now time.Time, w WorkerID, most int) ([]Lease, error)
	// Renew changes the worker's heartbeat. ErrFenced says that it was declared dead: it
	// owns nothing any more and must Join again.
	Renew(ctx context.Context, w WorkerID) error
	// Release releases leases cleanly, after their last commit. Leases the worker does not
	// hold are ignored.
	Release(ctx context.Context, w WorkerID, leases ...Lease) error
	// Leave releases all leases and tokens of the worker cleanly and removes it. An
	// unknown worker is not an error.
	Leave(ctx context.Context, w WorkerID) error
	// Abandon is Leave for a worker that has stopped and may not have stored all it did:
	// its slots are treated as after a declared death.
	Abandon(ctx context.Context, w WorkerID) error
	// Workers lists the registered workers, by number.
	Workers(ctx context.Context) ([]Worker, error)
}

// URLs is the waiting URLs and the outcomes.
type URLs interface {
	// Add adds URLs: see [Found]. It needs no lease, is idempotent and may name a URL
	// twice. At most MaxFound at a time.
	Add(ctx context.Context, now time.Time, found []Found) (Receipt, error)
	// Heads returns waiting URLs, for each want in order: those that are due at now in the
	// order of [Rank], then age; if these are too few, then those with a later NotBefore,
	// soonest first. URLs in flight are still waiting and are returned again.
	Heads(ctx context.Context, now time.Time, wants []Want) ([]visit.Item, error)
	// Errands returns waiting errands, for each want in order, those of one want in the
	// order they were added. Errands in flight are still waiting and are returned again.
	Errands(ctx context.Context, wants []Want) ([]Errand, error)
	// Commit records what an owner did; see [Commit].
	Commit(ctx context.Context, c Commit) (Receipt, error)
	// Lookup returns what is known about one URL, or ErrNotFound.
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (Entry, error)
	// Content returns what a page says, with its texts, or ErrNotFound if the job does not
	// know the URL. It is nil if the visit that ended the URL has no content.
	Content(ctx context.Context, id job.ID, u weburl.URL) (*visit.Content, error)
	// Links returns the links of a page that were kept, in their order, or ErrNotFound if the
	// job does not know the URL. Whether they were kept is in the Page of its visit.
	Links(ctx context.Context, id job.ID, u weburl.URL) ([]visit.Link, error)
	// KeepsLinks reports whether links of the job were ever kept.
	KeepsLinks(ctx context.Context, id job.ID) (bool, error)
	// Inlinks pages through the links to a URL, from pages whose links were kept. The job
	// need not know the URL.
	Inlinks(ctx context.Context, q InlinkQuery) (InlinkPage, error)
	// List pages through the URLs of a job.
	List(ctx context.Context, q Query) (Page, error)
	// ListAside pages through the out-of-scope URLs of a job, each once; a
	// [Fleet] lists it once for every slot it was found in.
	ListAside(ctx context.Context, id job.ID, after Cursor, most int) (AsidePage, error)
	// Readmit sets to waiting URLs that ListAside returned with their address, unless the
	// job has seen them in scope, and reports how many wait because of it. They are no
	// longer out of scope; other URLs are ignored, so it is idempotent. At most MaxFound
	// at a time.
	Readmit(ctx context.Context, now time.Time, id job.ID, urls []Aside) (int, error)
	// Arrivals takes up to most notices that another worker added waiting URLs or errands
	// to the worker's slots. Each notice is returned once; work that was there when a slot
	// was acquired has none, see Hosts.
	Arrivals(ctx context.Context, w WorkerID, most int) ([]Arrival, error)
}

// Budget keeps page and host limits exact over any number of workers. A request for a
// page needs a token, reserved here; a page in a [Commit] uses one, and a [Return] in a
// commit, Leave and a declared death return unused ones.
type Budget interface {
	// Reserve takes up to n tokens of the job for the worker: as many as are left, and one
	// at a time once fewer than SingleTokens are. A job without a page limit gives n and
	// counts nothing. A job that has ended gives none.
	Reserve(ctx context.Context, w WorkerID, id job.ID, n int) (got int, err error)
	// TakeHosts reserves hosts for a job that may have up to most of them: those it does
	// not have yet, in the order given, while there is room. A reservation is permanent,
	// whatever happens to workers and to the limit. It is idempotent and may name a host
	// twice; without hosts it only returns the current state. At most MaxHosts at a time.
	TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (Taken, error)
}

// Hosts is what was learned about hosts, shared by all jobs.
type Hosts interface {
	// Hosts returns hosts on which URLs or errands wait, earliest ready first.
	Hosts(ctx context.Context, q HostQuery) (HostPage, error)
	// Host returns what is known about one host, or ErrNotFound.
	Host(ctx context.Context, host string) (Host, error)
	// PaceChanges returns the latest changes of a host's pace, at most
	// MaxPaceChanges, oldest first.
	PaceChanges(ctx context.Context, host string) ([]PaceChange, error)
	// Robots returns the robots.txt with this SHA-256, or ErrNotFound.
	Robots(ctx context.Context, sum [32]byte) (RobotsVersion, error)
}

// Jobs is the requested crawls.
type Jobs interface {
	// CreateJob stores a job and returns its number. The state must be Queued
	// or Running.
	CreateJob(ctx context.Context, j Job) (job.ID, error)
	// Job returns one job, or ErrNotFound.
	Job(ctx context.Context, id job.ID) (Job, error)
	// JobList returns jobs with a number above after, by number, up to most.
	JobList(ctx context.Context, after job.ID, most int) ([]Job, error)
	// SetState moves a job from one state to another, with a reason for people. It returns
	// ErrConflict if the job is not in the state from, and an error if the transition is
	// not allowed.
	//
	// A cancelled job loses its page tokens, whichever worker holds them, and its notices
	// at once. What is in flight may still be committed, without a token: it was reserved,
	// and what was fetched is recorded. What waits stays pending, so that the sum adds up,
	// but is no longer work; Drop deletes it.
	SetState(ctx context.Context, now time.Time, id job.ID, from, to job.State, reason string) error
	// Extend sets a new page limit, 0 for none, and sets deferred URLs back to waiting.
	// ErrConflict: see [CheckExtend]. It may take long; if it was interrupted, calling it
	// again completes it.
	Extend(ctx context.Context, now time.Time, id job.ID, maxPages int64) error
	// Reopen sets URLs of the job that have ended back to waiting, whatever their outcome,
	// with no attempts and no NotBefore, and reports how many. URLs that wait, that the job
	// has not seen or that are out of scope are ignored, so it is idempotent and may name a
	// URL twice. The visit that ended a URL becomes the latest of its attempts. A page
	// returns the token that it used: fetched again, it counts once towards the page limit,
	// as before. At most MaxFound at a time.
	//
	// The state of the job does not change. Set an ended job running after this, not
	// before: if it is interrupted between the two, the job is still ended, and doing both
	// again completes it.
	Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error)
	// Counts returns how many URLs of the job wait and how many ended how. It costs the
	// same for any number of URLs.
	Counts(ctx context.Context, id job.ID) (Counts, error)
	// Audit counts the same from the rows themselves. It is slow; it agrees with Counts
	// while nothing changes.
	Audit(ctx context.Context, id job.ID) (Counts, error)
	// Idle reports whether nothing of the job waits. See [Complete].
	Idle(ctx context.Context, id job.ID) (Idle, error)
	// Drop deletes an ended job and everything about it, avoiding row-by-row deletes.
	Drop(ctx context.Context, id job.ID) error
}

// Series is the history of a job over time.
type Series interface {
	// Record adds points. Points of one job and time add up: each worker reports its share
	// once.
	Record(ctx context.Context, points []Point) error
	// Points returns the points of a job, oldest first, at most MaxPoints.
	Points(ctx context.Context, id job.ID) ([]Point, error)
}

// Domains is an optional interface of stores that share hosts with other stores on the
// machine: two crawls in two terminals, two crawl files, one pace per host. Other stores
// share hosts only by slots.
type Domains interface {
	// Claim claims domains. Those in Granted are owned from now on, with what is known
	// about their hosts in Hosts. For the others the claim is recorded and must be renewed
	// within ClaimAgain; the wait reason is lease. At most MaxWants at a time.
	Claim(ctx context.Context, now time.Time, domains []string) (Claim, error)
	// Wanted returns owned domains that another process claims and still waits for. The
	// owner finishes what is in flight there and yields within HandOver; if it claims them
	// again itself, it is next in line.
	Wanted(ctx context.Context, now time.Time) ([]string, error)
	// Keep is the heartbeat of this process, to be called every Terms.Renew. If the calls
	// stop for Terms.TakeOver, by the clock of the process that waits for one of its
	// domains, that process takes the domain over. Keep returns the domains that were
	// taken, each once: nothing may be sent to them until they are granted again.
	Keep(ctx context.Context) (lost []string, err error)
	// Yield releases domains, with the last state of their hosts. Those that were taken
	// over meanwhile are ignored, as they are in commits.
	Yield(ctx context.Context, now time.Time, domains []string, hosts []Host) error
}

// Fault is called before each statement of a change and stops it with the error it
// returns: this way tests stop an engine between any two statements. The name of the
// statement is for people. Nil never stops anything.
type Fault func(statement string) error

// Stop calls f, if it is not nil.
func (f Fault) Stop(statement string) error {
	if f == nil {
		return nil
	}
	return f(statement)
}

// Stored returns a time as it is stored: UTC, whole milliseconds, rounded up. The zero
// time stays zero.
func Stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return time.UnixMilli(ms).UTC()
}
