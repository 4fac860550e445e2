package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"headway/fetch/guard"
	"headway/internal/archive"
	"headway/internal/cli/command"
	"headway/internal/cli/export"
	"headway/internal/config"
	"headway/internal/metrics"
	"headway/output/s3"
	"headway/service"
	"headway/store/postgres"
)

// serverConns is the number of connections of a server to its database. Requests that change
// something wait for the disk: several at once are written together. They are opened at
// startup, so that the first requests do not wait for them.
const serverConns = 16

// ServeCommand builds `headway serve`.
func ServeCommand() *cobra.Command {
	s := new(serving)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API of a fleet",
		Long: `Serve the HTTP API of a fleet: jobs, pages and events, for tenants with keys.
It also runs the background work: sending webhooks, creating scheduled jobs,
writing exports and deleting results after the retention of their plan. It does
not crawl; headway worker does. Any number of servers can share one PostgreSQL
15 or newer.

Every request needs a key, created by headway admin key create. --no-keys also
accepts requests without a key, for jobs without a tenant, and only on a
loopback address.

Webhooks are sent to public addresses over https; --allow-private allows
others, for all tenants.

SIGTERM or Ctrl-C shuts down gracefully: requests in progress finish, then the
server exits with code 0.` + command.ExitHelp(command.ExitOK, command.ExitUsage, command.ExitFailed),
		Example: `  headway serve --store postgres://headway@db/headway
  headway serve --listen 10.0.0.5:8788 --exports s3://results/headway
  headway serve --no-keys`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&s.listen, "listen", service.DefaultListen, "`address` and port to listen on")
	fs.BoolVar(&s.noKeys, "no-keys", false, "accept requests without a key; loopback addresses only")
	fs.Float64Var(&s.rate, "rate", service.DefaultRate, "rate limit of each key, in `requests` per second")
	fs.StringVar(&s.exports, "exports", "", "`folder` or s3://BUCKET/PREFIX for exports, with a subfolder per tenant and job (default: exports are off)")
	fs.StringArrayVar(&s.exportsPrivate, "exports-private", nil, "private addresses that --exports may connect to, as `CIDR[:PORT,…]` (repeatable)")
	fs.StringVar(&s.metrics, "metrics", "", "`address` and port for metrics and health checks (default: off)")
	config.RegisterServer(fs)
	return cmd
}

// serving is one call of `headway serve`.
type serving struct {
	listen, exports, metrics string
	exportsPrivate           []string
	noKeys                   bool
	rate                     float64
}

func (s *serving) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	own, err := config.ReadLayers(cmd.Flags(), os.Environ())
	if err != nil {
		return command.Usage(err, command.HintOf(err))
	}
	set, origins, err := own.Load()
	if err != nil {
		return command.Usage(err, command.HintOf(err))
	}
	if !(s.rate > 0) {
		return command.Usage(fmt.Errorf("invalid value %g for --rate", s.rate), "give a number greater than 0; use a large number for no practical limit")
	}
	log, people, _ := newRecords(set.Log.Format, cmd.ErrOrStderr())
	door := guard.Config{Resolver: set.Resolver, IP: guard.Family(set.IP)}
	webhooks, exports := door, service.Exports{To: s.exports, Guard: door}
	if webhooks.AllowPrivate, err = command.ParseRanges("--allow-private", set.AllowPrivate); err != nil {
		return err
	}
	if exports.Guard.AllowPrivate, err = command.ParseRanges("--exports-private", s.exportsPrivate); err != nil {
		return err
	}
	if s3.IsPlace(s.exports) {
		if _, err := s3.ParsePlace(s.exports); err != nil {
			return command.Usage(err, "--exports takes a folder or s3://BUCKET/PREFIX")
		}
	}
	if exports.Roots, err = export.TakeBundle(); err != nil {
		return err
	}
	if _, err := readFleetSettings(ctx, set, origins); err != nil {
		return err
	}
	st, err := openFleet(ctx, set, postgres.Config{Conns: serverConns, Log: service.LogRequestIDs(log)})
	if err != nil {
		return err
	}
	defer st.Close()
	kept, err := openArchive(ctx, set, archive.Config{Fleet: st.Key(), Guard: door, Roots: exports.Roots, Log: log})
	if err != nil {
		return err
	}
	if kept != nil {
		defer kept.Close()
	}
	command.WarnAddresses(people, set.AllowPrivate)
	requests := metrics.NewServer()
	stop, err := s.show(ctx, st, requests, people)
	if err != nil {
		return err
	}
	defer stop()
	err = service.Run(ctx, service.Config{
		Store: st, Listen: s.listen, NoKeys: s.noKeys, Rate: s.rate, Webhooks: webhooks, Exports: exports, Archive: kept, Observe: requests.Observe, Version: command.Version(), Log: log,
		Settings:  own.Job,
		Listening: func(at net.Addr) { fmt.Fprintf(people, "headway: serving the API at http://%s\n", at) },
	})
	switch {
	case errors.Is(err, service.ErrAddress):
		return command.Usage(err, "--listen takes an IP address of this machine and a port, for example "+service.DefaultListen)
	case errors.Is(err, service.ErrOpen):
		return command.Usage(err, "remove --no-keys, or listen on 127.0.0.1")
	case err != nil:
		return command.Failed(err, "--listen takes an IP address of this machine and a free port; --exports takes a folder or s3://BUCKET/PREFIX")
	default:
		return nil
	}
}

// show serves metrics and probes beside the API, if somebody asked for that.
func (s *serving) show(ctx context.Context, st *postgres.Store, requests *metrics.Server, people io.Writer) (stop func(), err error) {
	if s.metrics == "" {
		return func() {}, nil
	}
	handler, err := metrics.Handler(command.Version(), nil, func() error { return service.Answers(ctx, st) }, requests)
	if err != nil {
		return nil, err
	}
	if stop, err = serveBeside(ctx, s.metrics, handler, people); err != nil {
		return nil, command.Usage(err, "--metrics takes an IP address of this machine and a free port, for example 127.0.0.1:9465")
	}
	return stop, nil
}
