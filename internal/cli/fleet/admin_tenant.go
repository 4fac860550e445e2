package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/store"
	"headway/store/postgres"
)

func adminTenantCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tenant",
		Short: "Manage tenants",
		Long: `Manage tenants. A tenant has a plan, and its usage is counted per month. Jobs
submitted without --tenant have neither.`,
	}
	cmd.AddCommand(adminTenantListCommand(), adminTenantSetCommand())
	return cmd
}

// tenantRow is a tenant as it is told.
type tenantRow struct {
	ID   string `json:"id"`
	Plan string `json:"plan,omitempty"`
}

func adminTenantListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tenants",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				tenants, err := st.Tenants(ctx)
				if err != nil {
					return command.Failed(err, "")
				}
				rows := []tenantRow{}
				for _, t := range tenants {
					rows = append(rows, tenantRow{t.Name, t.Plan})
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"tenants": rows})
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintln(cmd.OutOrStdout(), "no tenants; headway admin tenant set creates one")
					return err
				}
				tab := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(tab, "TENANT\tPLAN")
				for _, r := range rows {
					fmt.Fprintf(tab, "%s\t%s\n", command.OneLine(r.ID), command.OneLine(cmp.Or(r.Plan, "none")))
				}
				return tab.Flush()
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// findTenant is where a list has a tenant, or less than 0.
func findTenant(list []store.Tenant, name string) int {
	return slices.IndexFunc(list, func(t store.Tenant) bool { return t.Name == name })
}

func adminTenantSetCommand() *cobra.Command {
	var plan string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Create a tenant or change its plan",
		Long: `Create a tenant, or change the plan of an existing one. Without --plan a new
tenant has no plan, so that only the safety limits apply, and an existing one
keeps its plan.`,
		Example: `  headway admin tenant set acme --plan small`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				t := store.Tenant{Name: args[0], Plan: plan}
				if err := t.Check(); err != nil {
					return command.Usage(err, "give the tenant a name; headway admin tenant list shows existing ones")
				}
				o := store.Order{What: "set-tenant", Tenant: t.Name}
				list, err := st.Tenants(ctx)
				if at := findTenant(list, t.Name); at >= 0 {
					o.Before = "plan " + cmp.Or(list[at].Plan, "none")
					if !cmd.Flags().Changed("plan") {
						t.Plan = list[at].Plan
					}
				}
				o.After = "plan " + cmp.Or(t.Plan, "none")
				if err == nil {
					err = ordered(ctx, st, o, func(ctx context.Context) error { return st.SetTenant(ctx, t) })
				}
				if errors.Is(err, store.ErrNotFound) {
					return command.Usage(fmt.Errorf("plan not found: %q", plan), "headway admin plan list shows all plans")
				}
				if err != nil {
					return command.Failed(err, "")
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), tenantRow{t.Name, t.Plan})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "tenant %s has plan %s\n", command.OneLine(t.Name), command.OneLine(cmp.Or(t.Plan, "none")))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&plan, "plan", "", "`name` of the plan; empty removes the plan")
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}
