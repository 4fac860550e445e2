package fleet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/humanize"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

func adminPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Manage plans: the limits and quotas of tenants",
	}
	cmd.AddCommand(adminPlanListCommand(), adminPlanSetCommand())
	return cmd
}

// planRow is a plan as it is told.
type planRow struct {
	ID         string       `json:"id"`
	Limits     limit.Fields `json:"limits"`
	MonthPages int64        `json:"month_pages,omitempty"`
	MonthBytes int64        `json:"month_bytes,omitempty"`
}

func planRowOf(p store.Plan) planRow {
	return planRow{p.Name, p.Limits.Fields(), p.MonthPages, p.MonthBytes}
}

func adminPlanListCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plans",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				plans, err := st.Plans(ctx)
				if err != nil {
					return command.Failed(err, "")
				}
				if asJSON {
					rows := []planRow{}
					for _, p := range plans {
						rows = append(rows, planRowOf(p))
					}
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"plans": rows})
				}
				return printPlans(cmd.OutOrStdout(), plans, wide)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func printPlans(w io.Writer, plans []store.Plan, wide bool) error {
	if len(plans) == 0 {
		_, err := fmt.Fprintln(w, "no plans; headway admin plan set creates one")
		return err
	}
	tab := command.NewTable("~PLAN", "PAGES PER MONTH", "BYTES PER MONTH", "~PER CRAWL")
	for i := range plans {
		p := &plans[i]
		tab.Add(command.OneLine(p.Name), orUnlimited(p.MonthPages, humanize.Count), orUnlimited(p.MonthBytes, humanize.Size), p.Limits.String())
	}
	return tab.Print(w, wide)
}

// orUnlimited writes an amount; 0 is no limit.
func orUnlimited(n int64, write func(int64) string) string {
	if n == 0 {
		return "no limit"
	}
	return write(n)
}

// planInWords is what a plan allows, for the log.
func planInWords(p store.Plan) string {
	return fmt.Sprintf("%s; in a month %d pages, %d bytes", p.Limits.String(), p.MonthPages, p.MonthBytes)
}

func adminPlanSetCommand() *cobra.Command {
	var asJSON, wide bool
	var crawls, hosts, rate, pages int64
	var bytes string
	var retention time.Duration
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Create or change a plan",
		Long: `Create a plan, or change the given limits of an existing one. A limit of 0
means no limit. A plan cannot exceed the fleet's safety limits. Jobs that have
started keep the limits they started with.`,
		Example: `  headway admin plan set small --max-pages 500 --max-concurrent 2
  headway admin plan set small --month-bytes 50GiB --max-requests-per-second 20`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				plans, err := st.Plans(ctx)
				if err != nil {
					return command.Failed(err, "")
				}
				p, o := store.Plan{Name: args[0]}, store.Order{What: "set-plan", About: args[0]}
				if at := slices.IndexFunc(plans, func(x store.Plan) bool { return x.Name == args[0] }); at >= 0 {
					p = plans[at]
					o.Before = planInWords(p)
				}
				if err := config.ChangeLimits(cmd.Flags(), &p.Limits); err != nil {
					return command.Usage(err, command.HintOf(err))
				}
				if cmd.Flags().Changed("max-concurrent") {
					p.Limits.ConcurrentCrawls = crawls
				}
				if cmd.Flags().Changed("max-hosts") {
					p.Limits.Hosts = hosts
				}
				if cmd.Flags().Changed("max-requests-per-second") {
					p.Limits.RequestsPerSecond = rate
				}
				if cmd.Flags().Changed("retention") {
					p.Limits.Retention = retention
				}
				if cmd.Flags().Changed("month-pages") {
					p.MonthPages = pages
				}
				if cmd.Flags().Changed("month-bytes") {
					if p.MonthBytes, err = config.ParseSize(bytes); err != nil {
						return command.Usage(fmt.Errorf("--month-bytes: %w", err), "")
					}
				}
				if err := p.Check(); err != nil {
					return command.Usage(err, "0 means no limit")
				}
				o.After = planInWords(p)
				if err := ordered(ctx, st, o, func(ctx context.Context) error { return st.SetPlan(ctx, p) }); err != nil {
					return command.Failed(err, "")
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), planRowOf(p))
				}
				return printPlans(cmd.OutOrStdout(), []store.Plan{p}, wide)
			})
		},
	}
	config.RegisterPlan(cmd.Flags())
	cmd.Flags().Int64Var(&crawls, "max-concurrent", 0, "maximum concurrent `jobs` per tenant; 0 means no limit")
	cmd.Flags().Int64Var(&hosts, "max-hosts", 0, "maximum `hosts` per crawl, counting the seeds' hosts first; 0 means no limit")
	cmd.Flags().Int64Var(&rate, "max-requests-per-second", 0, "maximum `requests` per second per tenant, over all its jobs; 0 means no limit")
	cmd.Flags().DurationVar(&retention, "retention", 0, "how long to keep the results of finished jobs; 0 means forever")
	cmd.Flags().Int64Var(&pages, "month-pages", 0, "monthly quota of `pages` per tenant; 0 means no limit")
	cmd.Flags().StringVar(&bytes, "month-bytes", "", "monthly quota of bytes per tenant, as a `size`; 0 means no limit")
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
