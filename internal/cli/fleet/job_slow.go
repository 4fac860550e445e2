package fleet

import (
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/cli/inspect"
	"headway/internal/config"
)

func jobSlowCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "slow JOB",
		Short: "Show what a job is waiting for, and what would speed it up",
		Long: `Show which layer takes the time of a job, as headway slow does for a local
crawl. All workers report what the hosts of the job are doing now. Time spent
so far is reported per worker for all jobs together, and is not kept for
finished jobs.`,
		Example: `  headway job slow 7
  headway job slow 7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				slow, err := f.slow(ctx, j.ID, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				return inspect.PrintSlow(cmd, slow, asJSON, wide)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
