package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/humanize"
	"headway/store"
	"headway/store/postgres"
)

// slotsAnswer is who owns the slots of a fleet.
type slotsAnswer struct {
	Slots  int         `json:"slots"`
	Free   int         `json:"free"` // that nobody owns
	Owners []slotOwner `json:"owners"`
	List   []slotRow   `json:"list"` // by number
}

// slotOwner is how many slots a worker owns, and for how long.
type slotOwner struct {
	Worker  store.WorkerID `json:"worker"`
	Name    string         `json:"name"`
	Slots   int            `json:"slots"`
	Leaving int            `json:"leaving,omitempty"` // of them, those it is giving up
	Oldest  time.Time      `json:"oldest,omitzero"`   // since when it has the first and the last of them
	Newest  time.Time      `json:"newest,omitzero"`
	state   string
}

// slotRow is one slot.
type slotRow struct {
	ID     store.Slot     `json:"id"`
	Worker store.WorkerID `json:"worker,omitempty"`
	Since  time.Time      `json:"since,omitzero"`
	Fence  int64          `json:"fence"`
}

func adminSlotsCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "slots",
		Short: "Show which worker owns which slots",
		Long: `Show how the slots of a fleet are distributed over its workers: how many each
owns, since when, and how many it is releasing. A slot is a fixed part of all
domains, and the unit of ownership. Slots are briefly free while they move.
--json lists each slot.`,
		Example: `  headway admin slots
  headway admin slots --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				a, err := readSlots(ctx, st)
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), a)
				}
				return printSlots(cmd.OutOrStdout(), a, time.Now(), wide)
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

func readSlots(ctx context.Context, st *postgres.Store) (*slotsAnswer, error) {
	workers, err := readWorkers(ctx, st)
	if err != nil {
		return nil, err
	}
	list, err := st.Holdings(ctx)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	a := &slotsAnswer{Slots: len(list), Owners: make([]slotOwner, len(workers)), List: make([]slotRow, len(list))}
	place := map[store.WorkerID]*slotOwner{}
	for i := range workers {
		w := &workers[i]
		a.Owners[i] = slotOwner{Worker: w.ID, Name: w.Name, state: w.state()}
		if w.Said != nil {
			a.Owners[i].Leaving = w.Said.Leaving
		}
		place[w.ID] = &a.Owners[i]
	}
	for i, h := range list {
		a.List[i] = slotRow{ID: h.Slot, Worker: h.Owner, Since: h.Since, Fence: h.Fence}
		if h.Owner == 0 {
			a.Free++
			continue
		}
		o := place[h.Owner]
		if o == nil {
			continue // it has joined or left since the workers were read
		}
		if o.Slots++; o.Oldest.IsZero() || h.Since.Before(o.Oldest) {
			o.Oldest = h.Since
		}
		if h.Since.After(o.Newest) {
			o.Newest = h.Since
		}
	}
	return a, nil
}

func printSlots(w io.Writer, a *slotsAnswer, now time.Time, wide bool) error {
	tab := command.NewTable("WORKER", "~NAME", "SLOTS", "RELEASING", "OLDEST LEASE", "NEWEST LEASE", "STATE")
	for i := range a.Owners {
		o := &a.Owners[i]
		oldest, newest := "-", "-"
		if !o.Oldest.IsZero() {
			oldest, newest = age(now.Sub(o.Oldest)), age(now.Sub(o.Newest))
		}
		tab.Add(o.Worker, command.OneLine(o.Name), o.Slots, o.Leaving, oldest, newest, o.state)
	}
	if len(a.Owners) > 0 {
		if err := tab.Print(w, wide); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s of %s free\n", humanize.Count(int64(a.Free)), command.Plural(a.Slots, "slot"))
	return err
}
