package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/store"
	"headway/store/postgres"
)

// workerRow is a worker as the store knows it, and as it says itself.
type workerRow struct {
	ID        store.WorkerID `json:"id"`
	Name      string         `json:"name"`
	CreatedAt time.Time      `json:"created_at"` // when it joined
	Slots     int            `json:"slots"`
	Said      *ask.Worker    `json:"said,omitempty"` // missing where it does not answer
}

func adminWorkersCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers of a fleet and their status",
		Long: `List the workers of a fleet: start time, slots owned, last lease renewal,
requests in flight and open jobs. A worker that does not answer within two
seconds is busy, disconnected or dead; when its lease expires (--lease), other
workers take over its slots.`,
		Example: `  headway admin workers
  headway admin workers --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				rows, err := readWorkers(ctx, st)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"workers": rows})
				}
				return printWorkers(cmd.OutOrStdout(), rows, time.Now(), wide)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// readWorkers lists the workers, with the word of those that answer.
func readWorkers(ctx context.Context, st *postgres.Store) ([]workerRow, error) {
	list, err := st.Workers(ctx)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	said := map[store.WorkerID]*ask.Worker{}
	if len(list) > 0 {
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		a, err := ask.NewFleet(st).Ask(ctx, ask.Question{Kind: ask.KindWorkers})
		if err == nil { // else nobody says anything, which is shown
			for i := range a.Workers {
				said[a.Workers[i].ID] = &a.Workers[i]
			}
		}
	}
	rows := []workerRow{}
	for _, w := range list {
		rows = append(rows, workerRow{ID: w.ID, Name: w.Name, CreatedAt: w.JoinedAt, Slots: w.Slots, Said: said[w.ID]})
	}
	return rows, nil
}

// state says in a word what a worker does.
func (r *workerRow) state() string {
	switch {
	case r.Said == nil:
		return "no answer"
	case r.Said.Draining:
		return "draining"
	case r.Said.InFlight > 0:
		return "working"
	default:
		return "idle"
	}
}

func printWorkers(w io.Writer, rows []workerRow, now time.Time, wide bool) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no workers; headway worker starts one")
		return err
	}
	tab := command.NewTable("WORKER", "~NAME", "UP", "SLOTS", "RENEWED", "IN FLIGHT", "+HOSTS", "+JOBS", "STATE")
	for i := range rows {
		r := &rows[i]
		renewed, flight, hosts, jobs := "-", "-", "-", "-"
		if s := r.Said; s != nil {
			renewed, flight = command.RoundTime(s.Renewed.Duration())+" ago", fmt.Sprintf("%d of %d", s.InFlight, s.Most)
			hosts, jobs = fmt.Sprint(s.Hosts), fmt.Sprint(len(s.Jobs))
		}
		tab.Add(r.ID, command.OneLine(r.Name), age(now.Sub(r.CreatedAt)), r.Slots, renewed, flight, hosts, jobs, r.state())
	}
	return tab.Print(w, wide)
}

// age is a time in whole seconds.
func age(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
