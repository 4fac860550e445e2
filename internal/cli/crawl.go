package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"headway"
	"headway/answer"
	"headway/ask"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/config"
	"headway/internal/view"
	"headway/job"
	"headway/limit"
	"headway/output"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/store/sqlite"
	"headway/weburl"
)

func crawlCommand() *cobra.Command {
	var since string
	cmd := crawling(&cobra.Command{
		Use:   "crawl [SEED…]",
		Short: "Crawl sites politely, completely and so that it can be resumed",
		Long: `Crawl from the seeds: pages are fetched at the pace each host is happy with,
robots.txt is obeyed, and every URL seen ends in one outcome with a reason. All of
it is kept in one folder (--dir); the same command goes on where the last one
stopped, whatever stopped it.

A bare example.com means https, then http. Ctrl-C once lets what is in flight
finish; twice ends at once. Either way nothing is lost.`,
		Example: `  headway crawl https://example.com --contact you@example.com
  headway crawl --seeds hosts.txt --scope domain --max-pages 100000
  headway crawl http://127.1.0.1:8780/ --allow-private 127.0.0.0/8:8780 --preset owned`,
	}, func(c *crawlRun) { c.since = since })
	cmd.Flags().StringVar(&since, "since", "", "folder of an earlier crawl: what did not change since is not sent again")
	return cmd
}

// crawling makes a command run a crawl, and gives it the flags of one. A command
// whose crawl has a purpose of its own gives it to the run.
func crawling(cmd *cobra.Command, use func(c *crawlRun)) *cobra.Command {
	var quiet, plain, noColour bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		settings, _, err := config.Load(cmd.Flags(), os.Environ())
		if err != nil {
			return usage(err, hintOf(err))
		}
		c := &crawlRun{set: settings, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: &notices{w: cmd.ErrOrStderr()}, keys: make(chan struct{}, 2)}
		c.live = live{quiet: quiet, plain: plain, noColour: noColour, out: c.err, in: c.in, interrupt: c.interrupt}
		if use != nil {
			use(c)
		}
		err = c.run(cmd.Context(), args)
		if err != nil && !c.begun && cmd.Context().Err() != nil {
			return interrupted() // whatever that stopped
		}
		return err
	}
	config.Register(cmd.Flags())
	cmd.Flags().BoolVar(&quiet, "quiet", false, "nothing while the crawl runs")
	cmd.Flags().BoolVar(&plain, "plain", false, "plain lines instead of the live view, also on a terminal")
	cmd.Flags().BoolVar(&noColour, "no-color", false, "no colours; NO_COLOR in the environment does the same")
	return cmd
}

// crawlRun is one call of `headway crawl`, or of a command that crawls for a
// purpose of its own.
type crawlRun struct {
	purpose purpose

	set   *config.Settings
	in    io.Reader
	out   io.Writer
	err   *notices
	live  live
	keys  chan struct{} // Ctrl-C, where a view reads the keys
	begun bool          // the crawl runs, and has the interrupts

	since  string // folder of an earlier crawl
	seeds  seeds
	dir    string
	who    fetch.Identity
	dialer *guard.Dialer
	client *fetch.Client
	ranges []guard.Range
	owned  map[string]bool // hostnames
	log    *slog.Logger
	strain headway.Strain
}

func (c *crawlRun) run(ctx context.Context, args []string) error {
	if err := c.readSeeds(args); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer c.client.Close()
	if err := c.checkOwned(ctx); err != nil {
		return err
	}
	c.dir = c.set.Dir
	if c.dir == "" {
		c.dir = c.purpose.dir(c.seeds.dir(c.set.Scope))
	}
	hosts, err := hostsFile()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: c.dir, Hosts: hosts, Log: c.log})
	if err != nil {
		return openFailure(err)
	}
	defer st.Close()
	cfg, err := c.config(ctx, st)
	if err != nil {
		return err
	}
	if c.since != "" {
		known, closeIt, err := c.openSince(ctx)
		if err != nil {
			return err
		}
		defer func() {
			if err := closeIt(); err != nil {
				c.log.Warn("the earlier crawl", "err", err)
			}
		}()
		cfg.Since = known
	}
	c.begun = true
	work, stop := c.signals(ctx, &cfg)
	defer stop()
	if cfg.MemoryLimit = memoryLimit(); cfg.MemoryLimit == 0 {
		go tendMemory(work)
	}
	mailbox := ask.NewMailbox(c.dir)
	if err := mailbox.Open(); err != nil {
		return err
	}
	defer func() {
		if err := mailbox.Close(); err != nil {
			c.log.Warn("the mailbox stays behind", "err", err)
		}
	}()
	cfg.Mail = mailbox
	report, err := c.passes(work, st, &cfg)
	if err != nil {
		return err
	}
	if c.purpose.conclude != nil {
		return c.purpose.conclude(context.WithoutCancel(ctx), st, report)
	}
	fmt.Fprint(c.out, view.Summary(view.Ended{
		Report: report, Dir: c.dir, Named: c.named(), Seed: c.seeds.urls[0].String(), Width: widthOf(c.out),
	}))
	return c.exit(report)
}

// passes runs the crawl, as often as its purpose takes.
func (c *crawlRun) passes(ctx context.Context, st store.Store, cfg *headway.Config) (headway.Report, error) {
	for {
		crawl, err := headway.New(*cfg)
		if err != nil {
			return headway.Report{}, usage(err, hintOf(err))
		}
		report, err := c.watched(ctx, crawl)
		for _, w := range cfg.Outputs {
			if closed := w.Close(); err == nil && closed != nil {
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

// watched runs the crawl before the eyes of whoever is there. Whatever happens,
// a panic included, the terminal is given back first.
func (c *crawlRun) watched(ctx context.Context, crawl *headway.Crawl) (headway.Report, error) {
	c.live.title = c.seeds.urls[0].String()
	if more := len(c.seeds.urls) - 1; more > 0 {
		c.live.title += fmt.Sprintf(" and %d more", more)
	}
	c.live.progress = crawl.Progress
	defer c.live.watch(ctx)()
	return crawl.Run(ctx)
}

// interrupt is Ctrl-C where a view reads the keys. More than two say nothing new.
func (c *crawlRun) interrupt() {
	select {
	case c.keys <- struct{}{}:
	default:
	}
}

// named tells whether later commands need --dir to find the crawl.
func (c *crawlRun) named() bool {
	crawls, err := crawlsIn(".")
	return c.set.Dir != "" || err != nil || len(crawls) != 1
}

// signals turns the first interrupt into a drain and the second into the end.
func (c *crawlRun) signals(ctx context.Context, cfg *headway.Config) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	drain := make(chan struct{})
	cfg.Drain = drain
	again := make(chan os.Signal, 1)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-c.keys:
		case <-ended:
			return
		}
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		fmt.Fprintln(c.err, "headway: finishing what is in flight; once more ends at once")
		close(drain)
		select {
		case <-again:
			cancel()
		case <-c.keys:
			cancel()
		case <-ended:
		}
	}()
	return work, func() {
		signal.Stop(again)
		close(ended)
		cancel()
	}
}

// readSeeds collects the seeds of arguments, config and files.
func (c *crawlRun) readSeeds(args []string) error {
	if len(args) == 0 {
		args = c.set.Seeds
	}
	for _, raw := range args {
		if err := c.seeds.add(raw); err != nil {
			return err
		}
	}
	if c.set.SeedsFile != "" {
		if err := c.seeds.read(c.set.SeedsFile, c.in); err != nil {
			return err
		}
	}
	if len(c.seeds.urls) == 0 {
		return usage(errors.New("nothing to crawl"), "name a seed, such as headway crawl https://example.com, or a file of them with --seeds")
	}
	return nil
}

// connect makes the one door to the network.
func (c *crawlRun) connect(ctx context.Context) error {
	s := c.set
	cfg := guard.Config{
		Resolver: s.Resolver, IP: guard.Family(s.IP), MaxLookups: int(s.DNS.Lookups), MaxEntries: int(s.DNS.Entries), NegativeMax: s.DNS.Negative,
	}
	for _, text := range s.AllowPrivate {
		r, err := guard.ParseRange(text)
		if err != nil {
			return usage(fmt.Errorf("allow_private: %w", err), "a range looks like 127.0.0.0/8:8780 or 10.0.0.0/8")
		}
		cfg.AllowPrivate = append(cfg.AllowPrivate, r)
	}
	c.ranges = cfg.AllowPrivate
	var err error
	if c.dialer, err = guard.New(cfg); err != nil {
		return usage(err, "--resolver takes IP:PORT, such as 127.0.0.1:53, and --ip auto, 4 or 6")
	}
	contact, err := c.contact(ctx)
	if err != nil {
		return err
	}
	product, productVersion := s.Product()
	if product == "" {
		product, productVersion = productToken, version
	}
	c.who = fetch.Identity{Product: product, Version: productVersion, Contact: contact}
	conns := int(s.Fetch.MaxConns)
	c.client, err = fetch.New(fetch.Config{
		Dialer: c.dialer, Identity: c.who,
		Timeout: s.Timeout, MaxBody: s.Fetch.MaxBody, BodyMemory: s.Fetch.BodyMemory,
		MaxConns: conns, MaxConnsPerHost: min(conns, int(s.Pace.InFlight)),
	})
	if err != nil {
		return usage(err, "")
	}
	if len(s.AllowPrivate) > 0 {
		fmt.Fprintf(c.err, "headway: warning: may go to private addresses: %s\n", oneLine(strings.Join(s.AllowPrivate, " ")))
	}
	if warning := guard.ProxyWarning(os.Getenv); warning != "" {
		fmt.Fprintf(c.err, "headway: warning: %s\n", oneLine(warning))
	}
	c.log = newWarner(c.err)
	return nil
}

// contact finds who to name, and asks the person at the terminal once. Without
// one only owned hosts are crawled, and a seed that is none is refused here
// rather than by every request.
func (c *crawlRun) contact(ctx context.Context) (string, error) {
	contact, err := findContact(c.set.Contact)
	if err != nil || contact != "" {
		return contact, err
	}
	if err := c.checkAllowed(); err != nil {
		return "", err
	}
	if c.allPrivate(ctx) {
		return "", nil
	}
	if isTerminal(c.in) {
		if contact, err = askContact(ctx, c.in, c.err); err != nil || contact != "" {
			return contact, err
		}
	}
	return "", usage(errors.New("public hosts are not asked without a contact"),
		"name who a webmaster can write to with --contact you@example.com, or in "+contactEnv)
}

// checkAllowed refuses a seed at an address that is not of the public web and
// that nobody allowed: a contact would not help.
func (c *crawlRun) checkAllowed() error {
	for _, u := range c.seeds.urls {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || guard.Public(addr) || slices.ContainsFunc(c.ranges, func(r guard.Range) bool { return r.Allows(addr, u.Port()) }) {
			continue
		}
		want := guard.Range{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Ports: []uint16{u.Port()}}
		return usage(fmt.Errorf("%s is not an address of the public web", u.Host()), "if you mean it, allow it with --allow-private "+want.String())
	}
	return nil
}

// allPrivate tells whether every seed lies in a range that counts as owned.
func (c *crawlRun) allPrivate(ctx context.Context) bool {
	if len(c.ranges) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.seeds.urls, func(u weburl.URL) bool { return !c.private(ctx, u) })
}

// private tells whether a seed lies in a range that counts as owned.
func (c *crawlRun) private(ctx context.Context, u weburl.URL) bool {
	if len(c.ranges) == 0 {
		return false
	}
	target, err := c.dialer.Resolve(ctx, u.Hostname(), u.Port())
	return err == nil && target.Private()
}

// checkOwned refuses settings that only the owner of a site may use, unless all
// seeds are owned.
func (c *crawlRun) checkOwned(ctx context.Context) error {
	c.owned = map[string]bool{}
	for _, h := range c.set.Owned {
		c.owned[strings.ToLower(h)] = true
	}
	needs := c.set.OwnedOnly()
	if len(needs) == 0 {
		return nil
	}
	for _, u := range c.seeds.urls {
		if !c.vouched(u) && !c.private(ctx, u) {
			return usage(fmt.Errorf("%s needs an owned host, and %s is not known to be one", strings.Join(needs, ", "), u.Hostname()),
				"if the host is yours, say so with --owned "+u.Hostname())
		}
	}
	return nil
}

// vouched tells whether the operator has named the host as owned, or its address
// lies in a range that counts as such.
func (c *crawlRun) vouched(u weburl.URL) bool {
	if c.owned[u.Hostname()] {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(c.ranges, func(r guard.Range) bool { return r.Prefix.Contains(addr) })
}

// secrets are the extra header fields, for each seed's host, all of which are
// owned when there are any.
func (c *crawlRun) secrets() ([]fetch.Secrets, error) {
	if len(c.set.Header) == 0 && c.set.BasicAuth == "" {
		return nil, nil
	}
	header := http.Header{}
	for _, line := range c.set.Header {
		name, value, _ := strings.Cut(line, ":")
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	user, password, _ := strings.Cut(c.set.BasicAuth, ":")
	var list []fetch.Secrets
	known := map[string]bool{}
	for _, u := range c.seeds.urls {
		if known[u.Host()] {
			continue
		}
		known[u.Host()] = true
		s, err := fetch.NewSecrets(u, header, user, password)
		if err != nil {
			return nil, usage(err, "header fields are plain names and values of one line")
		}
		list = append(list, s)
	}
	return list, nil
}

// spec is what a crawl was asked for, kept with it.
type spec struct{ answer.Asked }

// crawlName is the name of the one job in a folder.
const crawlName = "crawl"

// config makes the crawl that the settings ask for.
func (c *crawlRun) config(ctx context.Context, st store.Store) (headway.Config, error) {
	s := c.set
	policy, err := s.Policy()
	if err != nil {
		return headway.Config{}, usage(err, "headway config shows what was set, and where")
	}
	limits := limit.Resolve(s.Layers()...)
	for _, capped := range limits.Capped() {
		fmt.Fprintf(c.err, "headway: warning: %s\n", capped)
	}
	secrets, err := c.secrets()
	if err != nil {
		return headway.Config{}, err
	}
	optedOut, err := readOptOuts()
	if err != nil {
		return headway.Config{}, err
	}
	product, _ := s.Product()
	if product == "" {
		product = productToken
	}
	asked := spec{answer.Asked{
		Scope: s.Scope, ScopeHosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files, Preset: s.Preset, Sitemaps: s.Sitemaps,
		IgnoreRobots: s.IgnoreRobots, MaxWaiting: s.Frontier.MaxWaiting,
		UserAgent: c.who.UserAgent(), Contact: c.who.Contact, Token: product, Policy: policy, Owned: s.Owned, AllowPrivate: s.AllowPrivate,
	}}
	asked.Purpose = c.purpose.name
	asked.SetSeeds(c.seeds.urls)
	asked.SetLimits(limits)
	cfg := headway.Config{
		Store: st, Fetcher: c.client, Journal: filepath.Join(c.dir, "inflight.journal"), Name: crawlName,
		Seeds: c.seeds.urls, Fallback: c.seeds.fallback,
		Scope:  scope.Config{Mode: scope.Mode(s.Scope), Hosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files},
		Limits: limits, Policy: policy, Robots: robots.Policy{AllowUnreachable: policy.AllowUnreachableRobots},
		Owned: c.vouched, Secrets: secrets, IgnoreRobots: s.IgnoreRobots, Agent: product, Sitemaps: headway.Sitemaps(s.Sitemaps),
		Addresses: c.addresses(), Workers: int(s.Workers), ParseWorkers: int(s.Parse.Workers),
		Head: int(s.Frontier.Head), HotHosts: int(s.Frontier.HotHosts), SeenBytes: s.Frontier.SeenCache,
		CommitGap: s.Store.CommitGap, Free: func() (int64, error) { return freeBytes(c.dir) }, MinFree: cmp.Or(s.Store.MinFree, -1), Log: c.log,
		Strained: c.strain.Strained, RobotsWorkers: int(s.Robots.Parallel), RobotsTimeout: s.Robots.Timeout, RobotsCache: s.Robots.Cache,
		Ungoverned: !s.Governor.Enabled, MaxWaiting: s.Frontier.MaxWaiting,
		Lookups: func() guard.Layer { return c.dialer.Stats().Lookups }, OptedOut: optedOut,
	}
	if c.purpose.shape != nil {
		c.purpose.shape(&cfg)
	}
	asked.Leaves = cfg.Scope.Leaves
	if cfg.Spec, err = json.Marshal(asked); err != nil {
		return headway.Config{}, failed(err, "")
	}
	begun, ended, err := c.resume(ctx, st, &cfg, asked)
	if err != nil || ended {
		return cfg, err
	}
	if c.purpose.output != nil {
		w, err := c.purpose.output(begun)
		cfg.Outputs = []output.Writer{w}
		return cfg, err
	}
	if cfg.Outputs, err = c.openOutputs(begun); err != nil {
		return headway.Config{}, err
	}
	return cfg, nil
}

// resume looks at what the folder holds: a crawl to go on with, one that has
// ended, or nothing. What was asked for differently last time is named.
func (c *crawlRun) resume(ctx context.Context, st store.Store, cfg *headway.Config, asked spec) (begun, ended bool, err error) {
	jobs, err := st.JobList(ctx, 0, store.MaxPage)
	if err != nil {
		return false, false, failed(err, "")
	}
	for _, j := range jobs {
		if j.Name != crawlName {
			continue
		}
		if c.set.Fresh {
			if err := forget(ctx, st, j); err != nil {
				return false, false, failed(fmt.Errorf("forget the crawl in %s: %w", c.dir, err), "remove the folder")
			}
			continue
		}
		begun = true
		before, err := c.lastSpec(j)
		if err != nil {
			return false, false, failed(fmt.Errorf("read what was asked for last time: %w", err), "begin anew with --fresh")
		}
		if before.Purpose != asked.Purpose {
			return false, false, c.purpose.other(c.dir, before.Purpose)
		}
		changes := before.changes(asked)
		for _, change := range changes {
			fmt.Fprintf(c.err, "headway: changed since last time: %s\n", oneLine(change))
		}
		if pages := cfg.Limits.Max(limit.Pages); j.MaxPages == 0 && pages > 0 {
			return false, false, usage(fmt.Errorf("this crawl was begun without a limit of pages, and cannot be given one of %d", pages),
				"limit its --max-requests or --max-time, or begin anew with --fresh")
		}
		cfg.Continue = len(changes) > 0 || j.Reason == headway.DiscoveryStopped
		ended = j.State.Ended() && !(j.State == job.Partial && cfg.Continue)
		if j.State.Ended() && c.purpose.again != nil {
			again, err := c.purpose.again(ctx, st, j)
			if err != nil {
				return false, false, failed(err, "begin anew with --fresh")
			}
			ended = !again
		}
		if ended && c.purpose.afresh != nil {
			if err := forget(ctx, st, j); err != nil {
				return false, false, failed(fmt.Errorf("forget the crawl in %s: %w", c.dir, err), "remove the folder")
			}
			if err := c.purpose.afresh(cfg); err != nil {
				return false, false, failed(err, "remove the folder")
			}
			begun, ended, cfg.Continue = false, false, false
			continue
		}
		if ended {
			if len(changes) > 0 {
				fmt.Fprintln(c.err, "headway: warning: this crawl has ended without it; --fresh begins anew with it")
			}
			return begun, ended, nil
		}
	}
	if err := os.WriteFile(c.specFile(), cfg.Spec, 0o644); err != nil {
		return false, false, failed(fmt.Errorf("keep what was asked for: %w", err), "look whether "+c.dir+" can be written")
	}
	return begun, ended, nil
}

// specFile keeps what the last call asked for; the job keeps what the first did.
func (c *crawlRun) specFile() string { return filepath.Join(c.dir, "asked.json") }

// lastSpec is what was asked for last time.
func (c *crawlRun) lastSpec(j store.Job) (spec, error) {
	var last spec
	text, err := os.ReadFile(c.specFile())
	if errors.Is(err, fs.ErrNotExist) {
		text, err = j.Spec, nil
	}
	if err != nil {
		return last, err
	}
	return last, json.Unmarshal(text, &last)
}

// forget ends a job and everything known of it.
func forget(ctx context.Context, st store.Store, j store.Job) error {
	if !j.State.Ended() {
		if err := st.SetState(ctx, j.CreatedAt, j.ID, j.State, job.Cancelled, "begun anew"); err != nil {
			return err
		}
	}
	return st.Drop(ctx, j.ID)
}

// changes names what differs.
func (s spec) changes(now spec) []string {
	var list []string
	add := func(what string, before, after []string) {
		if !slices.Equal(before, after) {
			list = append(list, fmt.Sprintf("%s %s, was %s", what, orNone(after), orNone(before)))
		}
	}
	add("scope", []string{s.Scope}, []string{now.Scope})
	add("scope_hosts", s.ScopeHosts, now.ScopeHosts)
	add("include", s.Include, now.Include)
	add("exclude", s.Exclude, now.Exclude)
	add("preset", []string{s.Preset}, []string{now.Preset})
	// Of limits, those that differ.
	same := func(of []string) func(string) bool {
		return func(l string) bool { return slices.Contains(of, l) }
	}
	add("limits", slices.DeleteFunc(slices.Clone(s.Limits), same(now.Limits)), slices.DeleteFunc(slices.Clone(now.Limits), same(s.Limits)))
	return list
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// addresses tells to which addresses the interval per address applies.
func (c *crawlRun) addresses() func(netip.Addr) bool {
	var prefixes []netip.Prefix
	public := false
	for _, text := range c.set.Pace.AddressRanges {
		if text == config.PublicAddresses {
			public = true
			continue
		}
		if p, err := netip.ParsePrefix(text); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	return func(a netip.Addr) bool {
		return public && guard.Public(a) || slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
	}
}

// failure says what went wrong with a crawl, and what to do.
func (c *crawlRun) failure(err error) error {
	if hint := hintOf(err); hint != "" {
		return failed(err, hint)
	}
	return failed(err, "what was done is kept in "+c.dir+"; the same command goes on with it")
}

// openFailure says why the folder cannot be used.
func openFailure(err error) error {
	if open, ok := errors.AsType[*store.OpenError](err); ok {
		return failed(err, open.Hint)
	}
	return failed(err, "choose another folder with --dir")
}

// exit is the code for how a crawl ended.
func (c *crawlRun) exit(r headway.Report) error {
	switch r.State {
	case job.Complete:
		return nil
	case job.Partial:
		if c.set.PartialOK {
			return nil
		}
		return &Failure{Code: ExitPartial}
	case job.Blocked:
		return &Failure{Code: ExitBlocked}
	case job.Failed, job.Cancelled:
		return &Failure{Code: ExitFailed}
	default:
		return &Failure{Code: ExitInterrupted}
	}
}

// hostsFile is where all crawls of a user share what they learn of hosts.
func hostsFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = os.Getenv("LocalAppData")
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", failed(fmt.Errorf("where to remember hosts: %w", err), "set XDG_STATE_HOME")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "headway", "hosts.db"), nil
}
