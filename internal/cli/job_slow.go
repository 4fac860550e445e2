package cli

import (
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
)

func jobSlowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "slow JOB",
		Short: "Say what a job waits for, and what would make it faster",
		Long: `Say which layer takes the time of a job, as headway slow does of a crawl on one
machine. All workers are asked what the hosts of the job do now. Where host time went
so far is told for all jobs of a worker together, and not kept of a job that has
ended.`,
		Example: `  headway job slow 7
  headway job slow 7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				slow, err := f.slow(ctx, j.Job, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				return tellSlow(cmd, slow, asJSON)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
