package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
)

// jobPaceCommand slows a job down.
func jobPaceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set-pace JOB INTERVAL",
		Short: "Keep at least an interval between requests to the hosts of a job; 0 lifts it",
		Long: `Slow one job down, from the next request on and whoever works on it later. It never
makes a job faster than it was asked for, and other jobs keep their pace on hosts
that this one does not crawl.`,
		Example: "  headway job set-pace 7 5s\n  headway job set-pace 7 0",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			pace, err := interval(args[1])
			if err != nil {
				return err
			}
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if err := f.setPace(ctx, j, pace); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "job %d: at least %s between requests to a host, was %s\n", j.Job, pace, time.Duration(j.PaceMS)*time.Millisecond)
				return err
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	return cmd
}
