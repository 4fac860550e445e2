package fleet

import "github.com/spf13/cobra"

// AdminCommand builds `headway admin`.
func AdminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Manage a fleet: workers, safety limits, tenants, plans and keys",
		Long: `Manage a fleet of headway workers. These commands connect to the fleet's
PostgreSQL (--store, or HEADWAY_FLEET_STORE). The commands for opt-outs and
owned hosts can also use a headway serve, with --server and a key of scope
operator.`,
	}
	cmd.AddCommand(adminWorkersCommand(), adminSlotsCommand(), adminDrainCommand())
	cmd.AddCommand(adminTenantCommand(), adminPlanCommand(), adminUsageCommand(), adminSafetyCommand())
	cmd.AddCommand(adminKeyCommand(), adminOptOutCommand(), adminOwnedCommand())
	return cmd
}
