package answer

import (
	"context"
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
	CreatedAt time.Time        `json:"created_at"`
	StartedAt time.Time        `json:"started_at,omitzero"`
	EndedAt   time.Time        `json:"ended_at,omitzero"`
	Pages     int64            `json:"pages"`
	Waiting   int64            `json:"waiting"`
	Outcomes  map[string]int64 `json:"outcomes,omitempty"` // by outcome, with the reason after a colon
}

// NewJob describes a job whose URLs were counted.
func NewJob(j *store.Job, counts store.Counts) Job {
	row := Job{
		ID: j.ID, Tenant: j.Tenant, Name: j.Name, State: j.State, Reason: j.Reason, Success: j.State.Success() && j.Reason != string(limit.Time),
		Delay: ask.Seconds(j.Pace), CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
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

// Counter is the part of a [store.Reader] that counts the URLs of a job.
type Counter interface {
	Counts(ctx context.Context, id job.ID) (store.Counts, error)
}

// ReadJob describes a job and counts its URLs.
func ReadJob(ctx context.Context, r Counter, j *store.Job) (Job, error) {
	counts, err := r.Counts(ctx, j.ID)
	if err != nil {
		return Job{}, err
	}
	return NewJob(j, counts), nil
}

// ReadJobs is ReadJob for a page of jobs, whose URLs are counted in one query.
func ReadJobs(ctx context.Context, st store.JobLists, list []store.Job) ([]Job, error) {
	ids := make([]job.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	counts, err := st.CountJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]Job, len(list))
	for i := range list {
		rows[i] = NewJob(&list[i], counts[list[i].ID])
	}
	return rows, nil
}
