package fleet

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
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
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
		return 0, command.Usage(err, command.HintOf(err))
	}
	j, err := r.Job(s)
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return 0, command.Usage(bad.Err, bad.Hint)
	}
	if err != nil {
		return 0, command.Failed(err, "")
	}
	if err := knownTenant(ctx, f, r.Tenant); err != nil {
		return 0, err
	}
	j.CreatedAt = time.Now().UTC()
	if !r.DryRun {
		err := jobspec.CheckQuota(ctx, f, j.CreatedAt, r.Tenant)
		if over, ok := errors.AsType[*jobspec.QuotaError](err); ok {
			return 0, command.Failed(over, over.Hint())
		}
		if err != nil {
			return 0, command.Failed(err, "")
		}
	}
	id, err := f.CreateJob(ctx, j)
	if err != nil {
		return 0, command.Failed(err, "")
	}
	return id, nil
}

func (f *jobsOfStore) list(ctx context.Context) ([]answer.Job, error) {
	rows := []answer.Job{}
	for after := job.ID(0); ; {
		list, err := f.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return nil, command.Failed(err, "")
		}
		page, err := answer.ReadJobs(ctx, f, list)
		if err != nil {
			return nil, command.Failed(err, "")
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
		return row, command.Failed(err, "")
	}
	return row, nil
}

// noJob is the failure of naming a job that is not there.
func noJob(id job.ID) error {
	return command.Usage(fmt.Errorf("job not found: %d", id), "headway job list shows all jobs")
}

// stored reads a job as it is stored.
func (f *jobsOfStore) stored(ctx context.Context, id job.ID) (store.Job, error) {
	j, err := f.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return j, noJob(id)
	}
	if err != nil {
		return j, command.Failed(err, "")
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
		return l, command.Failed(err, "")
	}
	return l, nil
}

func (f *jobsOfStore) order(ctx context.Context, j *answer.Job, what string, to job.State) error {
	return f.ordered(ctx, j, what, string(j.State), string(to), func(ctx context.Context) error {
		return f.SetState(ctx, time.Now().UTC(), j.ID, j.State, to, "by an operator")
	})
}

func (f *jobsOfStore) extend(ctx context.Context, j *answer.Job, to store.Extension) error {
	before, err := f.stored(ctx, j.ID)
	if err != nil {
		return err
	}
	if err := f.ExtendLimits(ctx, time.Now().UTC(), j.ID, to); err != nil {
		return command.Usage(err, showHint(j.ID))
	}
	after, err := f.stored(ctx, j.ID)
	if err != nil {
		return err
	}
	return f.ordered(ctx, j, "extend", to.Describe(before.Limits()), to.Describe(after.Limits()), func(ctx context.Context) error {
		if j.State != job.Partial {
			return nil
		}
		return f.SetState(ctx, time.Now().UTC(), j.ID, job.Partial, job.Queued, "extended")
	})
}

func (f *jobsOfStore) setPace(ctx context.Context, j *answer.Job, pace time.Duration) error {
	return f.ordered(ctx, j, "set-pace", j.Delay.Duration().String(), pace.String(), func(ctx context.Context) error {
		return f.SetPace(ctx, time.Now().UTC(), j.ID, pace)
	})
}

// ordered does what a person ordered of a job, and logs it with the change.
func (f *jobsOfStore) ordered(ctx context.Context, j *answer.Job, what, before, after string, do func(context.Context) error) error {
	o := store.Order{What: what, Tenant: j.Tenant, Job: j.ID, Before: before, After: after}
	if err := ordered(ctx, f.Store, o, do); err != nil {
		return command.Failed(err, "try again; "+showHint(j.ID))
	}
	return nil
}

// past opens a job to look at it.
func (f *jobsOfStore) past(ctx context.Context, id job.ID) (*command.StoredCrawl, error) {
	j, err := f.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &command.StoredCrawl{View: f.Store, Asker: ask.NewFleet(f.Store), Job: j, Running: store.Active(j.State)}
	if p.Asked, err = jobAsked(f.cmd, j); err != nil {
		return nil, command.Failed(err, showHint(id))
	}
	p.First = p.Asked
	return p, nil
}

func (f *jobsOfStore) why(ctx context.Context, id job.ID, url string) (*answer.Why, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	return whyJob(ctx, p, f, url)
}

func (f *jobsOfStore) hosts(ctx context.Context, id job.ID, q answer.HostQuery, errs io.Writer) (*answer.Hosts, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	hosts, err := p.Crawl(errs).Hosts(ctx, q, time.Now().UTC())
	if err != nil {
		return nil, command.Failed(err, showHint(id))
	}
	return hosts, nil
}

func (f *jobsOfStore) slow(ctx context.Context, id job.ID, errs io.Writer) (*answer.Slow, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	slow, err := p.Crawl(errs).Slow(ctx)
	if err != nil {
		return nil, command.Failed(err, showHint(id))
	}
	return &slow, nil
}

func (f *jobsOfStore) plan(ctx context.Context, id job.ID, errs io.Writer) (*answer.Plan, error) {
	p, err := f.past(ctx, id)
	if err != nil {
		return nil, err
	}
	spec, err := jobspec.Read(p.Job.Spec)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	if !spec.DryRun {
		return nil, notDry(id)
	}
	plan, err := p.Crawl(errs).Plan(ctx, time.Now().UTC())
	if err != nil {
		return nil, command.Failed(err, showHint(id))
	}
	return &plan, nil
}

// jobAsked is what a job of a fleet was asked for, with the settings of this
// process where the job says nothing, as its workers take theirs.
func jobAsked(cmd *cobra.Command, j store.Job) (answer.CrawlSpec, error) {
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	s, err := config.LoadJob(cmd.Flags(), os.Environ(), spec.Settings)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	return spec.Asked(s, &j)
}
