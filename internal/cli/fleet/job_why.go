package fleet

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/cli/inspect"
	"headway/internal/config"
	"headway/store"
	"headway/weburl"
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
				w, err := f.why(ctx, j.ID, args[1])
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), w)
				}
				inspect.PrintWhy(cmd.OutOrStdout(), w)
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// whyJob answers for a URL of a job of a fleet, which has a list of opt-outs beside
// the files of its workers.
func whyJob(ctx context.Context, p *command.StoredCrawl, list store.OptOuts, text string) (*answer.Why, error) {
	readings, err := command.ReadURL(text)
	if err != nil {
		return nil, err
	}
	byFile, err := command.OptOutRule()
	if err != nil {
		return nil, err
	}
	byList, err := list.CoveringOptOut(ctx, readings[0].URL.Hostname())
	if err != nil {
		return nil, command.Failed(err, "")
	}
	q := answer.WhyQuestion{Store: p.View, Job: p.Job, Spec: p.Asked}
	q.OptedOut = func(u weburl.URL) string { return cmp.Or(byList, byFile(u)) }
	if p.Running {
		q.Running = inspect.RunningURL(p.Asker, p.Job.ID)
	}
	return inspect.ExplainURL(ctx, q, text, readings)
}
