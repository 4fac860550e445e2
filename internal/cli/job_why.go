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
		Short: "Tell how a URL of a job ended, or why it is missing",
		Long: `Tell how a URL of a job ended and what decided it, as headway why does of a crawl
on one machine. Of a URL that waits, the worker that owns its host is asked what for.
Of a job that has ended nobody is asked.`,
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
