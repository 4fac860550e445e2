package fleet

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway"
	"headway/fetch/guard"
	"headway/gauge"
	"headway/internal/archive"
	"headway/internal/cli/command"
	"headway/internal/cli/crawl"
	"headway/internal/cli/export"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/internal/metrics"
	"headway/internal/traces"
	"headway/limit"
	"headway/output/warc"
	"headway/scope"
	"headway/store"
	"headway/store/postgres"
)

// WorkerCommand builds `headway worker`.
func WorkerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker of a fleet",
		Long: `Run a worker of a fleet. It takes a share of the hosts and crawls them for
every running job. Add or remove workers at any time: each host has one owner
at a time, and its learned pace moves with it. Only PostgreSQL 15 or newer is
needed.

Safety limits, lease and commit gap are settings of the fleet, in its database
(headway admin safety). A worker with other values does not start.

The first SIGTERM or Ctrl-C shuts down gracefully: requests in flight finish,
the hosts are handed over, and the worker exits with code 0. The second quits
now.` + command.ExitHelp(command.ExitOK, command.ExitUsage, command.ExitFailed),
		Example: `  headway worker --store postgres://db/headway --contact you@example.com
  headway worker --contact you@example.com \
    --store "host=db1,db2 dbname=headway target_session_attrs=read-write"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, origins, err := config.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return command.Usage(err, command.HintOf(err))
			}
			records, people, joined := newRecords(settings.Log.Format, cmd.ErrOrStderr())
			w := &fleetWorker{Setup: crawl.NewSetup(settings, cmd.InOrStdin(), cmd.OutOrStdout(), people), flags: cmd.Flags(), origins: origins, records: records, joined: joined}
			return w.run(cmd.Context())
		},
	}
	config.RegisterWorker(cmd.Flags())
	return cmd
}

// fleetWorker is one call of `headway worker`.
type fleetWorker struct {
	crawl.Setup
	flags   *pflag.FlagSet
	origins []config.Origin
	records *slog.Logger
	joined  func(store.WorkerID) // names the worker in the log
	roots   *x509.CertPool       // for the archive; nil for those of the system
}

func (w *fleetWorker) run(ctx context.Context) error {
	if err := w.Connect(ctx); err != nil {
		return err
	}
	defer w.Client.Close()
	if err := w.CheckOwned(ctx); err != nil {
		return err
	}
	w.Log = w.records
	var err error
	if w.roots, err = export.TakeBundle(); err != nil {
		return err
	}
	for {
		err := w.work(ctx)
		if !errors.Is(err, store.ErrSettingsChanged) {
			return err
		}
	}
}

// work joins the fleet with its current settings, and works until it is stopped or the lease
// or commit gap change.
func (w *fleetWorker) work(ctx context.Context) error {
	fleet, err := readFleetSettings(ctx, w.Settings, w.origins)
	if err != nil {
		return err
	}
	terms := store.TermsOf(fleet.Lease)
	st, err := openFleet(ctx, w.Settings, postgres.Config{Terms: terms, Log: w.Log})
	if err != nil {
		return err
	}
	defer st.Close()
	optedOut, err := command.ReadOptOuts()
	if err != nil {
		return err
	}
	s := w.Settings
	cfg := headway.Worker{
		Store: st, Fetcher: w.Client, Owned: w.Owns, Agent: w.Identity.Product, OptedOut: optedOut, Addresses: w.Addresses(), Terms: terms,
		Bounds: headway.Bounds{
			Workers: int(s.Workers), Slow: crawl.SlowLimit(s), ParseWorkers: int(s.Parse.Workers), RobotsWorkers: int(s.Robots.Parallel), RobotsTimeout: s.Robots.Timeout, RobotsCache: s.Robots.Cache,
			Head: int(s.Frontier.Head), HotHosts: int(s.Frontier.HotHosts), SeenBytes: s.Frontier.SeenCache, CommitGap: fleet.CommitGap, Ungoverned: !s.Governor.Enabled,
		},
		CPU: &w.CPU, Lookups: func() guard.Layer { return w.Dialer.Stats().Lookups }, Log: w.Log, Joined: w.joined,
	}
	kept, err := openArchive(ctx, s, archive.Config{
		Fleet: st.Key(), Guard: guard.Config{Resolver: s.Resolver, IP: guard.Family(s.IP)}, Roots: w.roots, Log: w.Log, Write: true,
		About: warc.Config{Software: command.Product + "/" + command.Version(), UserAgent: w.Identity.UserAgent(), Operator: w.Identity.Contact},
	})
	if err != nil {
		return err
	}
	if kept != nil {
		defer kept.Close()
		cfg.Archive = kept
	}
	if s.Worker.Listen != "" {
		cfg.Gauge = new(gauge.Gauge)
		shown := metrics.NewWorker(cfg.Gauge)
		handler, err := metrics.Handler(command.Version(), shown.Live, shown.Ready, shown)
		if err != nil {
			return err
		}
		stop, err := serveBeside(ctx, s.Worker.Listen, handler, w.Err)
		if err != nil {
			return command.Usage(err, "--listen takes an IP address of this machine and a free port, for example 127.0.0.1:9464")
		}
		defer stop()
	}
	if s.Trace.Endpoint != "" {
		tracer, err := traces.New(ctx, traces.Config{Endpoint: s.Trace.Endpoint, Guard: guard.Config{Resolver: s.Resolver, IP: guard.Family(s.IP), AllowPrivate: w.Ranges}, Version: command.Version(), Log: w.Log})
		if err != nil {
			return command.Usage(err, "--traces takes the URL of an OpenTelemetry collector, for example http://127.0.0.1:4318")
		}
		cfg.Outputs, cfg.Committed = append(cfg.Outputs, tracer), tracer.Committed
		defer sendLast(ctx, tracer)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	work, stop := w.Interrupts(ctx, &cfg)
	defer stop()
	go watchClock(work, st, time.Now, leave)
	cfg.MemoryLimit = w.LimitMemory(work)
	fmt.Fprintf(w.Err, "headway: worker started: schema %s, user agent %s\n", s.Fleet.Schema, w.Identity.UserAgent())
	err = headway.Work(work, cfg, headway.Fleet{Open: func(j store.Job) (headway.Job, error) { return w.open(work, st, j) }, Settings: fleet.FleetSettings})
	if errors.Is(err, store.ErrSettingsChanged) {
		return err
	}
	if err != nil && work.Err() == nil {
		return command.Failed(err, "progress is saved; start the worker again")
	}
	if changed, ok := errors.AsType[*clockError](context.Cause(ctx)); ok {
		return command.Failed(changed, "progress is saved; synchronise the clocks of both machines (NTP), and start the worker again")
	}
	return nil
}

// sendLast sends the spans that are left, if somebody takes them soon.
func sendLast(ctx context.Context, t *traces.Tracer) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), besideFor)
	defer cancel()
	_ = t.Shutdown(last) // what is late is lost; a worker does not stay for it
}

// open turns a stored job into a crawl. The context is that of the worker.
func (w *fleetWorker) open(ctx context.Context, st store.Reader, j store.Job) (headway.Job, error) {
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return headway.Job{}, err
	}
	s, err := config.LoadJob(w.flags, os.Environ(), spec.Settings)
	if err != nil {
		return headway.Job{}, err
	}
	policy, err := s.Policy()
	if err != nil {
		return headway.Job{}, err
	}
	from, err := jobspec.ReadSeeds(spec.Seeds)
	if err != nil {
		return headway.Job{}, err
	}
	cfg := headway.Job{
		Name: j.Name, Seeds: from.URLs, Fallback: from.Fallback,
		Scope:  scope.Config{Mode: scope.Mode(s.Scope), Hosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files},
		Limits: j.Limits(limit.Layer{Level: limit.Job, Limits: s.Limits}), Policy: policy, Sitemaps: headway.Sitemaps(s.Sitemaps), MaxWaiting: s.Frontier.MaxWaiting,
		DryRun: spec.DryRun, Content: s.ContentOptions(), Extract: s.Extract, Links: s.Links, Raw: s.Raw && !spec.DryRun,
	}
	if j.Since != 0 && !spec.DryRun && !s.Raw { // a page that is not sent has no raw response
		was := &earlier{reader: st, job: j.Since, spec: j.Spec}
		cfg.Since, cfg.Known = was.urls(ctx), was.visit
	}
	return cfg, nil
}
