package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
)

// Schedules is an optional interface of stores behind a service: recurring crawls.
type Schedules interface {
	// CreateSchedule stores a schedule. ErrConflict says that its tenant has
	// MaxSchedules.
	CreateSchedule(ctx context.Context, s Schedule) error
	// Schedule returns one schedule, or ErrNotFound.
	Schedule(ctx context.Context, id string) (Schedule, error)
	// Schedules returns the schedules of a tenant, or of all, by tenant and then
	// age.
	Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error)
	// SetSchedule changes a schedule: its Name, the fields between it and Spec, MaxPages,
	// Layers, DueAt and PausedAt. The jobs it created continue. ErrConflict says that it
	// has created another job since it was read as s.
	SetSchedule(ctx context.Context, s Schedule) error
	// PauseSchedule stops a schedule from creating jobs.
	PauseSchedule(ctx context.Context, now time.Time, id string) error
	// DropSchedule deletes a schedule. The jobs it created stay.
	DropSchedule(ctx context.Context, id string) error

	// DueSchedules returns schedules that are due and whose last job has ended,
	// the longest overdue first.
	DueSchedules(ctx context.Context, now time.Time, most int) ([]Schedule, error)
	// RunSchedule creates the job of a schedule that was read as s, and sets when it is
	// due again, in one transaction. If another process did so since, or the schedule was
	// changed, paused or dropped, nothing is created and the job is 0.
	//
	// Its [Job.Since] is the last job of the schedule that ended complete or partial, 0 if
	// that was dropped.
	RunSchedule(ctx context.Context, now time.Time, s Schedule, next time.Time) (job.ID, error)
	// FreshSchedules returns schedules without a cron expression whose last job has ended
	// and was not compared with the previous one yet.
	FreshSchedules(ctx context.Context, most int) ([]Schedule, error)
	// MeasureSchedule stores the share of pages that changed in the last run of a
	// schedule that was read as s, and the resulting interval. If it has created another
	// job since, nothing is stored.
	MeasureSchedule(ctx context.Context, s Schedule, share float64, every time.Duration) error
}

// Bounds of schedules.
const (
	MaxSchedules    = 1000 // of a tenant
	MaxCron         = 200  // bytes of an expression
	MaxScheduleName = 200  // bytes
	MinEvery        = time.Minute
	MaxEvery        = 366 * 24 * time.Hour
)

// Schedule is a recurring crawl.
type Schedule struct {
	ID     string
	Tenant string
	Name   string // of its jobs, for people

	// When: a cron expression or, without one, an interval between two bounds that
	// adapts to how much changes.
	Cron               string
	Every, Least, Most time.Duration

	// What its jobs request; see [Job].
	Spec     []byte
	MaxPages int64
	Layers   []limit.Layer

	CreatedAt time.Time
	DueAt     time.Time
	PausedAt  time.Time // zero if not paused

	Turn         int64     // how many jobs it has created
	Last, Before job.ID    // the latest two, 0 for none
	BegunAt      time.Time // when it created the last one
	Share        float64   // share of pages that changed, of those compared in the last two runs
}

// Job returns the job to be created now.
func (s *Schedule) Job(now time.Time) Job {
	return Job{Tenant: s.Tenant, Name: s.Name, State: job.Queued, MaxPages: s.MaxPages, Spec: s.Spec, Layers: s.Layers, CreatedAt: now}
}

// Check reports why a schedule is invalid. The caller checks its cron expression.
func (s *Schedule) Check() error {
	switch {
	case s.ID == "" || s.Tenant == "":
		return errors.New("schedule without an id or a tenant")
	case len(s.Name) > MaxScheduleName:
		return fmt.Errorf("schedule %s: name too long: %d bytes, the maximum is %d", s.ID, len(s.Name), MaxScheduleName)
	case len(s.Cron) > MaxCron:
		return fmt.Errorf("schedule %s: cron expression too long: %d bytes, the maximum is %d", s.ID, len(s.Cron), MaxCron)
	case s.Cron != "" && (s.Every != 0 || s.Least != 0 || s.Most != 0):
		return fmt.Errorf("schedule %s: both a cron expression and an interval", s.ID)
	case s.Cron == "" && (s.Least < MinEvery || s.Every < s.Least || s.Most < s.Every || s.Most > MaxEvery):
		return fmt.Errorf("schedule %s: invalid interval %s (minimum %s, maximum %s): must be between %s and %s", s.ID, s.Every, s.Least, s.Most, MinEvery, MaxEvery)
	case s.DueAt.IsZero():
		return fmt.Errorf("schedule %s: no due time", s.ID)
	}
	j := s.Job(s.CreatedAt)
	return j.Check()
}

// ScheduleQuery selects schedules.
type ScheduleQuery struct {
	All    bool   // of all tenants
	Tenant string // otherwise of this one
}
