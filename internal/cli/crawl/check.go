package crawl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"headway"
	"headway/ask"
	"headway/content"
	"headway/fetch/guard"
	"headway/internal/check"
	"headway/internal/cli/command"
	"headway/job"
	"headway/limit"
	"headway/output"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// defaultRecheck is how old a verdict may be that a link is ok.
const defaultRecheck = 24 * time.Hour

// CheckCommand builds `headway check`.
func CheckCommand() *cobra.Command {
	var k checkRun
	cmd := crawling(&cobra.Command{
		Use:   "check [SEED…]",
		Short: "Check the links of a site; exit code 1 if any is dead",
		Long: `Crawl a site and request each link on its pages once, including links to other
hosts, within robots.txt and at the pace of each host. A link is dead when its
server says that the page does not exist (404, 410 and similar), or when its
host name does not exist. Throttled, blocked and unknown links are listed
separately and do not fail the check.

Results are kept in the folder of the check. The next run reads every page of
the site again with conditional requests. On other sites it rechecks links that
were not ok, and those last checked longer ago than --recheck.` + command.ExitHelp(append([]int{command.ExitDead}, command.CrawlExits...)...),
		Example: `  headway check https://example.com --contact you@example.com
  headway check https://example.com --junit links.xml --recheck 6h
  headway check https://example.com --json | jq '.not_ok[].url'`,
	}, func(c *crawlRun) {
		k.crawlRun = c
		c.purpose = purpose{name: "check", shape: k.shape, again: k.again, output: k.log, conclude: k.conclude}
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains([]check.FailOn{check.FailOnDead, check.FailOnBroken, check.FailOnNone}, check.FailOn(k.failOn)) {
			return command.Usage(fmt.Errorf("invalid value %q for --fail-on", command.OneLine(k.failOn)), "choose one of dead, broken, none")
		}
		if k.recheck < 0 {
			return command.Usage(fmt.Errorf("invalid duration %s for --recheck", k.recheck), "use 0 or more, for example 6h; 0 rechecks everything")
		}
		return run(cmd, args)
	}
	cmd.Flags().StringVar(&k.failOn, "fail-on", string(check.FailOnDead), "`links` that cause exit code 1: dead, broken (dead links and redirect loops) or none")
	cmd.Flags().DurationVar(&k.recheck, "recheck", defaultRecheck, "recheck good links on other sites after this long; 0 means every time")
	cmd.Flags().StringVar(&k.junit, "junit", "", "also write the results to this `file`, as JUnit XML")
	command.JSONFlag(cmd, &k.json)
	return cmd
}

// checkRun is one call of `headway check`.
type checkRun struct {
	*crawlRun
	failOn  string
	recheck time.Duration
	junit   string
	json    bool
	kept    int64 // verdicts of earlier runs
	read    bool  // a page of the site itself
	cfg     *crawlConfig
}

// shape makes links out of scope leaves. Limits count for each run by itself.
func (k *checkRun) shape(cfg *crawlConfig) {
	cfg.Scope.Leaves, cfg.ResetUsage = true, true
	cfg.Content, cfg.Extract, cfg.Links = content.Options{}, nil, false // it writes no pages
	k.cfg = cfg
}

// links is the file of which page links to what.
func (k *checkRun) links() string { return filepath.Join(k.dir, "links.jsonl") }

func (k *checkRun) log(begun bool) (output.Writer, error) {
	l, err := check.OpenLog(k.links(), !begun)
	if err != nil {
		return nil, command.Failed(err, "check that "+k.dir+" is writable")
	}
	return l, nil
}

// again queues a check that has ended once more, with what there is to ask.
func (k *checkRun) again(ctx context.Context, st store.Store, j store.Job) (bool, error) {
	if j.State == job.Cancelled {
		return false, nil
	}
	own, err := k.ownSite(ctx, st, j.ID)
	if err != nil {
		return false, err
	}
	k.cfg.Known = check.Known(st, j.ID)
	a := check.Rerun{Store: st, Job: j.ID, Log: k.links(), Recheck: k.recheck, Own: own, NoSuchHost: k.nameless}
	n, err := a.Reopen(ctx, time.Now())
	if err != nil {
		return false, fmt.Errorf("find links to recheck: %w", err)
	}
	counts, err := st.Counts(ctx, j.ID)
	if err != nil {
		return false, fmt.Errorf("read counts: %w", err)
	}
	k.kept = counts.Finished()
	if counts.Waiting == 0 {
		return false, nil
	}
	if n > 0 {
		fmt.Fprintf(k.Err, "headway: rechecking %s, keeping %s\n", command.Plural(n, "link"), command.Plural(int(k.kept), "verdict"))
	}
	if err := st.SetState(ctx, time.Now(), j.ID, j.State, job.Queued, ""); err != nil {
		return false, fmt.Errorf("queue the check: %w", err)
	}
	return true, nil
}

// ownSite tells the URLs of the site that is checked from links to others. A file of
// the site is its own, too.
func (k *checkRun) ownSite(ctx context.Context, st store.Store, id job.ID) (func(weburl.URL) bool, error) {
	cfg := k.cfg.Scope
	cfg.Seeds, cfg.Leaves, cfg.Files = k.cfg.Seeds, false, true
	rules, err := scope.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	if err := check.Widen(ctx, st, id, rules); err != nil {
		return nil, fmt.Errorf("read redirects: %w", err)
	}
	return func(u weburl.URL) bool { return rules.Decide(u, 0).In }, nil
}

// nameless tells whether a name server says that there is no such host.
func (k *checkRun) nameless(ctx context.Context, u weburl.URL) bool {
	_, err := k.Dialer.Resolve(ctx, u.Hostname(), u.Port())
	failure, ok := errors.AsType[*guard.DNSError](err)
	return ok && failure.Definite()
}

// checkAnswer is what `headway check --json` says.
type checkAnswer struct {
	*check.Report
	Dir     string      `json:"dir"`
	Asked   int64       `json:"requests"` // of this run
	Elapsed ask.Seconds `json:"elapsed_seconds"`
	Kept    int64       `json:"verdicts_kept"` // of earlier runs
	Read    bool        `json:"site_read"`     // at least one page of the site itself
}

// conclude prints the verdicts.
func (k *checkRun) conclude(ctx context.Context, st store.Store, r headway.Report) error {
	if r.Again {
		k.kept = r.Counts.Finished()
	}
	rep, err := check.New(ctx, st, store.Job{ID: r.Job, State: r.State, Reason: r.Reason}, k.links(), check.FailOn(k.failOn))
	if err != nil {
		return k.failure(fmt.Errorf("read the verdicts: %w", err))
	}
	if k.junit != "" {
		if err := rep.WriteJUnit(k.junit, time.Now(), r.Elapsed); err != nil {
			return command.Failed(err, "check that the folder of the file exists and is writable")
		}
	}
	own, err := k.ownSite(ctx, st, r.Job)
	if err == nil {
		k.read, err = check.AnyRead(ctx, st, r.Job, own)
	}
	if err != nil {
		return k.failure(fmt.Errorf("read the verdicts: %w", err))
	}
	if k.json {
		err = command.PrintJSON(k.out, checkAnswer{rep, k.dir, r.Requests, ask.Seconds(r.Elapsed), k.kept, k.read})
	} else {
		err = k.print(rep, r)
	}
	if err != nil {
		return command.Failed(fmt.Errorf("print the verdicts: %w", err), "")
	}
	return k.exitCode(rep, r)
}

// print writes the verdicts for people.
func (k *checkRun) print(rep *check.Report, r headway.Report) error {
	if err := rep.Print(k.out); err != nil {
		return err
	}
	if !k.read {
		if _, err := fmt.Fprintf(k.out, "no page of %s could be read, so its links are unknown\n", k.seeds.URLs[0].Host()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(k.out, "%s: %s; %s in %s, %s kept from earlier runs; folder %s\n",
		r.State, r.Reason, command.Plural(int(r.Requests), "request"), r.Elapsed.Round(time.Second), command.Plural(int(k.kept), "verdict"), k.dir)
	return err
}

// exitCode is 1 for what fails the check, whatever else happened but an
// interruption. Another host that never let us in within the crawl's patience leaves
// links unknown, which is not a failure; a limit that left links unasked is one, and so
// is a site that could not be read itself.
func (k *checkRun) exitCode(rep *check.Report, r headway.Report) error {
	switch {
	case r.State == job.Running:
		return k.exit(r)
	case rep.Failed:
		return &command.Failure{Code: command.ExitDead}
	case !k.read && r.State == job.Complete:
		return &command.Failure{Code: command.ExitFailed}
	case !k.read && r.State == job.Partial:
		return &command.Failure{Code: command.ExitPartial}
	case r.State == job.Partial && r.Reason == string(limit.Patience) && rep.Counts[check.Waiting] == 0:
		return nil
	case r.State == job.Complete && r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.BudgetHost}] > 0 && !k.Settings.PartialOK:
		return &command.Failure{Code: command.ExitPartial}
	default:
		return k.exit(r)
	}
}
