package crawl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"headway"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/view"
	"headway/internal/warm"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// warmPreset is how a warmer treats hosts.
const warmPreset = "warm"

// WarmCommand builds `headway warm`.
func WarmCommand() *cobra.Command {
	var w warmRun
	cmd := crawling(&cobra.Command{
		Use:   "warm SEED…",
		Short: "Warm the caches of your own site",
		Long: `Warm the caches in front of your own site: request every page in its sitemaps
once; where there is no sitemap, follow links. A cacheable page that was a miss
is requested a second time, to verify that it is now a hit and how much faster
it is. Pages that cannot be cached are never requested twice.

You must own the hosts: name them with --owned. The preset warm applies, which
watches the response time of the origin and slows down when it rises. Run the
same command to resume an interrupted run; after a finished run it starts over.` + command.ExitHelp(command.CrawlExits...),
		Example: `  headway warm https://example.com --owned example.com
  headway warm https://example.com --owned example.com --sitemaps auto --json`,
	}, func(c *crawlRun) {
		w.crawlRun = c
		c.purpose = purpose{name: "warm", shape: w.shape, afresh: w.afresh, more: w.more, conclude: w.conclude}
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags := cmd.Flags()
		if preset := flags.Lookup("preset"); preset.Changed && preset.Value.String() != warmPreset {
			return command.Usage(fmt.Errorf("headway warm requires the preset %s, not %s", warmPreset, command.OneLine(preset.Value.String())),
				"remove --preset; use --delay to change the pace")
		}
		w.told = flags.Changed("sitemaps")
		for name, value := range map[string]string{"preset": warmPreset, "sitemaps": config.SitemapsOnly} {
			if flags.Changed(name) {
				continue
			}
			if err := flags.Set(name, value); err != nil {
				return command.Usage(err, "")
			}
		}
		return run(cmd, args)
	}
	command.JSONFlag(cmd, &w.json)
	return cmd
}

// warmRun is one call of `headway warm`.
type warmRun struct {
	*crawlRun
	told   bool // what to do with sitemaps was said
	json   bool
	state  warm.State
	format []string // what the first pass writes
	slowed slowedLog
}

// shape resumes the pass that was in progress.
func (w *warmRun) shape(cfg *crawlConfig) {
	w.slowed.next = cfg.Log.Handler()
	cfg.Log = w.slowed.logger()
	w.format = w.Settings.Format
	var err error
	if w.Settings.Fresh {
		err = warm.Forget(w.dir)
	} else {
		w.state, err = warm.Load(w.dir)
	}
	if err != nil {
		w.Log.Warn("cannot read the state of the previous run, repeating the first pass", "err", err)
	}
	w.apply(cfg)
}

// apply makes a config that of the pass that the state tells.
func (w *warmRun) apply(cfg *crawlConfig) {
	cfg.Sitemaps, cfg.Closed, w.Settings.Format = headway.Sitemaps(w.Settings.Sitemaps), false, w.format
	if w.state.Links {
		cfg.Sitemaps = headway.SitemapsOff
	}
	if !w.state.AgainAt.IsZero() {
		cfg.Closed, w.Settings.Format = true, nil
	}
}

// afresh begins with the first pass again.
func (w *warmRun) afresh(cfg *crawlConfig) error {
	w.state = warm.State{}
	w.apply(cfg)
	return warm.Forget(w.dir)
}

// more decides after each pass whether there is another: along links where no
// sitemap names a page, and once again for what was not in a cache.
func (w *warmRun) more(ctx context.Context, st store.Store, r headway.Report, cfg *crawlConfig) (bool, error) {
	if r.State != job.Complete || !w.state.AgainAt.IsZero() {
		return false, nil
	}
	before, err := warm.Read(ctx, st, r.Job, time.Time{})
	if err != nil {
		return false, err
	}
	w.state.First.Pages += r.Pages
	w.state.First.Requests += r.Requests
	w.state.First.Elapsed += r.Elapsed
	w.state.First.Incidents += r.Incidents
	var urls func(func([]weburl.URL) error) error
	switch {
	case !w.told && !w.state.Links && before.Sitemaps == 0:
		fmt.Fprintf(w.Err, "headway: no sitemap lists a page of %s; following links instead\n", w.seeds.URLs[0].Host())
		w.state.Links = true
		urls = func(do func([]weburl.URL) error) error { return warm.Pages(ctx, st, r.Job, do) }
	default:
		if w.state.Before = before; before.Cold.Pages > 0 {
			fmt.Fprintf(w.Err, "headway: %d of %d pages were not cached; requesting them again\n", before.Cold.Pages, before.Pages)
			w.state.AgainAt = time.Now().UTC()
			urls = func(do func([]weburl.URL) error) error { return warm.Cold(ctx, st, r.Job, do) }
		}
	}
	if err := w.state.Save(w.dir); err != nil || urls == nil {
		return false, err
	}
	if err := w.reopen(ctx, st, r, urls); err != nil {
		return false, err
	}
	w.apply(cfg)
	if w.Settings.Format != nil {
		cfg.Outputs, err = w.openOutputs(false)
	}
	return true, err
}

// reopen puts pages back to be asked again, and the job to the queue.
func (w *warmRun) reopen(ctx context.Context, st store.Store, r headway.Report, each func(func([]weburl.URL) error) error) error {
	err := each(func(urls []weburl.URL) error {
		_, err := st.Reopen(ctx, time.Now(), r.Job, urls)
		return err
	})
	if err == nil {
		err = st.SetState(ctx, time.Now(), r.Job, r.State, job.Queued, "")
	}
	if err != nil {
		return fmt.Errorf("reopen pages: %w", err)
	}
	return nil
}

// warmAnswer is what `headway warm --json` says.
type warmAnswer struct {
	Seed      string                  `json:"seed"`
	Dir       string                  `json:"dir"`
	State     job.State               `json:"state"`
	Reason    string                  `json:"reason"`
	Seen      int64                   `json:"seen"`
	Outcomes  map[visit.Outcome]int64 `json:"outcomes"`
	Links     bool                    `json:"followed_links"` // as there was no sitemap, or as told
	Before    *warm.Reading           `json:"before"`
	After     *warm.Reading           `json:"after,omitempty"` // if anything was asked again
	Requests  int64                   `json:"requests"`
	Elapsed   ask.Seconds             `json:"elapsed_seconds"`
	Incidents int64                   `json:"incidents"`
	Slowed    []slowedHost            `json:"slowed"`
}

// conclude prints what the caches said.
func (w *warmRun) conclude(ctx context.Context, st store.Store, r headway.Report) error {
	before, after := w.state.Before, (*warm.Reading)(nil)
	var err error
	switch {
	case before == nil:
		before, err = warm.Read(ctx, st, r.Job, time.Time{})
	case !w.state.AgainAt.IsZero():
		after, err = warm.Read(ctx, st, r.Job, w.state.AgainAt)
		// Both passes are one run.
		r.Pages += w.state.First.Pages
		r.Requests += w.state.First.Requests
		r.Elapsed += w.state.First.Elapsed
		r.Incidents += w.state.First.Incidents
	}
	if err != nil {
		return w.failure(fmt.Errorf("read cache results: %w", err))
	}
	if w.json {
		err = command.PrintJSON(w.out, w.answer(before, after, r))
	} else {
		err = w.print(before, after, r)
	}
	if err != nil {
		return command.Failed(fmt.Errorf("print cache results: %w", err), "")
	}
	if r.State == job.Complete && !warmed(r) {
		return command.Failed(errors.New("no page was fetched, so no cache was warmed"), fmt.Sprintf("headway urls --dir %s lists each URL and its outcome", w.dir))
	}
	return w.exit(r)
}

// warmed tells whether any page was fetched.
func warmed(r headway.Report) bool {
	return r.Counts.Ended[store.Ending{Outcome: visit.Fetched}]+r.Counts.Ended[store.Ending{Outcome: visit.NotModified}] > 0
}

func (w *warmRun) answer(before, after *warm.Reading, r headway.Report) warmAnswer {
	a := warmAnswer{
		Seed: visit.Redact(w.seeds.URLs[0]), Dir: w.dir, State: r.State, Reason: r.Reason, Seen: r.Counts.Seen(), Outcomes: map[visit.Outcome]int64{},
		Links: w.state.Links || w.Settings.Sitemaps != config.SitemapsOnly, Before: before, After: after,
		Requests: r.Requests, Elapsed: ask.Seconds(r.Elapsed), Incidents: r.Incidents, Slowed: w.slowed.list(),
	}
	for e, n := range r.Counts.Ended {
		a.Outcomes[e.Outcome] += n
	}
	if r.Counts.Waiting > 0 {
		a.Outcomes[visit.Pending] = r.Counts.Waiting
	}
	return a
}

// shownSlowed is how many times that a host was slowed are printed.
const shownSlowed = 5

// print writes for people what the caches said, and then how the crawl ended.
func (w *warmRun) print(before, after *warm.Reading, r headway.Report) error {
	if err := warm.Print(w.out, before, after); err != nil {
		return err
	}
	var problems []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(w.out, format, args...)
		problems = append(problems, err)
	}
	slowed := w.slowed.list()
	switch n := len(slowed); {
	case n > shownSlowed:
		line("slowed down %d times, the first of them:\n", n)
	case n > 1:
		line("slowed down %d times:\n", n)
	case n == 1:
		line("slowed down once:\n")
	}
	for _, s := range slowed[:min(len(slowed), shownSlowed)] {
		line("  %s  %s %s\n", s.At.Format(time.TimeOnly), s.Host, command.OneLine(s.Why))
	}
	if r.State == job.Partial && before.Cold.Pages > 0 && after == nil {
		line("no second pass, because the first pass is not complete\n")
	}
	_, err := fmt.Fprint(w.out, view.Summary(view.Ended{
		Report: r, Dir: w.dir, Named: w.named(), Seed: w.seeds.URLs[0].String(), Width: widthOf(w.out),
	}))
	return errors.Join(append(problems, err)...)
}
