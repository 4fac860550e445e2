package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"headway"
	"headway/fetch/guard"
	"headway/internal/check"
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

func checkCommand() *cobra.Command {
	var k checkRun
	cmd := crawling(&cobra.Command{
		Use:   "check [SEED…]",
		Short: "Check the links of a site; exit code 1 only for what is really dead",
		Long: `Crawl a site and ask once for everything its pages link to, also on other hosts,
at the pace each host is happy with and as far as its robots.txt allows. A link is
dead when its server says that there is no such page (404, 410 and the like) or
its name does not exist. Throttled, blocked and unknown links are printed apart
and never fail a check.

Verdicts are kept in the folder of the check. The same command reads every page
of the site again, asking its server only whether it changed. Of other sites it asks
again what was not ok, and what was ok longer ago than --recheck.` + exitHelp(append([]int{ExitDead}, crawlExits...)...),
		Example: `  headway check https://example.com --contact you@example.com
  headway check https://example.com --junit links.xml --recheck 6h
  headway check https://example.com --json | jq '.not_ok[] | select(.verdict == "dead")'`,
	}, func(c *crawlRun) {
		k.crawlRun = c
		c.purpose = purpose{name: "check", shape: k.shape, again: k.again, output: k.log, conclude: k.conclude}
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains([]check.FailOn{check.FailOnDead, check.FailOnBroken, check.FailOnNone}, check.FailOn(k.failOn)) {
			return usage(fmt.Errorf("--fail-on %q", oneLine(k.failOn)), "--fail-on takes dead, broken or none")
		}
		if k.recheck < 0 {
			return usage(fmt.Errorf("--recheck %s is negative", k.recheck), "--recheck 0 asks everything again")
		}
		return run(cmd, args)
	}
	cmd.Flags().StringVar(&k.failOn, "fail-on", string(check.FailOnDead), "which links make the exit code 1: `dead`, broken (also redirects in a circle) or none")
	cmd.Flags().DurationVar(&k.recheck, "recheck", defaultRecheck, "ask again what was ok on other sites longer ago than this; 0 means everything")
	cmd.Flags().StringVar(&k.junit, "junit", "", "also write the verdicts to this `file`, as JUnit XML")
	jsonFlag(cmd, &k.json)
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
	cfg.Scope.Leaves, cfg.Anew = true, true
	k.cfg = cfg
}

// links is the file of which page links to what.
func (k *checkRun) links() string { return filepath.Join(k.dir, "links.jsonl") }

func (k *checkRun) log(begun bool) (output.Writer, error) {
	l, err := check.OpenLog(k.links(), !begun)
	if err != nil {
		return nil, failed(err, "look whether "+k.dir+" can be written")
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
	a := check.Again{Store: st, Job: j.ID, Log: k.links(), Recheck: k.recheck, Own: own, Nameless: k.nameless}
	n, err := a.Reopen(ctx, time.Now())
	if err != nil {
		return false, fmt.Errorf("find what is to be asked again: %w", err)
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
		fmt.Fprintf(k.err, "headway: %s to ask again, %s kept\n", plural(n, "link"), plural(int(k.kept), "verdict"))
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
	_, err := k.dialer.Resolve(ctx, u.Hostname(), u.Port())
	failure, ok := errors.AsType[*guard.DNSError](err)
	return ok && failure.Definite()
}

// checkAnswer is what `headway check --json` says.
type checkAnswer struct {
	*check.Report
	Dir     string `json:"dir"`
	Asked   int64  `json:"requests"` // of this run
	Elapsed int64  `json:"elapsed_ms"`
	Kept    int64  `json:"verdicts_kept"` // of earlier runs
	Read    bool   `json:"site_read"`     // at least one page of the site itself
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
			return failed(err, "look whether the folder of the file is there and can be written")
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
		err = printJSON(k.out, checkAnswer{rep, k.dir, r.Requests, r.Elapsed.Milliseconds(), k.kept, k.read})
	} else {
		err = k.print(rep, r)
	}
	if err != nil {
		return failed(fmt.Errorf("print the verdicts: %w", err), "")
	}
	return k.exitCode(rep, r)
}

// print writes the verdicts for people.
func (k *checkRun) print(rep *check.Report, r headway.Report) error {
	if err := rep.Print(k.out); err != nil {
		return err
	}
	if !k.read {
		if _, err := fmt.Fprintf(k.out, "no page of %s was read: nothing is known of its links\n", k.seeds.urls[0].Host()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(k.out, "%s: %s; %s in %s, %s kept from before, in %s\n",
		r.State, r.Reason, plural(int(r.Requests), "request"), r.Elapsed.Round(time.Second), plural(int(k.kept), "verdict"), k.dir)
	return err
}

// exitCode is 1 for what fails the check, whatever else happened but an
// interruption. Another host that never let us in within the crawl's patience leaves
// links unknown, which is no failure; a limit that left links unasked is one, and so
// is a site that could not be read itself.
func (k *checkRun) exitCode(rep *check.Report, r headway.Report) error {
	switch {
	case r.State == job.Running:
		return k.exit(r)
	case rep.Failed:
		return &Failure{Code: ExitDead}
	case !k.read && r.State == job.Complete:
		return &Failure{Code: ExitFailed}
	case !k.read && r.State == job.Partial:
		return &Failure{Code: ExitPartial}
	case r.State == job.Partial && r.Reason == string(limit.Patience) && rep.Counts[check.Waiting] == 0:
		return nil
	case r.State == job.Complete && r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.BudgetHost}] > 0 && !k.set.PartialOK:
		return &Failure{Code: ExitPartial}
	default:
		return k.exit(r)
	}
}
