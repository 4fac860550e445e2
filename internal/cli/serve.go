package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"headway/fetch/guard"
	"headway/internal/config"
	"headway/internal/metrics"
	"headway/output/s3"
	"headway/service"
	"headway/store"
	"headway/store/postgres"
)

func serveCommand() *cobra.Command {
	s := new(serving)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API of a fleet",
		Long: `Answer the API of a fleet: jobs, pages and events, for the tenants that have keys.
Beside it do what is done behind the scenes: send webhooks, make the jobs of
schedules, write exports, drop results that a plan keeps no longer. It crawls nothing
itself: headway worker does. Any number of servers may share one PostgreSQL 15 or
newer, and they share the work.

Every request needs a key, which headway admin key create makes. With --no-keys
requests without one are answered, too, for jobs that are nobody's: only on an
address that nobody but this machine can reach.

Webhooks go to public addresses by https; --allow-private opens further ones, for
all tenants.

The first SIGTERM or Ctrl-C lets requests under way finish and ends with 0.` + exitHelp(ExitOK, ExitUsage, ExitFailed),
		Example: `  headway serve --store postgres://headway@db/headway
  headway serve --listen 10.0.0.5:8788 --exports s3://results/headway
  headway serve --no-keys`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&s.listen, "listen", service.DefaultListen, "`address` and port to listen at")
	fs.BoolVar(&s.noKeys, "no-keys", false, "answer requests without a key; only at a loopback address")
	fs.Float64Var(&s.rate, "rate", service.DefaultRate, "requests a second that each key may send to this server")
	fs.StringVar(&s.exports, "exports", "", "write exports to a `folder` or s3://BUCKET/PREFIX, below it by tenant and job; by default there are none")
	fs.StringArrayVar(&s.exportsPrivate, "exports-private", nil, "--exports may connect to these private addresses, as `CIDR[:PORT,…]`")
	fs.StringVar(&s.metrics, "metrics", "", "`address` and port to show metrics and probes at; by default nowhere")
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
	ctx, flags, environ := cmd.Context(), cmd.Flags(), os.Environ()
	set, _, err := config.Load(flags, environ)
	if err != nil {
		return usage(err, hintOf(err))
	}
	if !(s.rate > 0) {
		return usage(fmt.Errorf("a rate of %g requests a second", s.rate), "--rate is more than 0; a large number is as good as no limit")
	}
	log, people := newRecords(set.Log.Format, cmd.ErrOrStderr())
	door := guard.Config{Resolver: set.Resolver, IP: guard.Family(set.IP)}
	webhooks, exports := door, service.Exports{To: s.exports, Guard: door}
	if webhooks.AllowPrivate, err = parseRanges("--allow-private", set.AllowPrivate); err != nil {
		return err
	}
	if exports.Guard.AllowPrivate, err = parseRanges("--exports-private", s.exportsPrivate); err != nil {
		return err
	}
	if s3.IsPlace(s.exports) {
		if _, err := s3.ParsePlace(s.exports); err != nil {
			return usage(err, "--exports takes a folder or s3://BUCKET/PREFIX")
		}
	}
	if exports.Roots, err = takeBundle(); err != nil {
		return err
	}
	st, err := openFleet(ctx, set, store.Terms{}, log)
	if err != nil {
		return err
	}
	defer st.Close()
	warnOfDoor(people, set.AllowPrivate)
	requests := metrics.NewServer()
	stop, err := s.show(ctx, st, requests, people)
	if err != nil {
		return err
	}
	defer stop()
	err = service.Run(ctx, service.Config{
		Store: st, Listen: s.listen, NoKeys: s.noKeys, Rate: s.rate, Webhooks: webhooks, Exports: exports, Observe: requests.Observe, Log: log,
		Settings:  func(asked config.Asked) (*config.Settings, error) { return config.LoadJob(flags, environ, asked) },
		Listening: func(at net.Addr) { fmt.Fprintf(people, "headway: serving the API at http://%s\n", at) },
	})
	switch {
	case errors.Is(err, service.ErrAddress):
		return usage(err, "--listen takes an address of this machine, not a name, and a port, such as "+service.DefaultListen)
	case errors.Is(err, service.ErrOpen):
		return usage(err, "leave --no-keys out, or listen at 127.0.0.1")
	case err != nil:
		return failed(err, "--listen names an address of this machine and a free port, --exports a folder or s3://BUCKET/PREFIX")
	default:
		return nil
	}
}

// show serves metrics and probes beside the API, if somebody asked for that.
func (s *serving) show(ctx context.Context, st *postgres.Store, requests *metrics.Server, people io.Writer) (stop func(), err error) {
	if s.metrics == "" {
		return func() {}, nil
	}
	handler, err := metrics.Handler(version, nil, func() error { return service.Answers(ctx, st) }, requests)
	if err != nil {
		return nil, err
	}
	if stop, err = serveBeside(ctx, s.metrics, handler, people); err != nil {
		return nil, usage(err, "--metrics takes an address of this machine and a free port, such as 127.0.0.1:9465")
	}
	return stop, nil
}
