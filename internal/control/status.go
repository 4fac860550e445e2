package control

import (
	"cmp"
	"slices"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// JobStatus describes a job, as far as this process knows.
type JobStatus struct {
	Elapsed  time.Duration   // of this run
	Spent    limit.Use       // usage of the job's limits
	Ceilings []limit.Ceiling // the job's limits
	Warnings []string        // limits almost reached
	Stopping string          // why no further requests are sent; empty while it runs

	// Of a crawl on one machine; those of a fleet job are read from the store.
	Rate    float64      // recent pages per second
	Counts  store.Counts // of its URLs
	Stopped bool         // discovery was stopped
}

// MaxSlowest is how many of the slowest hosts are listed in a status and in the progress of
// a crawl.
const MaxSlowest = 8

// newStatus fills in what the status of a crawl and that of a worker's part in a job have
// in common.
func (c *Control) newStatus(now time.Time, s *JobStatus) *ask.Status {
	return &ask.Status{
		At: now, Elapsed: ask.Seconds(s.Elapsed), Workers: c.cfg.Workers, Warnings: s.Warnings, Stopping: s.Stopping, Discovery: !s.Stopped,
		Commit: ask.Seconds(c.cfg.Commits.Stats().Last), Limits: limitsOf(s), Layers: c.layers(now),
	}
}

// shares lists where host time was spent.
func shares(spent []frontier.Share) (list []ask.Share) {
	for _, s := range spent {
		list = append(list, ask.Share{State: s.State.String(), Hosts: s.Hosts, Spent: ask.Seconds(s.Spent), Part: s.Part})
	}
	return list
}

// layers lists the current use of each layer.
func (c *Control) layers(now time.Time) (list []ask.Layer) {
	for _, l := range c.cfg.Layers(now) {
		list = append(list, ask.Layer{Name: l.Name, Setting: l.Setting, Limit: l.Limit, Use: l.Use, Waiting: l.Waiting, Waited: ask.Seconds(l.Waited)})
	}
	return list
}

// outcomesOf counts the finished URLs by outcome and reason.
func outcomesOf(counts store.Counts) (list []ask.Count) {
	for e, n := range counts.Ended {
		list = append(list, ask.Count{Outcome: e.Outcome, Reason: e.Reason, N: n})
	}
	slices.SortFunc(list, func(a, b ask.Count) int {
		return cmp.Or(cmp.Compare(slices.Index(visit.Outcomes, a.Outcome), slices.Index(visit.Outcomes, b.Outcome)), cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// limitsOf lists the limits of a job and their usage.
func limitsOf(s *JobStatus) (list []ask.Limit) {
	for _, c := range s.Ceilings {
		l := ask.Limit{Name: string(c.Limit), Layer: string(c.Layer)}
		l.Max, l.Unit = c.Limit.InUnits(c.Max)
		l.Used, _ = c.Limit.InUnits(s.Spent.Of(c.Limit))
		list = append(list, l)
	}
	return list
}
