package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
)

func adminOptOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "Manage the hosts that a fleet must not crawl",
		Long: `Manage the opt-out list of a fleet: hosts and domains that are not crawled for
any tenant. An entry covers the name and all its subdomains. Running workers
start no request to it from then on, not even for robots.txt; requests in
flight finish, and waiting URLs end as skipped: opted_out. Every change is
logged with its author.

For the opt-out list of your own crawls, use headway optout.`,
	}
	cmd.AddCommand(adminOptOutAddCommand(), adminOptOutListCommand(), adminOptOutRemoveCommand())
	return cmd
}

// optOutNames reads hosts as people name them.
func optOutNames(args []string) (names []string, err error) {
	for _, arg := range args {
		name, err := command.OptOutName(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func adminOptOutAddCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add HOST…",
		Short: "Add hosts or domains to the opt-out list",
		Long: `Add hosts or domains to the opt-out list. A URL adds its host. Entries that
already exist are left unchanged.`,
		Example: `  headway admin optout add example.com
  headway admin optout add shop.example.org --server http://127.0.0.1:8788 \
    --key-file operator.key`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := optOutNames(args)
			if err != nil {
				return err
			}
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				rows := []optOutRow{}
				for _, name := range names {
					row, err := f.optOut(ctx, name)
					if err != nil {
						return err
					}
					if rows = append(rows, row); !asJSON {
						fmt.Fprintf(cmd.OutOrStdout(), "%s is opted out since %s (added by %s)\n", row.Host, command.ShortTime(row.CreatedAt), command.OneLine(row.By))
					}
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"opt_outs": rows})
				}
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

func adminOptOutListCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the opt-outs of the fleet",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				rows, err := f.optOuts(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"opt_outs": rows})
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "no opt-outs; headway admin optout add adds a host")
					return err
				}
				tab := command.NewTable("~HOST", "SINCE", "~BY")
				for _, r := range rows {
					tab.Add(r.Host, command.ShortTime(r.CreatedAt), command.OneLine(r.By))
				}
				return tab.Print(cmd.OutOrStdout(), wide)
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func adminOptOutRemoveCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "remove HOST…",
		Short: "Remove hosts or domains from the opt-out list",
		Long: `Remove hosts or domains from the opt-out list. URLs already skipped stay
skipped; new jobs can crawl these hosts again.`,
		Example: `  headway admin optout remove example.com`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := optOutNames(args)
			if err != nil {
				return err
			}
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				for _, name := range names {
					if err := f.optIn(ctx, name); err != nil {
						return err
					}
					rest, err := f.optOuts(ctx)
					if err != nil {
						return command.Failed(fmt.Errorf("removed %s, but cannot read the opt-out list: %w", name, err), "headway admin optout list shows the list")
					}
					if asJSON {
						continue
					}
					still := ""
					for _, row := range rest {
						if strings.HasSuffix(name, "."+row.Host) {
							still = fmt.Sprintf("; still opted out, because %s is on the list", row.Host)
						}
					}
					fmt.Fprintf(cmd.OutOrStdout(), "removed %s%s\n", name, still)
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"removed": names})
				}
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}
