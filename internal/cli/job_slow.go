package cli

import (
	"context"

	"github.com/spf13/cobra"

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
			return ofJob(cmd, args[0], func(_ context.Context, p *past) error {
				return p.printSlow(cmd, asJSON, "headway job show "+args[0]+" tells how the job stands")
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
