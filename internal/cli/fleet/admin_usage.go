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
	"headway/store"
	"headway/store/postgres"
)

// usageRow is what a tenant used in a month, as it is told.
type usageRow struct {
	Tenant     string `json:"tenant"`
	Plan       string `json:"plan,omitempty"`
	Month      string `json:"month"`
	Pages      int64  `json:"pages"`
	MonthPages int64  `json:"month_pages,omitempty"`
	Bytes      int64  `json:"bytes"`
	MonthBytes int64  `json:"month_bytes,omitempty"`
}

func adminUsageCommand() *cobra.Command {
	var asJSON, wide bool
	var when string
	cmd := &cobra.Command{
		Use:   "usage [TENANT]",
		Short: "Show the monthly usage of tenants",
		Long: `Show what tenants used in a month (UTC): pages, as page limits count them, and
bytes downloaded, before decompression and including failed attempts. Usage is
recorded in the same transaction as the pages, so the numbers are exact.`,
		Example: `  headway admin usage
  headway admin usage acme --month 2026-10 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			month := store.MonthOf(time.Now())
			if when != "" {
				var err error
				if month, err = store.ParseMonth(when); err != nil {
					return command.Usage(err, "--month takes a year and month, for example 2026-11")
				}
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				rows, err := readUsage(ctx, st, month)
				if err != nil {
					return command.Failed(err, "")
				}
				if len(args) > 0 {
					rows = slices.DeleteFunc(rows, func(r usageRow) bool { return r.Tenant != args[0] })
					if len(rows) == 0 {
						return command.Usage(fmt.Errorf("tenant not found: %q", args[0]), "headway admin tenant list shows all tenants")
					}
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"usage": rows})
				}
				return printUsage(cmd.OutOrStdout(), rows, wide)
			})
		},
	}
	cmd.Flags().StringVar(&when, "month", "", "`month` to show, for example 2026-11 (default: the current month)")
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// readUsage lists all tenants with what they used.
func readUsage(ctx context.Context, st store.Tenants, month store.Month) ([]usageRow, error) {
	tenants, err := st.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := st.Plans(ctx)
	if err != nil {
		return nil, err
	}
	used, err := st.Usage(ctx, month)
	if err != nil {
		return nil, err
	}
	rows := []usageRow{}
	for _, t := range tenants {
		row := usageRow{Tenant: t.Name, Plan: t.Plan, Month: month.String()}
		for _, p := range plans {
			if p.Name == t.Plan {
				row.MonthPages, row.MonthBytes = p.MonthPages, p.MonthBytes
			}
		}
		for _, u := range used {
			if u.Tenant == t.Name {
				row.Pages, row.Bytes = u.Pages, u.Bytes
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func printUsage(w io.Writer, rows []usageRow, wide bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no tenants; headway admin tenant set creates one")
		return err
	}
	tab := command.NewTable("~TENANT", "MONTH", "PAGES", "OF", "BYTES", "OF")
	for i := range rows {
		r := &rows[i]
		tab.Add(command.OneLine(r.Tenant), r.Month, humanize.Count(r.Pages), orUnlimited(r.MonthPages, humanize.Count), humanize.Size(r.Bytes), orUnlimited(r.MonthBytes, humanize.Size))
	}
	return tab.Print(w, wide)
}
