package fleet

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/service/orders"
	"headway/store"
	"headway/store/postgres"
)

// inFleet opens the store for one command.
func inFleet(cmd *cobra.Command, do func(ctx context.Context, s *config.Settings, st *postgres.Store) error) error {
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return command.Usage(err, command.HintOf(err))
	}
	st, err := openFleet(cmd.Context(), settings, postgres.Config{})
	if err != nil {
		return err
	}
	defer st.Close()
	return do(cmd.Context(), settings, st)
}

// askFleet asks the workers of a fleet.
func askFleet(ctx context.Context, st *postgres.Store, q ask.Question, within time.Duration) (ask.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a, err := ask.NewFleet(st).Ask(ctx, q)
	switch {
	case errors.Is(err, ask.ErrNoAnswer):
		return a, command.Failed(errors.New("no worker answers"),
			"headway admin workers lists the workers; hosts of a dead worker move to another one when its lease expires (--lease)")
	case err != nil:
		return a, command.Failed(err, "headway admin workers lists the workers")
	}
	return a, nil
}

// ordered does what a person ordered, and logs it with the change.
func ordered(ctx context.Context, st *postgres.Store, o store.Order, do func(context.Context) error) error {
	return orders.Do(ctx, st, command.UserName(), o, do)
}

// openFleet opens the store of a fleet, whose address is in the settings.
func openFleet(ctx context.Context, s *config.Settings, c postgres.Config) (*postgres.Store, error) {
	if s.Fleet.Store == "" {
		return nil, command.Usage(errors.New("--store is required"), "set --store or HEADWAY_FLEET_STORE to the fleet's PostgreSQL")
	}
	c.DSN, c.Schema = s.Fleet.Store, s.Fleet.Schema
	st, err := postgres.Open(ctx, c)
	if err != nil {
		if open, ok := errors.AsType[*store.OpenError](err); ok {
			return nil, command.Failed(err, open.Hint)
		}
		return nil, command.Usage(err, "--store takes postgres://USER@HOST/DATABASE, or host=HOST dbname=DATABASE user=USER")
	}
	return st, nil
}
