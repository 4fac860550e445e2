package answer

import (
	"context"
	"fmt"
	"time"

	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Job is the state of a fleet job.
type Job struct {
	ID        job.ID           `json:"id"`
	Tenant    string           `json:"tenant,omitempty"`
	Name      string           `json:"name"`
	State     job.State        `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	Success   bool             `json:"success"` // false for a job that has not ended
	Delay     ask.Seconds      `json:"delay_seconds,omitempty" doc:"Minimum interval between requests to one host, set by set-pace; absent if there is none."`
	Since     job.ID           `json:"since,omitempty" doc:"The earlier job of the same schedule: pages that have not changed since end as not_modified, with its content. Absent if there is none."`
	CreatedAt time.Time        `json:"created_at"`
	StartedAt time.Time        `json:"started_at,omitzero"`
	EndedAt   time.Time        `json:"ended_at,omitzero"`
	Pages     int64            `json:"pages"`
	Waiting   int64            `json:"waiting"`
	Outcomes  map[string]int64 `json:"outcomes,omitempty"` // by outcome, with the reason after a colon
	Queue     *QueuePlace      `json:"queue,omitempty" doc:"What the job waits for; absent unless it is queued, in lists, and in the response that creates it."`
	Errors    []LimitError     `json:"errors,omitempty" doc:"The limit that stopped the job; absent if none did."`
}

// QueuePlace is why a job is queued, and its place in the queue.
type QueuePlace struct {
	Place  int64             `json:"place,omitempty" doc:"1 for the job that is next; absent beyond 100, or while jobs of as many tenants are queued. Tenants take turns, and jobs of tenants that use all places of their plan count too, so a job may start sooner."`
	Reason store.QueueReason `json:"reason" enum:"no_worker,older_worker,plan_limit,fleet_limit,starting" doc:"Why it is queued: the fleet has no worker; a worker of an older version still runs, and no job starts until it has left; its tenant runs as many crawls as its plan allows; all places of the fleet are taken; a worker is about to start it."`
	Text   string            `json:"text" doc:"The same in words for people."`
}

func newQueuePlace(t store.Turn) *QueuePlace {
	q := &QueuePlace{Place: t.Place, Reason: t.Reason()}
	switch q.Reason {
	case store.QueuedNoWorker:
		q.Text = "the fleet has no worker"
	case store.QueuedOlderWorker:
		q.Text = fmt.Sprintf("%d of %d workers run an older version; no job starts until they have left", t.Older, t.Workers)
	case store.QueuedPlan:
		q.Text = fmt.Sprintf("the tenant runs %d of %d crawls (plan)", t.Own, t.OwnMax)
	case store.QueuedFleet:
		q.Text = "waiting for a free place in the fleet"
	case store.QueuedStarting:
		q.Text = "about to start"
	}
	if t.Place > 0 {
		q.Text = fmt.Sprintf("place %d: %s", t.Place, q.Text)
	}
	return q
}

// NewJob describes a job whose URLs were counted.
func NewJob(j *store.Job, counts store.Counts) Job {
	row := Job{
		ID: j.ID, Tenant: j.Tenant, Name: j.Name, State: j.State, Reason: j.Reason, Success: j.State.Success() && j.Reason != string(limit.Time),
		Delay: ask.Seconds(j.Pace), Since: j.Since, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
		Pages: counts.Pages(), Waiting: counts.Waiting, Outcomes: map[string]int64{},
	}
	for e, n := range counts.Ended {
		if n > 0 {
			key := string(e.Outcome)
			if e.Reason != "" {
				key += ": " + string(e.Reason)
			}
			row.Outcomes[key] = n
		}
	}
	return row
}

// ReadJob describes a job: the counts of its URLs, its place in the queue, and the limit
// that stopped it.
func ReadJob(ctx context.Context, st store.JobLists, j *store.Job) (Job, error) {
	list, err := ReadJobs(ctx, st, []store.Job{*j})
	if err != nil {
		return Job{}, err
	}
	if j.State == job.Queued {
		t, ok, err := st.Turn(ctx, j.ID)
		if err != nil {
			return Job{}, err
		}
		if ok {
			list[0].Queue = newQueuePlace(t)
		}
	}
	return list[0], nil
}

// ReadJobs describes a page of jobs: the counts of their URLs, and the limits that stopped
// them.
func ReadJobs(ctx context.Context, st store.JobLists, list []store.Job) ([]Job, error) {
	var ids, stopped []job.ID
	for i := range list {
		j := &list[i]
		ids = append(ids, j.ID)
		if mayBeStopped(j) {
			stopped = append(stopped, j.ID)
		}
	}
	counts, err := st.CountJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var stops map[job.ID][]store.Notice
	if len(stopped) > 0 {
		if stops, err = st.Stops(ctx, stopped); err != nil {
			return nil, err
		}
	}
	rows := make([]Job, len(list))
	for i := range list {
		j := &list[i]
		rows[i] = NewJob(j, counts[j.ID])
		rows[i].Errors = limitErrors(j, stops[j.ID])
	}
	return rows, nil
}
