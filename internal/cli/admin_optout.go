package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/internal/config"
)

func adminOptOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "Keep a whole fleet from those who asked not to be crawled",
		Long: `Keep the list of hosts and domains that a fleet does not crawl, for any tenant. A
name stands for itself and all names below it. Workers that run begin no request there
from a moment after the answer on, not even for robots.txt; requests under way finish,
and what waits there ends as skipped: opted_out. Every change is logged with who made it.

The list of a single user's own crawls is headway optout.`,
	}
	cmd.AddCommand(adminOptOutAddCommand(), adminOptOutListCommand(), adminOptOutRemoveCommand())
	return cmd
}

// optOutNames reads hosts as people name them.
func optOutNames(args []string) (names []string, err error) {
	for _, arg := range args {
		name, err := optOutName(arg)
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
		Short: "Never crawl hosts or domains again, from now on",
		Long: `Put hosts or domains on the list; a URL stands for its host. One that is there
already stays as it is.`,
		Example: `  headway admin optout add example.com
  headway admin optout add https://shop.example.org/page --server http://127.0.0.1:8788 --key-file operator`,
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
						fmt.Fprintf(cmd.OutOrStdout(), "%s is not crawled: on the list since %s, by %s\n", row.Host, shortTime(row.At), oneLine(row.By))
					}
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"opt_outs": rows})
				}
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func adminOptOutListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the list",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error {
				rows, err := f.optOuts(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"opt_outs": rows})
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "nobody is on the list; headway admin optout add puts a host there")
					return err
				}
				tab := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(tab, "HOST\tSINCE\tBY")
				for _, r := range rows {
					fmt.Fprintf(tab, "%s\t%s\t%s\n", r.Host, shortTime(r.At), oneLine(r.By))
				}
				return tab.Flush()
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func adminOptOutRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove HOST…",
		Short: "Take hosts or domains off the list",
		Long: `Take hosts or domains off the list. What was skipped stays so; jobs that are asked
for from now on may go there.`,
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
						return failed(fmt.Errorf("%s is off the list, which cannot be read any more: %w", name, err), "headway admin optout list shows it")
					}
					still := ""
					for _, row := range rest {
						if strings.HasSuffix(name, "."+row.Host) {
							still = fmt.Sprintf("; %s is on the list, and covers it still", row.Host)
						}
					}
					fmt.Fprintf(cmd.OutOrStdout(), "removed %s%s\n", name, still)
				}
				return nil
			})
		},
	}
	config.RegisterClient(cmd.Flags())
	return cmd
}
