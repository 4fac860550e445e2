package answer

import (
	"context"
	"time"

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
	Ceilings []Ceiling    `json:"ceilings" doc:"The limits in force."`
	Warnings []string     `json:"warnings" doc:"Limits that were nearly reached: at 80 and 95 %."`
	Errors   []LimitError `json:"errors" doc:"The limit that stopped the job."`
}

// LimitError is a limit that stopped a job, or kept it from starting.
type LimitError struct {
	Limit    limit.Name  `json:"limit" doc:"The limit."`
	Layer    limit.Level `json:"layer" doc:"The layer that set it."`
	Max      float64     `json:"max" doc:"Its value, in unit."`
	Observed float64     `json:"observed" doc:"The amount used when it stopped the job, in unit."`
	Unit     string      `json:"unit,omitempty" enum:"seconds,bytes" doc:"The unit of max and observed; absent for a count."`
	Text     string      `json:"text" doc:"The same in words for people."`
}

// newLimitError shows a limit that was reached.
func newLimitError(n *store.Notice) LimitError {
	e := LimitError{Limit: n.Limit, Layer: n.Layer, Text: n.Text}
	e.Max, e.Unit = n.Limit.InUnits(n.Max)
	e.Observed, _ = n.Limit.InUnits(n.Observed)
	return e
}

// mayBeStopped reports whether a limit may have stopped the job in its present state.
func mayBeStopped(j *store.Job) bool { return j.State == job.Partial || j.State == job.Draining }

// limitErrors are the limits that stopped this run of a job, among all notices about it.
func limitErrors(j *store.Job, notices []store.Notice) (list []LimitError) {
	for i := range notices {
		if n := &notices[i]; mayBeStopped(j) && n.Percent == store.StoppedBy && !n.At.Before(j.StartedAt) {
			list = append(list, newLimitError(n))
		}
	}
	return list
}

// ReadJobLimits reads the limits of a job.
func ReadJobLimits(ctx context.Context, st store.Notices, j *store.Job) (JobLimits, error) {
	l := JobLimits{Ceilings: jobLimits(j.Limits()), Warnings: []string{}, Errors: []LimitError{}}
	notices, err := st.Notices(ctx, j.ID)
	if err != nil {
		return l, err
	}
	for i := range notices {
		if n := &notices[i]; n.Percent != store.StoppedBy {
			l.Warnings = append(l.Warnings, n.Text)
		}
	}
	l.Errors = append(l.Errors, limitErrors(j, notices)...)
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
	l := JobLimits{Ceilings: jobLimits(limit.Resolve(j.Layers...)), Warnings: []string{}, Errors: []LimitError{}}
	if over != nil {
		stop := store.StopOf(0, time.Time{}, over)
		l.Errors = append(l.Errors, newLimitError(&stop))
	}
	return l
}
