package gauge

import (
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Report is how a crawl ended. It adds up: Counts.Seen is the sum of all
// outcomes.
type Report struct {
	Job     job.ID
	State   job.State // how it ended; running when it can be resumed
	Reason  string    // for people
	Success bool      // false for timeout, blocked, failed, cancelled
	Resumed bool      // it went on with an earlier run
	Again   bool      // it had ended before, and nothing was done
	Errors  []string  // limits that stopped it
	// Limit is the one that stopped it with work left; nil for none.
	Limit *limit.Ceiling

	Counts    store.Counts
	Spent     limit.Use     // all runs together
	Elapsed   time.Duration // this run
	Shares    []frontier.Share
	Requests  int64 // this run
	Pages     int64 // this run
	Incidents int64
	Refusals  int64 // answers of this run that said not now: 429, 503
	Warnings  []string
}

// Progress is how a crawl stands.
type Progress struct {
	At         time.Time
	Elapsed    time.Duration
	Counts     store.Counts // a moment old
	Spent      limit.Use
	Rate       float64 // pages per second, lately
	Frontier   frontier.Stats
	Shares     []frontier.Share // host-seconds so far
	Slowest    []ask.Host
	Resumed    bool      // it goes on with an earlier run
	Before     limit.Use // what earlier runs have spent
	AtLeast    bool      // one of them was killed, so that it may be more requests than that
	Warnings   []string
	Ceilings   []limit.Ceiling
	Stopping   string // why nothing more is sent
	Layers     []Layer
	Commits    int64
	CommitTime time.Duration // in all
	LastCommit time.Duration
}
