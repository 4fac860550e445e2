package fleet

import (
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/cli/inspect"
	"headway/internal/config"
)

func jobHostsCommand() *cobra.Command {
	var q answer.HostQuery
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "hosts JOB",
		Short: "Show pace, incidents and queue of each host of a job",
		Long: `Show each host of a job, as headway hosts does for a local crawl. Workers
report the hosts they have in memory; the others are read from the store. Pace
and incidents belong to the host, not to the job. For --sort and --filter see
headway hosts --help.`,
		Example: `  headway job hosts 7 --sort wait
  headway job hosts 7 --filter state=hold --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.Check(); err != nil {
				return command.Usage(err, "see headway hosts --help for sort orders and filters")
			}
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				hosts, err := f.hosts(ctx, j.ID, q, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), hosts)
				}
				return inspect.PrintHosts(cmd.OutOrStdout(), hosts, wide)
			})
		},
	}
	inspect.HostQueryFlags(cmd, &q)
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
