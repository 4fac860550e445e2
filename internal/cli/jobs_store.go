package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

// jobsOfStore is a fleet by its store.
type jobsOfStore struct {
	*postgres.Store

	cmd *cobra.Command // whose settings count where a job says nothing
}

// showHint says where to look at a job.
func showHint(id job.ID) string {
	return fmt.Sprintf("headway job show %d shows its state", id)
}

func (f *jobsOfStore) submit(ctx context.Context, r jobspec.Request, _ *config.Settings) (job.ID, error) {
	s, err := config.LoadJob(f.cmd.Flags(), os.Environ(), r.Settings)
	if err != nil {
		return 0, usage(err, hintOf(err))
	}
	j, err := r.Job(s)
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return 0, usage(bad.Err, bad.Hint)
	}
	if err != nil {
		return 0, failed(err, "")
	}
	j.CreatedAt = time.Now().UTC()
	id, err := f.CreateJob(ctx, j)
	if err != nil {
		return 0, failed(err, "")
	}
	return id, nil
}

func (f *jobsOfStore) list(ctx context.Context) ([]answer.Job, error) {
	rows := []answer.Job{}
	for after := job.ID(0); ; {
		list, err := f.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return nil, failed(err, "")
		}
		page, err := answer.ReadJobs(ctx, f, list)
		if err != nil {
			return nil, failed(err, "")
		}
		if rows = append(rows, page...); len(list) < store.MaxPage {
			return rows, nil
		}
		after = list[len(list)-1].ID
	}
}

func (f *jobsOfStore) job(ctx context.Context, id job.ID) (answer.Job, error) {
	j, err := f.stored(ctx, id)
	if err != nil {
		return answer.Job{}, err
	}
	row, err := answer.ReadJob(ctx, f, &j)
	if err != nil {
		return row, failed(err, "")
	}
	return row, nil
}

// noJob is the failure of naming a job that is not there.
func noJob(id job.ID) error {
	return usage(fmt.Errorf("job not found: %d", id), "headway job list shows all jobs")
}

// stored reads a job as it is stored.
func (f *jobsOfStore) stored(ctx context.Context, id job.ID) (store.Job, error) {
	j, err := f.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return j, noJob(id)
	}
	if err != nil {
		return j, failed(err, "")
	}
	return j, nil
}

func (f *jobsOfStore) limits(ctx context.Context, id job.ID) (answer.JobLimits, error) {
	j, err := f.stored(ctx, id)
	if err != nil {
		return answer.JobLimits{}, err
	}
	l, err := answer.ReadJobLimits(ctx, f, &j)
	if err != nil {
		return l, failed(err, "")
	}
	return l, nil
}

func (f *jobsOfStore) order(ctx context.Context, j *answer.Job, what string, to job.State) error {
	return f.ordered(ctx, j, what, string(j.State), string(to), func(ctx context.Context) error {
		return f.SetState(ctx, time.Now().UTC(), j.Job, j.State, to, "by an operator")
	})
}

func (f *jobsOfStore) extend(ctx context.Context, j *answer.Job, pages int64) error {
	before, err := f.stored(ctx, j.Job)
	if err != nil {
		return err
	}
	if err := f.Extend(ctx, time.Now().UTC(), j.Job, pages); err != nil {
		return usage(err, showHint(j.Job))
	}
	after, err := f.stored(ctx, j.Job)
	if err != nil {
		return err
	}
	return f.ordered(ctx, j, "extend", before.Limits().Of(limit.Pages).String(), after.Limits().Of(limit.Pages).String(), func(ctx context.Context) error {
		if j.State != job.Partial {
			return nil
		}
		return f.SetState(ctx, time.Now().UTC(), j.Job, job.Partial, job.Queued, "extended")
	})
}

func (f *jobsOfStore) setPace(ctx context.Context, j *answer.Job, pace time.Duration) error {
	return f.ordered(ctx, j, "set-pace", (time.Duration(j.PaceMS) * time.Millisecond).String(), pace.String(), func(ctx context.Context) error {
		return f.SetPace(ctx, time.Now().UTC(), j.Job, pace)
	})
}

// ordered does what a person ordered of a job, and logs it with the change.
func (f *jobsOfStore) ordered(ctx context.Context, j *answer.Job, what, before, after string, do func(context.Context) error) error {
	o := store.Order{What: what, Tenant: j.Tenant, Job: j.Job, Before: before, After: after}
	if err := ordered(ctx, f.Store, o, do); err != nil {
		return failed(err, "try again; "+showHint(j.Job))
	}
	return nil
}

// past opens a job to look at it.
func (f *jobsOfStore) past(ctx context.Context, id job.ID) (*past, error) {
	j, err := f.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &past{view: f.Store, asker: ask.NewFleet(f.Store), job: j, running: store.Active(j.State)}
	if p.asked, err = jobAsked(f.cmd, j); err != nil {
		return nil, failed(err, showHint(id))
	}
	p.first = p.asked
	return p, nil
}

func (f *jobsOfStore) why(ctx context.Context, id job.ID, url string) (*answer.Why, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.whyJob(ctx, f, url)
}

func (f *jobsOfStore) hosts(ctx context.Context, id job.ID, q answer.HostQuery, errs io.Writer) (*answer.Hosts, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	hosts, err := p.hosts(ctx, q, time.Now().UTC(), errs)
	if err != nil {
		return nil, failed(err, showHint(id))
	}
	return hosts, nil
}

func (f *jobsOfStore) slow(ctx context.Context, id job.ID, errs io.Writer) (*answer.Slow, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	slow, err := p.crawl(errs).Slow(ctx)
	if err != nil {
		return nil, failed(err, showHint(id))
	}
	return &slow, nil
}

func (f *jobsOfStore) plan(ctx context.Context, id job.ID, errs io.Writer) (*answer.Plan, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	spec, err := jobspec.Read(p.job.Spec)
	if err != nil {
		return nil, failed(err, "")
	}
	if !spec.DryRun {
		return nil, notDry(id)
	}
	plan, err := p.crawl(errs).Plan(ctx, time.Now().UTC())
	if err != nil {
		return nil, failed(err, showHint(id))
	}
	return &plan, nil
}
