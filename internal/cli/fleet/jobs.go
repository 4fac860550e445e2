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
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/store"
	"headway/store/postgres"
)

// jobs is a fleet as the commands see it that take a store or a server. Both fail
// alike.
type jobs interface {
	submit(ctx context.Context, r jobspec.Request, s *config.Settings) (job.ID, error)
	list(ctx context.Context) ([]answer.Job, error)
	job(ctx context.Context, id job.ID) (answer.Job, error)
	limits(ctx context.Context, id job.ID) (answer.JobLimits, error)
	// order moves a job that may be moved to another state.
	order(ctx context.Context, j *answer.Job, what string, to job.State) error
	extend(ctx context.Context, j *answer.Job, to store.Extension) error
	setPace(ctx context.Context, j *answer.Job, pace time.Duration) error
	why(ctx context.Context, id job.ID, url string) (*answer.Why, error)
	// hosts, slow and plan write warnings to errs.
	hosts(ctx context.Context, id job.ID, q answer.HostQuery, errs io.Writer) (*answer.Hosts, error)
	slow(ctx context.Context, id job.ID, errs io.Writer) (*answer.Slow, error)
	plan(ctx context.Context, id job.ID, errs io.Writer) (*answer.Plan, error)
	hostLists
	Close() error
}

// notDry is the failure of asking for the plan of a job that is a crawl.
func notDry(id job.ID) error {
	return command.Usage(fmt.Errorf("job %d is a crawl, not a dry run", id), "headway job submit --dry-run creates a dry run")
}

// withJobs opens a fleet for one command: the one that a flag names before the one
// that the environment does, a server before a store.
func withJobs(cmd *cobra.Command, do func(ctx context.Context, s *config.Settings, f jobs) error) error {
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return command.Usage(err, command.HintOf(err))
	}
	byStore, byServer := cmd.Flags().Changed("store"), cmd.Flags().Changed("server")
	var f jobs
	switch {
	case byStore && byServer:
		return command.Usage(errors.New("--store and --server cannot be used together"), "use --store for the fleet's PostgreSQL, or --server for a headway serve")
	case settings.Server != "" && !byStore:
		f, err = openServer(settings)
	case settings.Fleet.Store == "":
		return command.Usage(errors.New("no fleet given: --server or --store is required"), "set --server (HEADWAY_SERVER) to the URL of a headway serve, or --store (HEADWAY_FLEET_STORE) to the fleet's PostgreSQL")
	default:
		var fleet jobsOfStore
		fleet.cmd = cmd
		fleet.Store, err = openFleet(cmd.Context(), settings, postgres.Config{})
		f = &fleet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return do(cmd.Context(), settings, f)
}

// withJob is [withJobs] for a command about one job, which it finds.
func withJob(cmd *cobra.Command, arg string, do func(ctx context.Context, f jobs, j *answer.Job) error) error {
	return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
		id, err := jobNumber(arg)
		if err != nil {
			return err
		}
		j, err := f.job(ctx, id)
		if err != nil {
			return err
		}
		return do(ctx, f, &j)
	})
}
