package store

import (
	"context"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// Store is everything an engine does. All methods may be called from many
// goroutines at once and may block on the disk or the network until ctx ends;
// a call that returns an error has changed nothing, except where ctx or the
// connection ended while a commit was under way: then it may have been applied,
// and sending it again with the same number finds out.
type Store interface {
	Slots
	URLs
	Budget
	Hosts
	Jobs
	Series

	// Key is the secret behind the fingerprints and slots of this store. It is
	// made with the store and never changes.
	Key() weburl.Key
	// Close ends the use of the store. Leases that are still held end uncleanly,
	// at once or when their worker is found dead.
	Close() error
}

// Slots is fenced ownership.
type Slots interface {
	// Join makes a worker known. Every start of a process is a new worker; the
	// name is for people.
	Join(ctx context.Context, now time.Time, name string) (WorkerID, error)
	// Acquire leases up to most further slots that nobody owns, and returns
	// them. A worker whose heartbeat has stood still for Terms.TakeOver of the
	// caller's own time, as seen by earlier calls of Acquire on this Store, is
	// declared dead first: it loses all its leases and tokens at once. The time it
	// takes to read heartbeats may count as passed before they are.
	Acquire(ctx context.Context, now time.Time, w WorkerID, most int) ([]Lease, error)
	// Renew moves the worker's heartbeat. ErrFenced says that it was declared
	// dead: it owns nothing any more and must Join again.
	Renew(ctx context.Context, w WorkerID) error
	// Release gives leases back cleanly, after their last commit. Leases the
	// worker does not hold are ignored: they are given back already.
	Release(ctx context.Context, w WorkerID, leases ...Lease) error
	// Leave gives back all leases and tokens of the worker cleanly and forgets
	// it. A worker that is not known has left already.
	Leave(ctx context.Context, w WorkerID) error
	// Abandon is Leave for a worker that has stopped, and may not have stored all
	// it did: its slots are as after a declared death.
	Abandon(ctx context.Context, w WorkerID) error
	// Workers lists the workers that are known, by number.
	Workers(ctx context.Context) ([]Worker, error)
}

// URLs is what waits and how it ended.
type URLs interface {
	// Add makes URLs seen: see [Found]. It needs no lease, may be repeated and
	// may name a URL twice. At most MaxFound at a time.
	Add(ctx context.Context, now time.Time, found []Found) (Receipt, error)
	// Heads returns waiting URLs, for each want in order: those that may be
	// tried at now in the order of [Rank], then age; where there are fewer than
	// wanted, after them those with a later NotBefore, soonest first. URLs under
	// way are still waiting and are returned again.
	Heads(ctx context.Context, now time.Time, wants []Want) ([]visit.Item, error)
	// Errands returns waiting errands, for each want in order, those of one want
	// in the order they were added. Errands under way are still waiting and are
	// returned again.
	Errands(ctx context.Context, wants []Want) ([]Errand, error)
	// Commit records what an owner did; see [Commit].
	Commit(ctx context.Context, c Commit) (Receipt, error)
	// Lookup returns what is known of one URL, or ErrNotFound.
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (Entry, error)
	// List pages through the URLs of a job.
	List(ctx context.Context, q Query) (Page, error)
	// ListAside pages through the URLs of a job that are out of scope, each once for
	// every slot it was found in.
	ListAside(ctx context.Context, id job.ID, after Cursor, most int) (AsidePage, error)
	// Readmit puts URLs to waiting that ListAside returned with their address, unless
	// the run has seen them in scope, and tells how many wait because of it. They are
	// out of scope no more; those that are not are passed over, so it may be repeated.
	// At most MaxFound at a time.
	Readmit(ctx context.Context, now time.Time, id job.ID, urls []Aside) (int, error)
	// Arrivals takes up to most notices that somebody else added waiting URLs or
	// errands to the worker's slots. Each notice is handed out once; what was there
	// when a slot was acquired has none, see Hosts.
	Arrivals(ctx context.Context, w WorkerID, most int) ([]Arrival, error)
}

// Budget keeps limits of pages and hosts exact over any number of workers. A
// request for a page needs a token, reserved here; a page in a [Commit] spends one, a
// [Return] in a commit gives some back, and so do Leave and a declared death.
type Budget interface {
	// Reserve takes up to n tokens of the job for the worker: as many as are
	// left, and one at a time once fewer than SingleTokens are. A job without a
	// page limit gives n and keeps no account. One that has ended gives none.
	Reserve(ctx context.Context, w WorkerID, id job.ID, n int) (got int, err error)
	// TakeHosts takes hosts up for a job that may have so many of them: those it
	// does not have yet, in the order given, while there is room. What was taken
	// stays taken, whatever becomes of workers and of the limit. It may be
	// repeated and may name a host twice; without hosts it only tells. At most
	// MaxHosts at a time.
	TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (Taken, error)
}

// Hosts is what was learned of hosts, shared by all jobs.
type Hosts interface {
	// Hosts returns hosts on which URLs or errands wait, earliest ready first.
	Hosts(ctx context.Context, q HostQuery) (HostPage, error)
	// Host returns what is known of one host, or ErrNotFound.
	Host(ctx context.Context, host string) (Host, error)
	// PaceChanges returns the latest changes of a host's pace, at most
	// MaxPaceChanges, oldest first.
	PaceChanges(ctx context.Context, host string) ([]PaceChange, error)
	// Robots returns the robots.txt with this SHA-256, or ErrNotFound.
	Robots(ctx context.Context, sum [32]byte) (RobotsVersion, error)
}

// Jobs is what was asked for.
type Jobs interface {
	// CreateJob stores a job and returns its number. The state must be Queued
	// or Running.
	CreateJob(ctx context.Context, j Job) (job.ID, error)
	// Job returns one job, or ErrNotFound.
	Job(ctx context.Context, id job.ID) (Job, error)
	// JobList returns jobs with a number above after, by number, not more than most.
	JobList(ctx context.Context, after job.ID, most int) ([]Job, error)
	// SetState moves a job from one state to another, with the reason for
	// people. It answers ErrConflict when the job is not in the state from, and
	// an error when the one cannot follow the other.
	//
	// A job that is cancelled gives up its page tokens, whoever holds them, and
	// notices of it at once. What is under way may still be committed, without a
	// token: it was reserved, and what was fetched is recorded. What waits stays
	// pending, so that the sum adds up, and is no work any more; Drop forgets it.
	SetState(ctx context.Context, now time.Time, id job.ID, from, to job.State, reason string) error
	// Extend sets a new page limit, 0 for none, and puts deferred URLs back to
	// waiting. ErrConflict: see [CheckExtend]. It may take long; interrupted, it
	// has done a part, and calling it again does the rest.
	Extend(ctx context.Context, now time.Time, id job.ID, maxPages int64) error
	// Reopen puts URLs of the job that have ended back to waiting, however they
	// ended, with no attempt made and nothing to wait for, and tells how many
	// they were. URLs that wait, that the job has not seen or that are kept
	// aside are passed over, so it may be repeated and may name a URL twice. The
	// visit that ended a URL becomes the latest of its attempts. A page gives
	// the token back that it had spent: asked again, it counts once towards the
	// page limit, as before. At most MaxFound at a time.
	//
	// The state of the job stays what it is. One that has ended is set running
	// again after this, not before: stopped between the two, it has ended still,
	// and doing both again does the rest.
	Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error)
	// Counts reads how many URLs of the job wait and how many ended how. It
	// costs the same for ten URLs or ten million.
	Counts(ctx context.Context, id job.ID) (Counts, error)
	// Audit counts the same from the rows themselves. It is slow, and at rest
	// it agrees with Counts.
	Audit(ctx context.Context, id job.ID) (Counts, error)
	// Idle reads whether nothing of the job waits. See [Complete].
	Idle(ctx context.Context, id job.ID) (Idle, error)
	// Drop forgets a job that has ended and everything about it, without
	// deleting row by row.
	Drop(ctx context.Context, id job.ID) error
}

// Series is how a job went over time.
type Series interface {
	// Record adds points. Points of one job and instant add up: each worker
	// gives its share once.
	Record(ctx context.Context, points []Point) error
	// Points returns the points of a job, oldest first, at most MaxPoints.
	Points(ctx context.Context, id job.ID) ([]Point, error)
}

// Domains is a further ability of stores whose hosts are shared with other
// stores on the machine: two crawls in two terminals, two crawl files, one pace
// per host. A store without it shares nothing but by slots.
type Domains interface {
	// Claim asks for domains. Those in Granted are owned from now on, with
	// what is known of their hosts in Hosts; for the others a request is
	// noted, to be renewed by asking again within ClaimAgain: the wait reason is
	// lease. At most MaxWants at a time.
	Claim(ctx context.Context, now time.Time, domains []string) (Claim, error)
	// Wanted returns owned domains that another process has asked for and
	// still waits for. The owner finishes what is in flight there and yields
	// within HandOver; asking for them again itself, it has its turn next.
	Wanted(ctx context.Context, now time.Time) ([]string, error)
	// Keep tells the others that this process runs. A process that has called it
	// does so as often as Terms.Renew says: one whose calls have stopped for
	// Terms.TakeOver, by the clock of whoever waits for a domain of it, is stopped,
	// and the domain is taken from it. Keep returns the domains that were taken, each
	// once: nothing may be sent to them until they are granted again.
	Keep(ctx context.Context) (lost []string, err error)
	// Yield gives domains up, with the last state of their hosts. Those that were
	// taken meanwhile are passed over, and so they are in commits.
	Yield(ctx context.Context, now time.Time, domains []string, hosts []Host) error
}

// Fault is asked before each statement of a change and stops it with the error
// it returns: tests stop an engine between any two statements this way. The
// statement is named for people. Nil never stops anything.
type Fault func(statement string) error

// Stop asks f, if there is one.
func (f Fault) Stop(statement string) error {
	if f == nil {
		return nil
	}
	return f(statement)
}

// Stored returns an instant as it is stored: UTC, whole milliseconds, rounded
// up. The zero time stays what it is.
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
