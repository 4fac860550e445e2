package answer

import (
	"context"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// Ceiling is a limit in force.
type Ceiling struct {
	Limit     limit.Name  `json:"limit" doc:"The limit."`
	Layer     limit.Level `json:"layer" doc:"The layer that set it."`
	Max       float64     `json:"max" doc:"Its value, in unit."`
	Requested float64     `json:"requested,omitempty" doc:"What the job requested, in unit; absent if it requested none."`
	Unit      string      `json:"unit,omitempty" enum:"seconds,bytes" doc:"The unit of max and requested; absent for a count."`
	Text      string      `json:"text" doc:"The same in words for people."`
}

// newCeiling shows a limit.
func newCeiling(c limit.Ceiling) Ceiling {
	shown := Ceiling{Limit: c.Limit, Layer: c.Layer, Text: c.String()}
	shown.Max, shown.Unit = c.Limit.InUnits(c.Max)
	shown.Requested, _ = c.Limit.InUnits(c.Requested)
	return shown
}

// JobLimits are the limits of a fleet job, with warnings and errors about them. A job
// that is not scheduled yet has the limits it requests.
type JobLimits struct {
	Ceilings []Ceiling `json:"ceilings" doc:"The limits in force."`
	Warnings []string  `json:"warnings" doc:"Limits that were nearly reached: at 80 and 95 %."`
	Errors   []string  `json:"errors" doc:"The limit that stopped the job."`
}

// ReadJobLimits reads the limits of a job.
func ReadJobLimits(ctx context.Context, st store.Notices, j *store.Job) (JobLimits, error) {
	l := JobLimits{Ceilings: jobLimits(j.Limits()), Warnings: []string{}, Errors: []string{}}
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
func jobLimits(e limit.Effective) []Ceiling {
	list := []Ceiling{}
	for _, c := range e.Ceilings() {
		if c.Limit != limit.ConcurrentCrawls {
			list = append(list, newCeiling(c))
		}
	}
	return list
}

// SimulateLimits returns the limits that a job requesting these would get, and what
// would keep it from being scheduled.
func SimulateLimits(around store.Surroundings, asked limit.Limits) JobLimits {
	j := store.Job{MaxPages: asked.Pages, Layers: []limit.Layer{{Level: limit.Job, Limits: asked}}}
	over := around.Admit(&j)
	l := JobLimits{Ceilings: jobLimits(limit.Resolve(j.Layers...)), Warnings: []string{}, Errors: []string{}}
	if over != nil {
		l.Errors = append(l.Errors, over.Error())
	}
	return l
}
