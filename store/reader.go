package store

import (
	"context"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// Reader is the read-only part of a [Store], for a crawl that another process may be
// running, or that ended long ago. It takes no lease and changes nothing. All methods are
// safe for concurrent use.
//
// Each call sees the last commit before it. Two calls may see two commits: what must be
// consistent is read in one call.
type Reader interface {
	// Job returns one job, or ErrNotFound.
	Job(ctx context.Context, id job.ID) (Job, error)
	// JobList returns jobs with a number above after, by number, up to most.
	JobList(ctx context.Context, after job.ID, most int) ([]Job, error)
	// Counts returns how many URLs of the job wait and how many ended how. Tokens are
	// known only to the process that crawls.
	Counts(ctx context.Context, id job.ID) (Counts, error)

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
	// Attempts pages through the attempts at URLs of one host that did not end them, as
	// far as they were kept; see MaxAttempts.
	Attempts(ctx context.Context, q AttemptQuery) (AttemptPage, error)
	// Aside reports whether the job found a URL out of scope.
	Aside(ctx context.Context, id job.ID, u weburl.URL) (bool, error)

	// Host returns what is known about one host, or ErrNotFound.
	Host(ctx context.Context, host string) (Host, error)
	// HostList pages through all hosts on which URLs were found, in the order they were
	// found, whether anything was learned about them or not.
	HostList(ctx context.Context, q HostListQuery) (HostListPage, error)
	// PaceChanges returns the latest changes of a host's pace, at most
	// MaxPaceChanges, oldest first.
	PaceChanges(ctx context.Context, host string) ([]PaceChange, error)
	// Robots returns the robots.txt with this SHA-256, or ErrNotFound.
	Robots(ctx context.Context, sum [32]byte) (RobotsVersion, error)

	// Points returns the points of a job, oldest first, at most MaxPoints.
	Points(ctx context.Context, id job.ID) ([]Point, error)

	// Key is the secret key of the fingerprints and slots of the store.
	Key() weburl.Key
	// Close closes the reader.
	Close() error
}

// AttemptQuery selects attempts at the URLs of a host.
type AttemptQuery struct {
	Job   job.ID
	Host  string
	After Cursor // the Next of the previous page
	Max   int    // at most MaxPage
}

// AttemptPage is one page of attempts, those of a URL in order. They are as in [Entry].
type AttemptPage struct {
	Attempts []visit.Visit
	Next     Cursor // empty after the last page
}

// HostListQuery selects the hosts of a job.
type HostListQuery struct {
	Job   job.ID     // whose waiting URLs are counted
	Host  string     // only this one, if the job found it; empty for all
	After HostCursor // the Next of the previous page
	Max   int        // at most MaxPage
}

// HostListPage is one page of hosts, in an order that does not change while
// hosts are added.
type HostListPage struct {
	Hosts []HostEntry
	Next  HostCursor // empty after the last page
}

// HostEntry is a host and the work of a job there.
type HostEntry struct {
	Host    Host  // only its name if nothing was learned
	Waiting int64 // URLs of the job that wait
	// Incidents counts the incidents of the host, of those that are kept; see
	// MaxPaceChanges.
	Incidents int64
}
