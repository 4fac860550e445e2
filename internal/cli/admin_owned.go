package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/internal/config"
)

func adminOwnedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "owned",
		Short: "Say which hosts are a tenant's own",
		Long: `Hosts that are known to be a tenant's own: only there its jobs may ask for the
presets owned and warm, or for a pace below 200 ms. Tenants prove it themselves by the
API; an operator may say so in their place. Every change is logged with who made it.

A host is scheme, name and port; a name alone means https.`,
	}
	cmd.AddCommand(adminOwnedListCommand(),
		adminOwnedChange("grant HOST…", "Say that hosts are a tenant's own, without a check", "headway admin owned grant example.com --tenant acme",
			func(ctx context.Context, f jobs, tenant, host string) (string, error) {
				row, err := f.grant(ctx, tenant, host)
				return fmt.Sprintf("%s is owned by %s, since %s by %s", row.Host, tenant, shortTime(row.OwnedAt), row.Proof), err
			}),
		adminOwnedChange("drop HOST…", "Say that hosts are no longer a tenant's own; jobs that run go on as they began", "headway admin owned drop example.com --tenant acme",
			func(ctx context.Context, f jobs, tenant, host string) (string, error) {
				return fmt.Sprintf("%s is no longer owned by %s", host, tenant), f.disown(ctx, tenant, host)
			}),
	)
	return cmd
}

// ownerFlag names the tenant that a command is about.
func ownerFlag(cmd *cobra.Command, tenant *string) {
	cmd.Flags().StringVar(tenant, "tenant", "", "`whose` they are")
	config.RegisterClient(cmd.Flags())
}

// forOwner is withJobs for a command about the hosts of a tenant.
func forOwner(cmd *cobra.Command, tenant string, do func(ctx context.Context, f jobs) error) error {
	if tenant == "" {
		return usage(errors.New("no tenant"), "--tenant says whose the hosts are; headway admin tenant list names them")
	}
	return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error { return do(ctx, f) })
}

// adminOwnedChange is a command that changes what is known of hosts, and prints what
// do says of each.
func adminOwnedChange(use, short, example string, do func(ctx context.Context, f jobs, tenant, host string) (string, error)) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use: use + " --tenant NAME", Short: short, Example: "  " + example, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var hosts []string
			for _, arg := range args {
				named, err := hostsNamed(arg)
				if err != nil {
					return err
				}
				hosts = append(hosts, named[0])
			}
			return forOwner(cmd, tenant, func(ctx context.Context, f jobs) error {
				for _, host := range hosts {
					said, err := do(ctx, f, tenant, host)
					if err != nil {
						return err
					}
					fmt.Fprintln(cmd.OutOrStdout(), oneLine(said))
				}
				return nil
			})
		},
	}
	ownerFlag(cmd, &tenant)
	return cmd
}

func adminOwnedListCommand() *cobra.Command {
	var tenant string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list --tenant NAME",
		Short:   "List the hosts that a tenant says are its own, and how that is known",
		Example: `  headway admin owned list --tenant acme`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return forOwner(cmd, tenant, func(ctx context.Context, f jobs) error {
				rows, err := f.owned(ctx, tenant)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"owned_hosts": rows})
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "no hosts of %s; headway admin owned grant adds one\n", oneLine(tenant))
					return err
				}
				tab := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(tab, "HOST\tOWNED\tSINCE\tASKED")
				for _, r := range rows {
					owned := "not proven"
					if r.Owned {
						owned = "by " + string(r.Proof)
					}
					fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", r.Host, owned, shortTime(r.OwnedAt), shortTime(r.AskedAt))
				}
				return tab.Flush()
			})
		},
	}
	ownerFlag(cmd, &tenant)
	jsonFlag(cmd, &asJSON)
	return cmd
}
