package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/ask"
	"headway/service/internal/schedule"
	"headway/store"
)

// OneSchedule names a schedule in a path.
type OneSchedule struct {
	Schedule string `path:"schedule" maxLength:"64" pattern:"^sc_[a-z0-9]+$" doc:"The id of the schedule." example:"sc_5x2"`
}

// ScheduleRequest is a recurring crawl: at the times of a
// cron expression, or as often as pages change.
type ScheduleRequest struct {
	Cron     string     `json:"cron,omitempty" maxLength:"200" doc:"Cron expression: five fields, or a shorthand such as @daily. In UTC unless it begins with a time zone such as CRON_TZ=Europe/Berlin. At most once a minute." example:"30 4 * * 1"`
	Adaptive *Adaptive  `json:"adaptive,omitempty" doc:"Instead of cron: start now and adapt the interval to how often pages change."`
	Job      JobRequest `json:"job" doc:"The request for each job of the schedule."`
}

// Adaptive is an interval that adapts to changes: it is halved after a run in
// which a tenth of the pages had changed, doubled after one in which less than a
// fiftieth had.
type Adaptive struct {
	Every ask.Seconds `json:"every_seconds" minimum:"60" maximum:"31622400" doc:"In a request the initial interval, in a response the current one."`
	Least ask.Seconds `json:"least_seconds" minimum:"60" maximum:"31622400" doc:"Minimum interval."`
	Most  ask.Seconds `json:"most_seconds" minimum:"60" maximum:"31622400" doc:"Maximum interval."`
}

// Schedule is a recurring crawl.
type Schedule struct {
	ID        string     `json:"id"`
	Cron      string     `json:"cron,omitempty"`
	Adaptive  *Adaptive  `json:"adaptive,omitempty"`
	Job       JobRequest `json:"job" doc:"The request for each job of the schedule."`
	CreatedAt time.Time  `json:"created_at"`
	DueAt     time.Time  `json:"due_at" doc:"When the next job is created, if the previous one has ended by then."`
	PausedAt  time.Time  `json:"paused_at,omitzero" doc:"Since when it is paused; absent while it is active."`
	Jobs      int64      `json:"jobs" doc:"Number of jobs created."`
	LastJob   jobID      `json:"last_job,omitempty" doc:"The most recent job; absent before the first."`
	Changed   float64    `json:"changed,omitempty" doc:"Share of pages that changed between the last two compared runs."`
}

func (s Schedule) location() string { return "/v1/schedules/" + s.ID }

// ScheduleChange is a partial update. Omitted fields stay unchanged.
type ScheduleChange struct {
	Cron     string      `json:"cron,omitempty" maxLength:"200" doc:"New cron expression; replaces the current times or interval." example:"30 4 * * 1"`
	Adaptive *Adaptive   `json:"adaptive,omitempty" doc:"New adaptive interval; replaces the current interval or times."`
	Job      *JobRequest `json:"job,omitempty" doc:"New request for its jobs; replaces the current one completely."`
	Paused   *bool       `json:"paused,omitempty" doc:"Whether the schedule is paused. Its existing jobs continue."`
}

// ScheduleList is all schedules of a tenant, oldest first.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules" nullable:"false"`
}

func (a *API) registerSchedules() {
	tags, one := []string{"schedules"}, "/v1/schedules/{schedule}"
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "create-schedule", Method: http.MethodPost, Path: "/v1/schedules", Tags: tags, DefaultStatus: http.StatusCreated, Summary: "Create a schedule",
		Description: fmt.Sprintf("After missed times, one job is created to catch up. No job is created while the previous one is unfinished. The maximum is %d schedules per tenant.", store.MaxSchedules),
	}, once(a, "create-schedule", a.createSchedule), NoTenant, TooManyObjects, NoArchive, HostNotOwned, UnknownTenant)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-schedules", Method: http.MethodGet, Path: "/v1/schedules", Tags: tags, Summary: "List schedules, oldest first",
	}, a.listSchedules)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-schedule", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Get a schedule",
	}, func(ctx context.Context, in *OneSchedule) (*struct{ Body Schedule }, error) {
		return a.showSchedule(ctx, in.Schedule)
	}, NotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "change-schedule", Method: http.MethodPatch, Path: one, Tags: tags, Summary: "Update a schedule: its times or its job; pause or resume it",
		Description: "Existing jobs continue unchanged. After a change of times or a pause, the schedule is next due at the next matching time; an interval counts from the last job.",
	}, a.changeSchedule, NotFound, Conflict, NoArchive, HostNotOwned)
	for _, o := range []struct {
		name, summary, description string
		paused                     bool
	}{
		{"pause", "Pause a schedule: create no further jobs; existing jobs continue", "", true},
		{"resume", "Resume a paused schedule", "It is next due at its next matching time, or after its interval.", false},
	} {
		register(a, store.ScopeWrite, huma.Operation{
			OperationID: o.name + "-schedule", Method: http.MethodPost, Path: one + "/" + o.name, Tags: tags, Summary: o.summary, Description: o.description,
		}, func(ctx context.Context, in *OneSchedule) (*struct{ Body Schedule }, error) {
			return a.setSchedule(ctx, in.Schedule, o.name+"-schedule", &ScheduleChange{Paused: &o.paused})
		}, NotFound, Conflict)
	}
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "delete-schedule", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Delete a schedule; its jobs are kept",
	}, func(ctx context.Context, in *OneSchedule) (*struct{}, error) {
		s, err := a.findSchedule(ctx, in.Schedule)
		if err != nil {
			return nil, err
		}
		o := store.Order{What: "delete-schedule", Tenant: s.Tenant, About: s.ID, Before: scheduleInWords(&s)}
		return nil, a.ordered(ctx, o, func(ctx context.Context) error { return a.store.DropSchedule(ctx, s.ID) })
	}, NotFound)
}

// findSchedule reads a schedule of the caller's tenant; that of another is not
// found.
func (a *API) findSchedule(ctx context.Context, id string) (store.Schedule, error) {
	s, err := a.store.Schedule(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && s.Tenant != callerOf(ctx).tenant() {
		return store.Schedule{}, problem(NotFound, "schedule not found: "+id, "list the schedules with GET /v1/schedules")
	}
	return s, err
}

func (a *API) showSchedule(ctx context.Context, id string) (*struct{ Body Schedule }, error) {
	s, err := a.findSchedule(ctx, id)
	if err != nil {
		return nil, err
	}
	view, err := a.newSchedule(&s)
	return &struct{ Body Schedule }{view}, err
}

func (a *API) newSchedule(s *store.Schedule) (Schedule, error) {
	j := store.Job{MaxPages: s.MaxPages, Layers: s.Layers}
	request, err := a.requestOf(s.Spec, &j)
	request.Name = s.Name
	view := Schedule{
		ID: s.ID, Cron: s.Cron, Job: request,
		CreatedAt: s.CreatedAt, DueAt: s.DueAt, PausedAt: s.PausedAt, Jobs: s.Turn, LastJob: s.Last, Changed: s.Share,
	}
	if s.Cron == "" {
		view.Adaptive = &Adaptive{ask.Seconds(s.Every), ask.Seconds(s.Least), ask.Seconds(s.Most)}
	}
	return view, err
}

// badSchedule is the problem of an invalid schedule.
func badSchedule(err error) error {
	return problem(InvalidValue, err.Error(), "a cron expression has five fields, for example 30 4 * * 1; an adaptive interval needs least_seconds <= every_seconds <= most_seconds")
}

// timed sets when a schedule is due.
func timed(s *store.Schedule, expression string, d *Adaptive) {
	s.Cron, s.Every, s.Least, s.Most = expression, 0, 0, 0
	if d != nil {
		s.Every, s.Least, s.Most = d.Every.Duration(), d.Least.Duration(), d.Most.Duration()
	}
}

// crawling sets the request for the jobs of a schedule.
func crawling(s *store.Schedule, j *store.Job) {
	s.Name, s.Spec, s.MaxPages, s.Layers = j.Name, j.Spec, j.MaxPages, j.Layers
}

// scheduleInWords describes a schedule for the control log.
func scheduleInWords(s *store.Schedule) string {
	words := fmt.Sprintf("%s: every %s, between %s and %s", s.Name, s.Every, s.Least, s.Most)
	if s.Cron != "" {
		words = s.Name + ": " + s.Cron
	}
	if !s.PausedAt.IsZero() {
		words += ", paused"
	}
	return words
}

func (a *API) createSchedule(ctx context.Context, in *Creating[ScheduleRequest]) (view Schedule, err error) {
	tenant, err := ofTenant(ctx)
	if err != nil {
		return view, err
	}
	r := &in.Body
	if (r.Cron == "") == (r.Adaptive == nil) {
		return view, oneOfTwo()
	}
	j, err := a.newJob(ctx, &r.Job)
	if err != nil {
		return view, err
	}
	asked := store.Schedule{Tenant: tenant}
	timed(&asked, r.Cron, r.Adaptive)
	crawling(&asked, &j)
	s, err := schedule.Make(asked, store.Stored(time.Now()))
	if err != nil {
		return view, badSchedule(err)
	}
	o := store.Order{What: "create-schedule", Tenant: s.Tenant, About: s.ID, After: scheduleInWords(&s)}
	err = a.ordered(ctx, o, func(ctx context.Context) error { return a.store.CreateSchedule(ctx, s) })
	if errors.Is(err, store.ErrConflict) {
		return view, newProblem(TooManyObjects, fmt.Sprintf("maximum of %d schedules reached", store.MaxSchedules))
	}
	if err != nil {
		return view, err
	}
	return a.newSchedule(&s)
}

// oneOfTwo is the problem of a schedule with both kinds of times, or none.
func oneOfTwo() error {
	return problem(InvalidValue, "a schedule needs either a cron expression or an adaptive interval", `set "cron", for example "@daily", or "adaptive" with every_seconds, least_seconds and most_seconds`)
}

// changeScheduleInput is a change of a schedule.
type changeScheduleInput struct {
	OneSchedule
	Body ScheduleChange
}

func (a *API) changeSchedule(ctx context.Context, in *changeScheduleInput) (*struct{ Body Schedule }, error) {
	return a.setSchedule(ctx, in.Schedule, "change-schedule", &in.Body)
}

// setSchedule changes a schedule, which may make a job meanwhile.
func (a *API) setSchedule(ctx context.Context, id, what string, c *ScheduleChange) (*struct{ Body Schedule }, error) {
	for try := 1; ; try++ {
		was, err := a.findSchedule(ctx, id)
		if err != nil {
			return nil, err
		}
		s, err := a.changed(ctx, was, c)
		if err != nil {
			return nil, err
		}
		o := store.Order{What: what, Tenant: s.Tenant, About: s.ID, Before: scheduleInWords(&was), After: scheduleInWords(&s)}
		err = a.ordered(ctx, o, func(ctx context.Context) error { return a.store.SetSchedule(ctx, s) })
		if errors.Is(err, store.ErrConflict) && try < orderTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		return a.showSchedule(ctx, s.ID)
	}
}

// changed is a schedule after an update.
func (a *API) changed(ctx context.Context, was store.Schedule, c *ScheduleChange) (store.Schedule, error) {
	s, now := was, store.Stored(time.Now())
	if c.Cron != "" && c.Adaptive != nil {
		return s, oneOfTwo()
	}
	if c.Cron != "" || c.Adaptive != nil {
		timed(&s, c.Cron, c.Adaptive)
	}
	if c.Job != nil {
		j, err := a.newJob(ctx, c.Job)
		if err != nil {
			return s, err
		}
		crawling(&s, &j)
	}
	switch {
	case c.Paused != nil && !*c.Paused:
		s.PausedAt = time.Time{}
	case c.Paused != nil && s.PausedAt.IsZero():
		s.PausedAt = now
	}
	s, err := schedule.Change(was, s, now)
	if err != nil {
		return s, badSchedule(err)
	}
	return s, nil
}

func (a *API) listSchedules(ctx context.Context, _ *struct{}) (*struct{ Body ScheduleList }, error) {
	list, err := a.store.Schedules(ctx, store.ScheduleQuery{Tenant: callerOf(ctx).tenant()})
	if err != nil {
		return nil, err
	}
	out := &struct{ Body ScheduleList }{ScheduleList{Schedules: []Schedule{}}}
	for i := range list {
		view, err := a.newSchedule(&list[i])
		if err != nil {
			return nil, err
		}
		out.Body.Schedules = append(out.Body.Schedules, view)
	}
	return out, nil
}
