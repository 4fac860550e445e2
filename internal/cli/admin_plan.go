package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/config"
	"headway/internal/figures"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

func adminPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "What the tenants of a fleet may ask for",
	}
	cmd.AddCommand(adminPlanListCommand(), adminPlanSetCommand())
	return cmd
}

// planRow is a plan as it is told.
type planRow struct {
	Plan       string       `json:"plan"`
	Limits     limit.Limits `json:"limits"`
	MonthPages int64        `json:"month_pages,omitempty"`
	MonthBytes int64        `json:"month_bytes,omitempty"`
}

func planRowOf(p store.Plan) planRow {
	return planRow{p.Name, p.Limits, p.MonthPages, p.MonthBytes}
}

func adminPlanListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plans",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				plans, err := st.Plans(ctx)
				if err != nil {
					return failed(err, "")
				}
				rows := []planRow{}
				for _, p := range plans {
					rows = append(rows, planRowOf(p))
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"plans": rows})
				}
				return printPlans(cmd.OutOrStdout(), rows)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printPlans(w io.Writer, rows []planRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no plans; headway admin plan set makes one")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "PLAN\tPAGES A MONTH\tBYTES A MONTH\tOF A CRAWL")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", oneLine(r.Plan), orUnlimited(r.MonthPages, figures.Count), orUnlimited(r.MonthBytes, figures.Size), ofCrawl(r.Limits))
	}
	return tab.Flush()
}

// orUnlimited writes an amount; 0 is no limit.
func orUnlimited(n int64, write func(int64) string) string {
	if n == 0 {
		return "no limit"
	}
	return write(n)
}

// ofCrawl lists the limits of a plan.
func ofCrawl(l limit.Limits) string {
	var list []string
	for _, c := range limit.Resolve(limit.Layer{Level: limit.Plan, Limits: l}).Ceilings() {
		list = append(list, strings.TrimSuffix(c.String(), " (plan)"))
	}
	if len(list) == 0 {
		return "no limit"
	}
	return strings.Join(list, ", ")
}

// planInWords is what a plan allows, for the log.
func planInWords(p store.Plan) string {
	return fmt.Sprintf("%s; in a month %d pages, %d bytes", ofCrawl(p.Limits), p.MonthPages, p.MonthBytes)
}

func adminPlanSetCommand() *cobra.Command {
	var asJSON bool
	var crawls, hosts, rate, pages int64
	var bytes string
	var retention time.Duration
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a plan or change it",
		Long: `Make a plan, or change what is named of one. A limit of 0 is none. What the
workers' configuration sets for safety no plan can raise. Jobs that have begun keep
the limits they began with.`,
		Example: `  headway admin plan set small --max-pages 500 --max-concurrent 2 --month-pages 10000
  headway admin plan set small --month-bytes 50GiB --max-requests-per-second 20`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				plans, err := st.Plans(ctx)
				if err != nil {
					return failed(err, "")
				}
				p, o := store.Plan{Name: args[0]}, store.Order{What: "set-plan", About: args[0]}
				if at := slices.IndexFunc(plans, func(x store.Plan) bool { return x.Name == args[0] }); at >= 0 {
					p = plans[at]
					o.Before = planInWords(p)
				}
				if err := config.ChangeLimits(cmd.Flags(), &p.Limits); err != nil {
					return usage(err, hintOf(err))
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
						return usage(fmt.Errorf("--month-bytes %w", err), "")
					}
				}
				if err := p.Check(); err != nil {
					return usage(err, "a limit of 0 is none")
				}
				o.After = planInWords(p)
				if err := ordered(ctx, st, o, func(ctx context.Context) error { return st.SetPlan(ctx, p) }); err != nil {
					return failed(err, "")
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), planRowOf(p))
				}
				return printPlans(cmd.OutOrStdout(), []planRow{planRowOf(p)})
			})
		},
	}
	config.RegisterPlan(cmd.Flags())
	cmd.Flags().Int64Var(&crawls, "max-concurrent", 0, "`jobs` of a tenant that run at once; 0 is no limit")
	cmd.Flags().Int64Var(&hosts, "max-hosts", 0, "`hosts` that a crawl may take up, those of its seeds first; 0 is no limit")
	cmd.Flags().Int64Var(&rate, "max-requests-per-second", 0, "`requests` a second of a tenant with all its jobs, over all workers; 0 is no limit")
	cmd.Flags().DurationVar(&retention, "retention", 0, "how long a service keeps the results of jobs that have ended; 0 is for ever")
	cmd.Flags().Int64Var(&pages, "month-pages", 0, "`pages` of a tenant in a month; 0 is no limit")
	cmd.Flags().StringVar(&bytes, "month-bytes", "", "`size` of bodies as sent of a tenant in a month; 0 is no limit")
	jsonFlag(cmd, &asJSON)
	return cmd
}
