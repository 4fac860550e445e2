package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"headway/ask"
	"headway/internal/cli/command"
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
	Left bool        `json:"left"` // it has, by now
	Took ask.Seconds `json:"took_seconds"`
}

func adminDrainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "drain WORKER",
		Short: "Shut a worker down gracefully",
		Long: `Shut a worker down gracefully, as SIGTERM does: it finishes the requests in
flight, hands its hosts over to other workers and exits with code 0 within 20
seconds. The command waits until it has.` + command.ExitHelp(command.ExitOK, command.ExitUsage, command.ExitFailed),
		Example: `  headway admin workers
  headway admin drain 3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return command.Usage(fmt.Errorf("invalid worker ID %q", args[0]), "headway admin workers lists the workers")
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				d, err := drainWorker(ctx, st, store.WorkerID(n))
				if err != nil {
					return err
				}
				if asJSON {
					return command.PrintJSON(cmd.OutOrStdout(), d)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "worker %d stopped after %s\n", n, command.RoundTime(d.Took.Duration()))
				return err
			})
		},
	}
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// drainWorker tells a worker to leave, and waits until it has.
func drainWorker(ctx context.Context, st *postgres.Store, id store.WorkerID) (*drained, error) {
	is := func(w store.Worker) bool { return w.ID == id }
	list, err := st.Workers(ctx)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	if !slices.ContainsFunc(list, is) {
		return nil, command.Usage(fmt.Errorf("worker not found: %d", id), "headway admin workers lists the workers")
	}
	began := time.Now()
	a, err := askFleet(ctx, st, ask.Question{Kind: ask.KindDrain, Worker: id, By: command.UserName()}, command.Patience)
	if err != nil {
		return nil, err
	}
	for time.Since(began) < drainTime {
		list, err := st.Workers(ctx)
		if err != nil {
			return nil, command.Failed(err, "headway admin workers shows whether it has stopped")
		}
		if !slices.ContainsFunc(list, is) {
			return &drained{a.Change, true, ask.Seconds(time.Since(began))}, nil
		}
		select {
		case <-ctx.Done():
			return nil, command.Failed(ctx.Err(), "headway admin workers shows whether it has stopped")
		case <-time.After(drainEvery):
		}
	}
	return nil, command.Failed(fmt.Errorf("worker %d has not stopped after %v", id, drainTime), "headway admin workers shows what it is doing")
}
