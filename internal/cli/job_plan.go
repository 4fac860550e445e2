package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
)

func jobPlanCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan JOB",
		Short: "Say how a crawl would go, by a dry run of it",
		Long: `Say how a crawl would go, as headway plan does of a crawl on one machine, by what a
job found that was submitted with --dry-run: what robots.txt allows, what the sitemaps
list, the pace of each host and what sets it, how long that takes, and which limit
would stop it. Of a dry run that has not ended it is what is known so far.`,
		Example: `  headway job submit https://example.com --dry-run
  headway job plan 7
  headway job plan 7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				plan, err := f.plan(ctx, j.Job, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if asJSON {
					err = printJSON(out, plan)
				} else if err = printPlan(out, plan); err == nil {
					_, err = fmt.Fprintf(out, "\nthe dry run is %s and took %s\n", j.State, plural(plan.Sent, "request"))
				}
				if err != nil || !j.State.Ended() { // it may come to something yet
					return err
				}
				return planExit(plan)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
