package fleet

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/limit"
	"headway/store"
	"headway/store/postgres"
)

func adminSafetyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "safety",
		Short: "Manage the safety limits and other settings of the fleet",
	}
	cmd.AddCommand(adminSafetySetCommand(), adminSafetyShowCommand(), adminSafetyHistoryCommand())
	return cmd
}

// settingsRow is a version of the settings as it is shown.
type settingsRow struct {
	ID        int64        `json:"id"`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	By        string       `json:"by"`
	Safety    limit.Fields `json:"safety"`
	Lease     float64      `json:"lease_seconds"`
	CommitGap float64      `json:"commit_gap_seconds"`
}

func settingsRowOf(v store.SettingsVersion) settingsRow {
	return settingsRow{v.Version, v.At, v.By, v.Safety.Fields(), v.Lease.Seconds(), v.CommitGap.Seconds()}
}

// setAt is when a version was set, or "-" for that of a new database.
func setAt(v *store.SettingsVersion) string {
	if v.At.IsZero() {
		return "-"
	}
	return v.At.UTC().Format(time.RFC3339)
}

// errUnset says that the settings of the fleet were never set.
var errUnset = errors.New("the fleet has no safety limits, and no job starts")

// unsetHint says how to set them.
const unsetHint = "set them with headway admin safety set; without flags it sets 50 pages per crawl, one crawl at a time, 60 s"

func printSettings(w io.Writer, list []store.SettingsVersion, wide bool) error {
	tab := command.NewTable("VERSION", "~SET AT", "~BY", "~SAFETY", "LEASE", "COMMIT GAP")
	for i := range list {
		v := &list[i]
		tab.Add(strconv.FormatInt(v.Version, 10), setAt(v), command.OneLine(v.By), v.Safety.String(), v.Lease.String(), v.CommitGap.String())
	}
	return tab.Print(w, wide)
}

func adminSafetyShowCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the settings in force",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				v, err := st.FleetSettings(ctx)
				if err != nil {
					return command.Failed(err, "")
				}
				if v.Version == 0 {
					return command.Failed(errUnset, unsetHint)
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), settingsRowOf(v))
				}
				return printSettings(cmd.OutOrStdout(), []store.SettingsVersion{v}, wide)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func adminSafetyHistoryCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List all versions of the settings, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				list, err := st.SettingsHistory(ctx, 0, store.MaxPage)
				if err != nil {
					return command.Failed(err, "")
				}
				if asJSON {
					rows := []settingsRow{}
					for _, v := range list {
						rows = append(rows, settingsRowOf(v))
					}
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"versions": rows})
				}
				if len(list) == 0 {
					return command.Failed(errUnset, unsetHint)
				}
				return printSettings(cmd.OutOrStdout(), list, wide)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func adminSafetySetCommand() *cobra.Command {
	var asJSON, wide bool
	var crawls, hosts, rate int64
	var patience, lease, gap time.Duration
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change safety limits, lease or commit gap of the fleet",
		Long: `Change the given settings of the fleet; the others stay as they are. A limit
of 0 means no limit. No plan, job, API key below operator or worker can exceed
the safety limits. Workers and servers follow within 5 seconds, running jobs
too. Each change is a new version, recorded in the control log.

A new database starts with 50 pages per crawl, one crawl at a time, 60 s. In a
database with jobs of a version without these settings, no job starts until
they are set.`,
		Example: `  headway admin safety set --max-pages 500 --max-concurrent 4 --max-time 10m
  headway admin safety set --lease 20s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				v, err := st.FleetSettings(ctx)
				if err != nil {
					return command.Failed(err, "")
				}
				next := v.FleetSettings
				if v.Version == 0 {
					next = store.NewFleetSettings()
				}
				if err := config.ChangeLimits(cmd.Flags(), &next.Safety); err != nil {
					return command.Usage(err, command.HintOf(err))
				}
				for flag, set := range map[string]func(){
					"max-concurrent":          func() { next.Safety.ConcurrentCrawls = crawls },
					"max-hosts":               func() { next.Safety.Hosts = hosts },
					"max-requests-per-second": func() { next.Safety.RequestsPerSecond = rate },
					"patience":                func() { next.Safety.Patience = patience },
					"lease":                   func() { next.Lease = lease },
					"commit-gap":              func() { next.CommitGap = gap },
				} {
					if cmd.Flags().Changed(flag) {
						set()
					}
				}
				if err := next.Check(); err != nil {
					return command.Usage(err, "a limit of 0 means no limit")
				}
				if v.Version == 0 || next != v.FleetSettings {
					v, err = st.SetFleetSettings(ctx, time.Now().UTC(), command.UserName(), v.Version, next)
				}
				if errors.Is(err, store.ErrConflict) {
					return command.Failed(err, "somebody else changed them just now; headway admin safety show shows the settings")
				}
				if err != nil {
					return command.Failed(err, "")
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), settingsRowOf(v))
				}
				return printSettings(cmd.OutOrStdout(), []store.SettingsVersion{v}, wide)
			})
		},
	}
	config.RegisterPlan(cmd.Flags())
	fs := cmd.Flags()
	fs.Int64Var(&crawls, "max-concurrent", 0, "maximum `jobs` running at once in the fleet; 0 means no limit")
	fs.Int64Var(&hosts, "max-hosts", 0, "maximum `hosts` per crawl, counting the seeds' hosts first; 0 means no limit")
	fs.Int64Var(&rate, "max-requests-per-second", 0, "maximum `requests` per second per tenant, over all its jobs; 0 means no limit")
	fs.DurationVar(&patience, "patience", 0, "upper bound for the patience of jobs; 0 means none")
	fs.DurationVar(&lease, "lease", 0, "how long a worker keeps its hosts after its last heartbeat, 1s to 1h")
	fs.DurationVar(&gap, "commit-gap", 0, "minimum interval between two commits of a worker, up to 250ms")
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}
