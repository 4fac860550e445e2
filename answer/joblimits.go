package answer

import (
	"context"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// JobLimit is a limit of a fleet job.
type JobLimit struct {
	Name      limit.Name  `json:"name"`
	Layer     limit.Level `json:"layer"` // the layer that set it
	Max       int64       `json:"max"`
	Requested int64       `json:"requested,omitempty"` // by the job, if it requested one
	Unit      string      `json:"unit,omitempty"`      // ms or bytes; empty for a count
	Text      string      `json:"text"`                // for people
}

// JobLimits are the limits of a fleet job, with warnings and errors about them. A job
// that is not scheduled yet has the limits it requests.
type JobLimits struct {
	Limits   []JobLimit `json:"limits"`
	Warnings []string   `json:"warnings"` // at 80 % and 95 % of a limit
	Errors   []string   `json:"errors"`   // the limit that stopped it
}

// ReadJobLimits reads the limits of a job.
func ReadJobLimits(ctx context.Context, st store.Notices, j *store.Job) (JobLimits, error) {
	l := JobLimits{Limits: jobLimits(j.Limits()), Warnings: []string{}, Errors: []string{}}
	notices, err := st.Notices(ctx, j.ID)
	if err != nil {
		return l, err
	}
	for i := range notices {
		n := &notices[i]
		switch {
		case n.Percent != store.StoppedBy:
			l.Warnings = append(l.Warnings, n.Text)
		case !n.At.Before(j.StartedAt) && (j.State == job.Partial || j.State == job.Draining):
			l.Errors = append(l.Errors, n.Text)
		}
	}
	return l, nil
}

// jobLimits are the limits that belong to the crawl itself.
func jobLimits(e limit.Effective) []JobLimit {
	list := []JobLimit{}
	for _, c := range e.Ceilings() {
		if c.Limit == limit.ConcurrentCrawls {
			continue
		}
		l := JobLimit{Name: c.Limit, Layer: c.Layer, Text: c.String()}
		l.Max, l.Unit = c.Limit.InUnits(c.Max)
		l.Requested, _ = c.Limit.InUnits(c.Requested)
		list = append(list, l)
	}
	return list
}

// SimulateLimits returns the limits that a job requesting these would get, and what
// would keep it from being scheduled.
func SimulateLimits(around store.Surroundings, asked limit.Limits) JobLimits {
	j := store.Job{MaxPages: asked.Pages, Layers: []limit.Layer{{Level: limit.Job, Limits: asked}}}
	over := around.Admit(&j)
	l := JobLimits{Limits: jobLimits(limit.Resolve(j.Layers...)), Warnings: []string{}, Errors: []string{}}
	if over != nil {
		l.Errors = append(l.Errors, over.Error())
	}
	return l
}
