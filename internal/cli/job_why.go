package cli

import (
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
)

func jobWhyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why JOB URL",
		Short: "Show what happened to a URL of a job, and why",
		Long: `Show how a URL of a job ended and what decided it, as headway why does for a
local crawl. If the URL is waiting, the worker that owns its host reports what
for. For a finished job only stored records are used.`,
		Example: `  headway job why 7 https://example.com/cart
  headway job why 7 example.com/cart --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				w, err := f.why(ctx, j.Job, args[1])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), w)
				}
				printWhy(cmd.OutOrStdout(), w)
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
