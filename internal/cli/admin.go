package cli

import "github.com/spf13/cobra"

func adminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Look after a fleet: its workers, who owns what, and for whom it works",
		Long: `Look after a fleet of headway worker. These commands speak to its PostgreSQL;
HEADWAY_FLEET_STORE saves repeating --store. Those about opt-outs and owned hosts
speak to a headway serve as well, with --server and a key of the scope operator.`,
	}
	cmd.AddCommand(adminWorkersCommand(), adminSlotsCommand(), adminDrainCommand())
	cmd.AddCommand(adminTenantCommand(), adminPlanCommand(), adminUsageCommand())
	cmd.AddCommand(adminKeyCommand(), adminOptOutCommand(), adminOwnedCommand())
	return cmd
}
