package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"headway/internal/config"
	"headway/service"
	"headway/store/postgres"
)

func serveCommand() *cobra.Command {
	var listen string
	var noKeys bool
	var rate float64
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API of a fleet",
		Long: `Answer the API of a fleet: jobs, pages and events, for the tenants that have keys.
It crawls nothing itself: headway worker does. Any number of servers may share one
PostgreSQL 15 or newer.

Every request needs a key, which headway admin key create makes. With --no-keys
requests without one are answered, too, for jobs that are nobody's: only on an
address that nobody but this machine can reach.

The first SIGTERM or Ctrl-C lets requests under way finish and ends with 0.` + exitHelp(ExitOK, ExitUsage, ExitFailed),
		Example: `  headway serve --store postgres://headway@db/headway
  headway serve --listen 10.0.0.5:8788
  headway serve --no-keys`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				flags, environ := cmd.Flags(), os.Environ()
				err := service.Run(ctx, service.Config{
					Store: st, Listen: listen, NoKeys: noKeys, Rate: rate, Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
					Settings:  func(asked config.Asked) (*config.Settings, error) { return config.LoadJob(flags, environ, asked) },
					Listening: func(at net.Addr) { fmt.Fprintf(cmd.ErrOrStderr(), "headway: serving the API at http://%s\n", at) },
				})
				switch {
				case errors.Is(err, service.ErrOpen):
					return usage(err, "leave --no-keys out, or listen at 127.0.0.1")
				case err != nil:
					return failed(err, "--listen names an address of this machine and a free port")
				default:
					return nil
				}
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", service.DefaultListen, "`address` and port to listen at")
	cmd.Flags().BoolVar(&noKeys, "no-keys", false, "answer requests without a key; only at a loopback address")
	cmd.Flags().Float64Var(&rate, "rate", service.DefaultRate, "requests a second that each key may send to this server")
	config.RegisterStore(cmd.Flags())
	return cmd
}
