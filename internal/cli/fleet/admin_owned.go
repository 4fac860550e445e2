package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
)

func adminOwnedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "owned",
		Short: "Manage the hosts that tenants own",
		Long: `Manage the hosts that tenants own. Only there can a tenant's jobs use the
presets owned and warm, or a pace below 200 ms. Tenants verify their hosts
through the API; an operator can do so for them here. Every change is logged
with its author.

A host is scheme, name and port; a name alone means https.`,
	}
	cmd.AddCommand(adminOwnedListCommand(),
		adminOwnedChange("grant HOST…", "Mark hosts as owned by a tenant, without verification", "headway admin owned grant example.com --tenant acme",
			func(ctx context.Context, f jobs, tenant, host string) (string, error) {
				row, err := f.grant(ctx, tenant, host)
				return fmt.Sprintf("%s is owned by %s since %s (proof: %s)", row.Host, tenant, command.ShortTime(row.OwnedAt), row.Proof), err
			}),
		adminOwnedChange("drop HOST…", "Remove hosts from a tenant; running jobs are not affected", "headway admin owned drop example.com --tenant acme",
			func(ctx context.Context, f jobs, tenant, host string) (string, error) {
				return fmt.Sprintf("%s is no longer owned by %s", host, tenant), f.disown(ctx, tenant, host)
			}),
	)
	return cmd
}

// ownerFlag names the tenant that a command is about.
func ownerFlag(cmd *cobra.Command, tenant *string) {
	cmd.Flags().StringVar(tenant, "tenant", "", "`tenant` that owns the hosts")
	config.RegisterClient(cmd.Flags())
}

// forOwner is withJobs for a command about the hosts of a tenant.
func forOwner(cmd *cobra.Command, tenant string, do func(ctx context.Context, f jobs) error) error {
	if tenant == "" {
		return command.Usage(errors.New("--tenant is required"), "name the tenant that owns the hosts; headway admin tenant list shows all tenants")
	}
	return withJobs(cmd, func(ctx context.Context, _ *config.Settings, f jobs) error { return do(ctx, f) })
}

// adminOwnedChange is a command that changes what is known of hosts, and prints what
// do says of each.
func adminOwnedChange(use, short, example string, do func(ctx context.Context, f jobs, tenant, host string) (string, error)) *cobra.Command {
	var tenant string
	var asJSON bool
	cmd := &cobra.Command{
		Use: use + " --tenant NAME", Short: short, Example: "  " + example, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var hosts []string
			for _, arg := range args {
				named, err := command.HostsNamed(arg)
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
					if !asJSON {
						fmt.Fprintln(cmd.OutOrStdout(), command.OneLine(said))
					}
				}
				if !asJSON {
					return nil
				}
				rows, err := f.owned(ctx, tenant)
				if err != nil {
					return err
				}
				return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"owned_hosts": rows})
			})
		},
	}
	ownerFlag(cmd, &tenant)
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

func adminOwnedListCommand() *cobra.Command {
	var tenant string
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:     "list --tenant NAME",
		Short:   "List the hosts that a tenant claims, and how each was verified",
		Example: `  headway admin owned list --tenant acme`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return forOwner(cmd, tenant, func(ctx context.Context, f jobs) error {
				rows, err := f.owned(ctx, tenant)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"owned_hosts": rows})
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s owns no hosts; headway admin owned grant adds one\n", command.OneLine(tenant))
					return err
				}
				tab := command.NewTable("~HOST", "OWNED", "SINCE", "ASKED")
				for _, r := range rows {
					owned := "not verified"
					if r.Owned {
						owned = "by " + string(r.Proof)
					}
					tab.Add(r.Host, owned, command.ShortTime(r.OwnedAt), command.ShortTime(r.CreatedAt))
				}
				return tab.Print(cmd.OutOrStdout(), wide)
			})
		},
	}
	ownerFlag(cmd, &tenant)
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
