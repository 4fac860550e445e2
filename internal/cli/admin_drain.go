package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"headway/ask"
	"headway/internal/config"
	"headway/store"
	"headway/store/postgres"
)

// Times of draining a worker.
const (
	drainTime  = 20 * time.Second // a worker has left by then
	drainEvery = 250 * time.Millisecond
)

// drained is a worker that was told to leave.
type drained struct {
	*ask.Change
	Left bool       `json:"left"` // it has, by now
	Took ask.Millis `json:"took_ms"`
}

func adminDrainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "drain WORKER",
		Short: "Let a worker finish what is in flight, hand its hosts over and end",
		Long: `Tell a worker to leave, as SIGTERM does where it runs: it finishes what is in
flight, hands its hosts over and ends with 0, within 20 seconds. The command waits
for that.` + exitHelp(ExitOK, ExitUsage, ExitFailed),
		Example: `  headway admin workers
  headway admin drain 3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return usage(fmt.Errorf("%q is no number of a worker", args[0]), "headway admin workers names them")
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				d, err := drainWorker(ctx, st, store.WorkerID(n))
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), d)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "worker %d has left after %s\n", n, roundTime(d.Took.Duration()))
				return err
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

// drainWorker tells a worker to leave, and waits until it has.
func drainWorker(ctx context.Context, st *postgres.Store, id store.WorkerID) (*drained, error) {
	is := func(w store.Worker) bool { return w.ID == id }
	list, err := st.Workers(ctx)
	if err != nil {
		return nil, failed(err, "")
	}
	if !slices.ContainsFunc(list, is) {
		return nil, usage(fmt.Errorf("there is no worker %d", id), "headway admin workers names them")
	}
	began := time.Now()
	a, err := askFleet(ctx, st, ask.Question{Kind: ask.KindDrain, Worker: id, By: userName()}, patient)
	if err != nil {
		return nil, err
	}
	for time.Since(began) < drainTime {
		list, err := st.Workers(ctx)
		if err != nil {
			return nil, failed(err, "headway admin workers tells whether it has left")
		}
		if !slices.ContainsFunc(list, is) {
			return &drained{a.Change, true, ask.Millis(time.Since(began))}, nil
		}
		select {
		case <-ctx.Done():
			return nil, failed(ctx.Err(), "headway admin workers tells whether it has left")
		case <-time.After(drainEvery):
		}
	}
	return nil, failed(fmt.Errorf("worker %d has not left after %v", id, drainTime), "headway admin workers tells what it does")
}
