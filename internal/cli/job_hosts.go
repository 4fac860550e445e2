package cli

import (
	"context"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/config"
)

func jobHostsCommand() *cobra.Command {
	var q answer.HostQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts JOB",
		Short: "Show how the hosts of a job stand: pace, what sets it, incidents, queue",
		Long: `Show each host of a job, as headway hosts does of a crawl on one machine: those
that workers have in memory as they say, the others as they are stored. Pace and
incidents are the host's, whatever job they come from. Sorting and filters are those
of headway hosts.`,
		Example: `  headway job hosts 7 --sort wait
  headway job hosts 7 --filter state=hold --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.Check(); err != nil {
				return usage(err, "headway hosts --help lists them")
			}
			return withJob(cmd, args[0], func(ctx context.Context, f jobs, j *answer.Job) error {
				hosts, err := f.hosts(ctx, j.Job, q, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), hosts)
				}
				return printHostList(cmd.OutOrStdout(), hosts)
			})
		},
	}
	hostQueryFlags(cmd, &q)
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
