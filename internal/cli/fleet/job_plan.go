package fleet

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/cli/crawl"
	"headway/internal/config"
)

func jobPlanCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "plan JOB",
		Short: "Show the result of a dry run",
		Long: `Show how a crawl would go, from a job submitted with --dry-run: what robots.txt
allows, what the sitemaps list, the pace of each host and what sets it, how
long it would take, and which limit would stop it. A dry run that is still
running shows what is known so far.`,
		Example: `  headway job submit https://example.com --dry-run
  headway job plan 7
  headway job plan 7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				plan, err := f.plan(ctx, j.ID, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if asJSON {
					err = command.PrintJSON(out, plan)
				} else if err = crawl.PrintPlan(out, plan, wide); err == nil {
					_, err = fmt.Fprintf(out, "\ndry run: %s, %s sent\n", j.State, command.Plural(plan.Sent, "request"))
				}
				if err != nil || !j.State.Ended() { // it may come to something yet
					return err
				}
				return crawl.PlanExit(plan)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
