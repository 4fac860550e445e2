package store

import (
	"context"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// Reader is the reading half of a [Store]: what can be asked of a crawl that
// another process may be running, or that ended long ago. It takes no lease and
// changes nothing. All methods may be called from many goroutines at once.
//
// Each call sees the last commit before it. Two calls may see two commits: what
// must agree is asked for in one.
type Reader interface {
	// Job returns one job, or ErrNotFound.
	Job(ctx context.Context, id job.ID) (Job, error)
	// JobList returns jobs with a number above after, by number, not more than most.
	JobList(ctx context.Context, after job.ID, most int) ([]Job, error)
	// Counts reads how many URLs of the job wait and how many ended how. Tokens
	// are known to the process that crawls alone.
	Counts(ctx context.Context, id job.ID) (Counts, error)

	// Lookup returns what is known of one URL, or ErrNotFound.
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (Entry, error)
	// List pages through the URLs of a job.
	List(ctx context.Context, q Query) (Page, error)
	// Attempts pages through the attempts at URLs of one host that did not end
	// them: all that were kept, see MaxAttempts.
	Attempts(ctx context.Context, q AttemptQuery) (AttemptPage, error)
	// Aside tells whether the job found a URL and kept it apart as out of scope.
	Aside(ctx context.Context, id job.ID, u weburl.URL) (bool, error)

	// Host returns what is known of one host, or ErrNotFound.
	Host(ctx context.Context, host string) (Host, error)
	// HostList pages through all hosts that URLs were found on, in the order they
	// were found, whether anything was learned of them or not.
	HostList(ctx context.Context, q HostListQuery) (HostListPage, error)
	// PaceChanges returns the latest changes of a host's pace, at most
	// MaxPaceChanges, oldest first.
	PaceChanges(ctx context.Context, host string) ([]PaceChange, error)
	// Robots returns the robots.txt with this SHA-256, or ErrNotFound.
	Robots(ctx context.Context, sum [32]byte) (RobotsVersion, error)

	// Points returns the points of a job, oldest first, at most MaxPoints.
	Points(ctx context.Context, id job.ID) ([]Point, error)

	// Key is the secret behind the fingerprints and slots of the store.
	Key() weburl.Key
	// Close ends the use of the reader.
	Close() error
}

// AttemptQuery asks for attempts at the URLs of a host.
type AttemptQuery struct {
	Job   job.ID
	Host  string
	After Cursor // where the page before ended
	Max   int    // at most MaxPage
}

// AttemptPage is one page of attempts, those of a URL in the order they were
// made. They are as in [Entry].
type AttemptPage struct {
	Attempts []visit.Visit
	Next     Cursor // empty after the last page
}

// HostListQuery asks for the hosts of a job.
type HostListQuery struct {
	Job   job.ID     // whose waiting URLs are counted
	Host  string     // only this one, if it has a part in the job; empty for all
	After HostCursor // where the page before ended
	Max   int        // at most MaxPage
}

// HostListPage is one page of hosts, in an order that does not change while
// hosts are added.
type HostListPage struct {
	Hosts []HostEntry
	Next  HostCursor // empty after the last page
}

// HostEntry is a host and how a job stands there.
type HostEntry struct {
	Host    Host  // only its name where nothing was learned
	Waiting int64 // URLs of the job that wait
	// Incidents counts the times the host pushed back and was slowed for it, of
	// those that are kept: see MaxPaceChanges.
	Incidents int64
}
