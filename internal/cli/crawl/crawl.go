package crawl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway"
	"headway/answer"
	"headway/ask"
	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/internal/cli/export"
	"headway/internal/config"
	"headway/job"
	"headway/store"
	"headway/store/sqlite"
)

// Command builds `headway crawl`.
func Command() *cobra.Command {
	var since string
	var asJSON, toStdout bool
	var to export.Delivery
	cmd := crawling(&cobra.Command{
		Use:   "crawl [SEED…]",
		Short: "Crawl sites and record every page; resumable",
		Long: `Crawl sites, starting at the seed URLs. Headway honours robots.txt and finds a
pace that each host accepts. Every URL found gets one outcome, such as fetched
or skipped, and a reason. Everything is stored in one folder (--dir). A crawl
ends when all URLs are processed, or at a limit set by you or by the preset.

To resume a crawl, run the same command again. "headway crawl --dir FOLDER" is
usually enough: the folder stores the seeds and the settings. Give --seeds
again if the list is over 256 KiB, and give secrets (--header, --basic-auth)
and flags for the terminal, such as --stdout and --quiet, each time.

A seed without a scheme, such as example.com, is tried with https, then http.
Ctrl-C finishes the requests in flight and stops. A second Ctrl-C stops
immediately. No results are lost either way.

With --stdout each URL is also printed as a line of JSON when it is finished;
progress and the summary go to standard error. The crawl waits for a slow
reader, and stops, resumable, when the reader closes the pipe.` + command.ExitHelp(command.CrawlExits...),
		Example: `  headway crawl https://example.com --contact you@example.com
  headway crawl --seeds hosts.txt --scope domain --max-pages 100000
  headway crawl https://example.com --contact you@example.com --stdout | jq .url
  headway crawl --dir headway-example.com`,
	}, func(c *crawlRun) {
		c.since, c.to, c.json = since, to, asJSON
		if toStdout {
			c.useStdout()
		}
	})
	cmd.Flags().StringVar(&since, "since", "", "`folder` of an earlier crawl: fetch only what changed (incremental crawl)")
	cmd.Flags().BoolVar(&toStdout, "stdout", false, "print each finished URL as a line of JSON while crawling, for a pipe")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON instead of text")
	to.Register(cmd.Flags())
	return cmd
}

// crawling makes a command run a crawl, and gives it the flags of one. A command
// whose crawl has a purpose of its own gives it to the run.
func crawling(cmd *cobra.Command, use func(c *crawlRun)) *cobra.Command {
	var quiet, plain, noColour bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		settings, args, err := loadCrawl(cmd, args)
		if err != nil {
			return err
		}
		c := &crawlRun{Setup: NewSetup(settings, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()), flags: cmd.Flags()}
		c.live = live{quiet: quiet, plain: plain, noColour: noColour, out: c.Err, in: c.in, interrupt: c.interrupt}
		if use != nil {
			use(c)
		}
		err = c.run(cmd.Context(), args)
		if err != nil && !c.begun && cmd.Context().Err() != nil {
			return command.Interrupted() // whatever that stopped
		}
		return err
	}
	config.Register(cmd.Flags())
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print no progress")
	cmd.Flags().BoolVar(&plain, "plain", false, "print plain progress lines instead of the live view")
	cmd.Flags().BoolVar(&noColour, "no-color", false, "disable colours, as NO_COLOR in the environment does")
	return cmd
}

// loadCrawl reads the settings of a crawl and its seeds. Where no seeds are named
// but a folder that has a crawl is, they and the flags are those of the last call.
func loadCrawl(cmd *cobra.Command, seeds []string) (*config.Settings, []string, error) {
	s, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return nil, nil, command.Usage(err, command.HintOf(err))
	}
	if len(seeds)+len(s.Seeds) > 0 || s.SeedsFile != "" || s.Dir == "" {
		return s, seeds, nil
	}
	p := purpose{name: cmd.Name()}
	if p.name == crawlName {
		p.name = ""
	}
	if seeds, err = p.recall(cmd.Flags(), s.Dir); err != nil {
		return nil, nil, err
	}
	if len(seeds) == 0 {
		return nil, nil, nothingIn(s.Dir)
	}
	if s, _, err = config.Load(cmd.Flags(), os.Environ()); err != nil {
		return nil, nil, command.Usage(err, command.HintOf(err))
	}
	return s, seeds, nil
}

// nothingIn says why a folder alone is not enough to resume.
func nothingIn(dir string) error {
	const hint = "headway runs lists the crawls; to start a new one give a seed, for example headway crawl https://example.com --dir "
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return command.Usage(fmt.Errorf("folder not found: %s", dir), hint+dir)
	}
	return command.Usage(fmt.Errorf("no crawl to resume in %s", dir), hint+dir)
}

// crawlRun is one call of `headway crawl`, or of a command that crawls for a
// purpose of its own.
type crawlRun struct {
	Setup
	purpose purpose

	flags *pflag.FlagSet
	live  live
	begun bool // the crawl runs, and has the interrupts
	over  bool // it was already finished

	since  string // folder of an earlier crawl
	json   bool   // the result is for a program
	stdout *stdout
	to     export.Delivery
	dir    string
	limits []string // that may stop it, for people
}

func (c *crawlRun) run(ctx context.Context, args []string) error {
	var err error
	if c.stdout != nil && c.json {
		return command.Usage(errors.New("--stdout and --json both write to standard output"), "leave out --json; headway runs --json lists how crawls ended")
	}
	if c.seeds, err = ReadSeeds(c.Settings, args, c.in); err != nil {
		return err
	}
	if err := c.Connect(ctx); err != nil {
		return err
	}
	defer c.Client.Close()
	if err := c.CheckOwned(ctx); err != nil {
		return err
	}
	if err := c.to.Open(ctx, guard.Config{Resolver: c.Settings.Resolver, IP: guard.Family(c.Settings.IP)}, c.live.quiet, c.Err); err != nil {
		return err
	}
	defer c.to.Close()
	c.dir = c.Settings.Dir
	if c.dir == "" {
		c.dir = c.purpose.dir(c.seeds.dir(c.Settings.Scope))
	}
	hosts, err := command.HostsFile()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: c.dir, Hosts: hosts, Log: c.Log})
	if err != nil {
		return command.OpenFailure(err)
	}
	defer st.Close()
	cfg, err := c.config(ctx, st)
	if err != nil {
		return err
	}
	if c.since != "" {
		closeIt, err := c.openSince(ctx, &cfg)
		if err != nil {
			return err
		}
		defer func() {
			if err := closeIt(); err != nil {
				c.Log.Warn("cannot close the earlier crawl", "err", err)
			}
		}()
	}
	c.begun = true
	work, stop := c.Interrupts(ctx, &cfg.Worker)
	defer stop()
	if c.stdout != nil {
		c.stdout.quit = work.Done()
	}
	cfg.MemoryLimit = c.LimitMemory(work)
	mailbox := ask.NewMailbox(c.dir)
	if err := mailbox.Open(); err != nil {
		return err
	}
	defer func() {
		if err := mailbox.Close(); err != nil {
			c.Log.Warn("cannot remove the mailbox", "err", err)
		}
	}()
	cfg.Mail = mailbox
	c.announce()
	report, err := c.passes(work, st, &cfg)
	if err != nil {
		return err
	}
	if c.purpose.conclude != nil {
		return c.purpose.conclude(context.WithoutCancel(ctx), st, report)
	}
	if err := c.printResult(report); err != nil && !c.stdout.leftBy(err) {
		return command.Failed(fmt.Errorf("print the result: %w", err), "the result is stored in "+c.dir)
	}
	if err := c.deliver(ctx, report.State); err != nil {
		return err
	}
	if err := c.stdout.exit(report, c.dir); err != nil {
		return err
	}
	return c.exit(report)
}

// passes runs the crawl, as often as its purpose takes.
func (c *crawlRun) passes(ctx context.Context, st store.Store, cfg *crawlConfig) (headway.Report, error) {
	for {
		crawl, err := headway.New(cfg.Worker, cfg.Job)
		if err != nil {
			return headway.Report{}, command.Usage(err, command.HintOf(err))
		}
		report, err := c.watched(ctx, crawl)
		for _, w := range cfg.Outputs {
			if closed := w.Close(); err == nil && closed != nil && report.Reason != headway.Disk {
				err = closed
			}
		}
		if err != nil {
			return report, c.failure(err)
		}
		if c.purpose.more == nil {
			return report, nil
		}
		cfg.Outputs = nil
		again, err := c.purpose.more(ctx, st, report, cfg)
		if err != nil {
			return report, c.failure(err)
		}
		if !again {
			return report, nil
		}
	}
}

// announce says where a crawl is kept that runs where nobody sees a view of it.
func (c *crawlRun) announce() {
	if c.over || c.live.quiet || c.live.terminal() != nil {
		return
	}
	limits := ""
	if len(c.limits) > 0 {
		limits = "; limits: " + strings.Join(c.limits, ", ")
	}
	fmt.Fprintf(c.Err, "headway: crawling %s into %s%s; for progress run: headway slow --dir %s\n", c.title(), c.dir, limits, c.dir)
}

// title names what is crawled.
func (c *crawlRun) title() string {
	title := c.seeds.URLs[0].String()
	if more := len(c.seeds.URLs) - 1; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	return title
}

// watched runs the crawl before the eyes of whoever is there. Whatever happens,
// a panic included, the terminal is given back first.
func (c *crawlRun) watched(ctx context.Context, crawl *headway.Crawl) (headway.Report, error) {
	c.live.title = c.title()
	c.live.progress = crawl.Progress
	defer c.live.watch(ctx)()
	return crawl.Run(ctx)
}

// more are the words that going on needs beside the folder: what is not kept there.
func (c *crawlRun) more() string {
	var asked answer.CrawlSpec
	keepFlags(c.flags, c.Settings, &asked)
	asked.SetSeeds(c.seeds.URLs)
	var words []string
	if len(asked.Seeds) < asked.SeedCount {
		words = append(words, "--seeds FILE")
	}
	for _, name := range asked.Withheld {
		words = append(words, "--"+name+" …")
	}
	return strings.Join(words, " ")
}

// paused are the hosts that an operator has paused: by orders to this crawl, or
// before it, as far as the view names them.
func (c *crawlRun) paused() []string {
	hosts := map[string]bool{}
	if p := c.live.progress(); p != nil {
		for i := range p.Slowest {
			hosts[p.Slowest[i].Host] = p.Slowest[i].Paused
		}
	}
	orders, err := ask.NewMailbox(c.dir).Log()
	if err != nil {
		c.Log.Warn("cannot read the control log", "err", err)
	}
	for _, o := range orders {
		if o.Order == ask.KindPause || o.Order == ask.KindResume {
			hosts[o.Host] = o.Order == ask.KindPause
		}
	}
	maps.DeleteFunc(hosts, func(_ string, paused bool) bool { return !paused })
	return slices.Sorted(maps.Keys(hosts))
}

// named tells whether later commands need --dir to find the crawl.
func (c *crawlRun) named() bool {
	crawls, err := command.CrawlsIn(".")
	return c.Settings.Dir != "" || err != nil || len(crawls) != 1
}

// failure says what went wrong with a crawl, and what to do.
func (c *crawlRun) failure(err error) error {
	if hint := command.HintOf(err); hint != "" {
		return command.Failed(err, hint)
	}
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotWaiting) {
		path := filepath.Join(c.dir, "crawl.db")
		return command.Failed(fmt.Errorf("%s was corrupted, or modified by another program, during the crawl: %w", path, err),
			"restore a backup, or move "+path+" away and start over with --fresh; `sqlite3 "+path+" .recover` shows what can still be read")
	}
	return command.Failed(err, "progress is saved in "+c.dir+"; run the same command to resume")
}

// exit is the code for how a crawl ended.
func (c *crawlRun) exit(r headway.Report) error {
	switch r.State {
	case job.Complete:
		return nil
	case job.Partial:
		if c.Settings.PartialOK {
			return nil
		}
		return &command.Failure{Code: command.ExitPartial}
	case job.Blocked:
		return &command.Failure{Code: command.ExitBlocked}
	case job.Failed, job.Cancelled:
		return &command.Failure{Code: command.ExitFailed}
	default:
		return &command.Failure{Code: command.ExitInterrupted}
	}
}
