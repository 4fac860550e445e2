package fleet

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
)

// jobPaceCommand slows a job down.
func jobPaceCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "set-pace JOB INTERVAL",
		Short: "Set a minimum request interval for a job; 0 removes it",
		Long: `Slow one job down: keep at least this interval between requests to each of its
hosts, from the next request on. It never makes a job faster than submitted.
Other jobs keep their pace on hosts that this job does not crawl.`,
		Example: "  headway job set-pace 7 5s\n  headway job set-pace 7 0",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			pace, err := command.Interval(args[1])
			if err != nil {
				return err
			}
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				if err := f.setPace(ctx, j, pace); err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"job": j.ID, "order": "set-pace", "before_seconds": j.Delay, "after_seconds": ask.Seconds(pace)})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "job %d: minimum interval between requests to one host is now %s, was %s\n", j.ID, pace, j.Delay.Duration())
				return err
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}
