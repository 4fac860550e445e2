package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway"
	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/job"
	"headway/robots"
	"headway/store/sqlite"
	"headway/survey"
	"headway/visit"
)

// PlanCommand builds `headway plan`.
func PlanCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "plan [SEED…]",
		Short: "Dry run: estimate a crawl before starting it",
		Long: `Estimate how a crawl with the same flags would go: what robots.txt allows, what
the sitemaps list and how much of it is in scope, the pace of each host and
what sets it, how long it would take, which limit would stop it, whether it
would be blocked, and what remains unknown until crawled.

It requests only robots.txt, sitemaps and up to four pages per host, at the
pace learned by earlier crawls. No page is stored.`,
		Example: `  headway plan https://example.com --contact you@example.com
  headway plan --seeds hosts.txt --scope domain --max-pages 100000 --json`,
	}
	config.Register(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		settings, _, err := config.Load(cmd.Flags(), os.Environ())
		if err != nil {
			return command.Usage(err, command.HintOf(err))
		}
		c := &crawlRun{Setup: NewSetup(settings, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())}
		plan, err := c.plan(cmd.Context(), args)
		switch {
		case err != nil && cmd.Context().Err() != nil:
			return command.Interrupted()
		case err != nil:
			return err
		}
		if asJSON {
			err = command.PrintJSON(c.out, plan)
		} else {
			err = PrintPlan(c.out, &plan, wide)
			fmt.Fprintf(c.out, "\nthis plan sent %s; only the learned pace of hosts was stored\n", command.Plural(plan.Sent, "request"))
		}
		if err != nil {
			return err
		}
		return PlanExit(&plan)
	}
	return cmd
}

// PlanExit is the failure of a plan that would fetch nothing, nil for others.
func PlanExit(p *answer.Plan) error {
	switch p.Ends {
	case job.Blocked:
		return &command.Failure{Code: command.ExitBlocked}
	case job.Failed:
		return &command.Failure{Code: command.ExitFailed}
	default:
		return nil
	}
}

// plan looks at the hosts of the seeds and composes the answer.
func (c *crawlRun) plan(ctx context.Context, args []string) (plan answer.Plan, err error) {
	if c.seeds, err = ReadSeeds(c.Settings, args, c.in); err != nil {
		return plan, err
	}
	if err := c.Connect(ctx); err != nil {
		return plan, err
	}
	defer c.Client.Close()
	if err := c.CheckOwned(ctx); err != nil {
		return plan, err
	}
	hosts, err := command.HostsFile()
	if err != nil {
		return plan, err
	}
	// A store of its own, for a moment: it is how the pace of hosts is shared
	// with crawls that run.
	dir, err := os.MkdirTemp("", "headway-plan-")
	if err != nil {
		return plan, command.Failed(err, "check that the folder for temporary files is writable")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Hosts: hosts, Log: c.Log})
	if err != nil {
		return plan, command.OpenFailure(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	cfg, err := c.essentials()
	if err != nil {
		return plan, err
	}
	cfg.Store = st
	look, err := headway.Survey(cfg.Worker, cfg.Job)
	if err != nil {
		return plan, command.Failed(err, "nothing was stored; try again")
	}
	surveys, err := survey.Take(ctx, look, func(host, what string) {
		fmt.Fprintf(c.Err, "headway: requesting %s/%s\n", host, command.OneLine(command.Shorten(strings.TrimPrefix(what, "/"), 80)))
	})
	if err != nil {
		if hint := command.HintOf(err); hint != "" {
			return plan, command.Failed(err, hint)
		}
		return plan, command.Failed(err, "nothing was stored; try again")
	}
	facts := answer.PlanFacts{
		Workers: int(c.Settings.Workers), Limits: answer.PlanLimits(cfg.Limits), Links: cfg.Sitemaps != headway.SitemapsOnly, Sitemaps: cfg.Sitemaps != headway.SitemapsOff,
	}
	known := map[string]bool{}
	for _, u := range c.seeds.URLs {
		known[u.Host()] = true
	}
	facts.NotAsked = max(len(known)-survey.MaxHosts, 0)
	facts.Hosts = planHosts(surveys)
	return answer.MakePlan(facts), nil
}

// planHosts puts surveys into plain data. What the sitemap of one host lists of
// another counts there.
func planHosts(surveys []*survey.Host) []answer.PlanHost {
	list := make([]answer.PlanHost, 0, len(surveys))
	place := map[string]int{}
	for _, s := range surveys {
		place[s.Host] = len(list)
		list = append(list, planHost(s))
	}
	for _, s := range surveys {
		for host, n := range s.Pages {
			at, ok := place[host]
			if !ok {
				at = place[s.Host] // not met itself: it will be as this one
			}
			list[at].Pages += n
		}
	}
	return list
}

// planHost puts one survey into plain data.
func planHost(s *survey.Host) answer.PlanHost {
	h := answer.PlanHost{
		Host: s.Host, Domain: s.Seed.Domain(), Owned: s.Owned, Moved: s.Moved, Unread: s.Unread, Listed: s.Listed, Disallowed: s.Disallowed,
		Outside: s.Outside, Repeated: s.Repeated, Links: s.Links, Unlisted: s.Unlisted, Remembered: s.Known, Sent: s.Requests,
		Robots: answer.PlanRobots{
			Status: s.Robots.Status, Ignored: s.Robots.Ignored, Seed: s.Robots.Decision.Allowed, Reason: string(s.Robots.Decision.Reason),
			Rule: s.Robots.Decision.Rule, Line: s.Robots.Decision.Line, Access: string(s.Robots.Access), Sitemaps: s.Names,
		},
	}
	h.Treat(s.Policy, s.State, time.Now())
	if s.Robots.Err != nil {
		h.Robots.Error = s.Robots.Err.Error()
	}
	for _, m := range s.Sitemaps {
		h.Sitemaps = append(h.Sitemaps, answer.PlanSitemap{URL: m.URL, Status: m.Status, Error: m.Err, Form: m.Form, Entries: m.Entries})
	}
	var took []time.Duration
	for _, l := range s.Looks {
		h.Looks = append(h.Looks, answer.PlanPage{URL: l.URL, Outcome: string(l.Outcome), Status: l.Status, Detail: l.Detail, Took: ask.Seconds(l.Took), Bytes: l.Bytes})
		if l.Outcome == visit.Fetched {
			took = append(took, l.Took)
			h.PageBytes += l.Bytes
		}
	}
	if n := len(took); n > 0 {
		slices.Sort(took)
		h.Response, h.PageBytes = ask.Seconds(took[n/2]), h.PageBytes/int64(n)
	}
	h.Blocked, h.Failed = planStopped(s, &h)
	return h
}

// planStopped says why nothing of a host would be fetched.
func planStopped(s *survey.Host, h *answer.PlanHost) (blocked, failure string) {
	d := s.Robots.Decision
	var listed int64
	for _, n := range s.Pages {
		listed += n
	}
	switch {
	case s.Taken:
		return "", "another crawl on this machine is using this host; try again when it has finished"
	case s.State.Paused():
		return "paused by an operator", ""
	case !s.Held.IsZero():
		return "", "the host is on hold until " + s.Held.Local().Format(time.DateTime)
	case s.Moved != "" && len(s.Looks) == 0 && s.Robots.Err != nil:
		return "", "no response; requested " + s.Moved + " instead"
	case s.Robots.Err != nil && s.Robots.Sent.IsZero():
		return "", s.Robots.Err.Error()
	case s.Requests == 0 && !s.Robots.Ignored:
		return "the host is on the opt-out list", ""
	case d.Reason == robots.DelayTooLong:
		return fmt.Sprintf("robots.txt sets a Crawl-delay of %v, above the maximum of %v", d.Delay, robots.MaxDelay), ""
	case s.Robots.Access == robots.AccessNone:
		return "robots.txt is unreachable, so nothing is fetched", ""
	case !d.Allowed && listed == 0:
		return fmt.Sprintf("robots.txt disallows the seed, line %d: %s", d.Line, d.Rule), ""
	case s.Left && listed <= 1: // the seed itself
		return "", "the seed redirects to " + s.Moved + ", which is out of scope"
	}
	for _, l := range s.Looks {
		if l.Outcome == visit.Blocked {
			return l.Detail, ""
		}
	}
	if s.State.Refusing() {
		return fmt.Sprintf("the host refuses requests (%s)", h.Source), ""
	}
	return "", ""
}

// PrintPlan shows a plan to a person.
func PrintPlan(w io.Writer, p *answer.Plan, wide bool) error {
	command.PrintSentences(w, command.OneLine(p.Sentence), wide)
	for i := range p.Hosts {
		printPlanHost(w, &p.Hosts[i], wide)
	}
	if len(p.Limits) > 0 {
		fmt.Fprintln(w, "\nlimits in force:")
		tab := command.NewTable("", "", "", "~")
		for _, l := range p.Limits {
			word := ""
			switch {
			case l.Stops:
				word = "would stop the crawl"
			case l.Needs > 0:
				word = "enough"
			}
			tab.Add("  "+l.Name, planAmount(l.Max, l.Unit), l.Layer, word)
		}
		if err := tab.Print(w, wide); err != nil {
			return err
		}
	}
	if len(p.Unknown) > 0 {
		fmt.Fprintln(w, "\nunknown until crawled:")
		for _, u := range p.Unknown {
			command.PrintText(w, "  ", command.OneLine(u), wide)
		}
	}
	return nil
}

// printPlanHost shows one host.
func printPlanHost(w io.Writer, h *answer.PlanHost, wide bool) {
	fmt.Fprintf(w, "\n%s\n", h.Host)
	row := func(name, text string) {
		if text != "" {
			command.PrintText(w, fmt.Sprintf("  %-10s  ", name), command.OneLine(text), wide)
		}
	}
	row("blocked", h.Blocked)
	row("failed", h.Failed)
	row("robots.txt", planRobots(&h.Robots))
	row("moved", h.Moved)
	row("sitemaps", planSitemaps(h))
	row("paths", planPrefixes(h))
	if h.Blocked == "" && h.Failed == "" {
		word := "or more (no sitemap gives a count)"
		if h.SizeKnown {
			word = "according to sitemaps"
		} else if h.Unread > 0 {
			word = "according to the sitemaps read"
		}
		row("size", fmt.Sprintf("%s %s, %s in total", command.Plural(int(h.Pages), "page"), word, command.Plural(int(h.Requests), "request")))
		row("pace", planPace(h))
		row("takes", "about "+h.Takes.Duration().Round(100*time.Millisecond).String())
	}
}

func planRobots(r *answer.PlanRobots) string {
	var parts []string
	switch {
	case r.Ignored:
		return "ignored with the host owner's permission"
	case r.Error != "":
		parts = append(parts, command.Shorten(r.Error, 120))
	case r.Status > 0:
		parts = append(parts, fmt.Sprintf("status %d", r.Status))
	case r.Access != "": // by what was read before
	default:
		return ""
	}
	word := "the seed is disallowed"
	if r.Seed {
		word = "the seed is allowed"
	}
	if r.Line > 0 {
		word += fmt.Sprintf(" by line %d, %s", r.Line, r.Rule)
	}
	parts = append(parts, word)
	if r.CrawlDelay > 0 {
		parts = append(parts, "Crawl-delay "+r.CrawlDelay.Duration().String())
	}
	if n := len(r.Sitemaps); n > 0 {
		parts = append(parts, "lists "+command.Plural(n, "sitemap"))
	}
	return strings.Join(parts, ", ")
}

func planSitemaps(h *answer.PlanHost) string {
	if len(h.Sitemaps) == 0 {
		return ""
	}
	if h.Listed == 0 {
		last := h.Sitemaps[len(h.Sitemaps)-1]
		if last.Error != "" {
			return "no page listed: " + command.Shorten(last.Error, 120)
		}
		return fmt.Sprintf("no page listed: %s answered %d", last.URL, last.Status)
	}
	text := fmt.Sprintf("%s read, %s listed", command.Plural(len(h.Sitemaps), "file"), command.Plural(int(h.Listed), "URL"))
	for _, x := range []struct {
		n    int64
		what string
	}{{h.Outside, "out of scope"}, {h.Disallowed, "disallowed by robots.txt"}, {h.Repeated, "listed twice"}, {int64(h.Unread), "more files not read"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	return text
}

func planPrefixes(h *answer.PlanHost) string {
	var parts []string
	for _, p := range h.Prefixes[:min(len(h.Prefixes), prefixesShown)] {
		parts = append(parts, fmt.Sprintf("%s %d", p.Prefix, p.URLs))
	}
	return strings.Join(parts, ", ")
}

// prefixesShown is how many beginnings of paths are shown to a person.
const prefixesShown = 5

func planPace(h *answer.PlanHost) string {
	text := fmt.Sprintf("one request every %s (%s), at most %d at once", h.Pace.Duration(), h.Source, h.InFlight)
	if h.Pace == 0 {
		text = fmt.Sprintf("as fast as it responds (%s), at most %d at once", h.Source, h.InFlight)
	}
	if h.Response > 0 {
		text += ", " + command.RoundTime(h.Response.Duration()) + " per page"
	}
	if h.Remembered {
		text += "; known from earlier crawls"
	}
	return text
}

// planAmount is a limit with its unit.
func planAmount(n float64, unit string) string {
	switch unit {
	case "seconds":
		return ask.FromSeconds(n).Duration().String()
	case "bytes":
		return command.Plural(int(n), "byte")
	default:
		return strconv.FormatInt(int64(n), 10)
	}
}
