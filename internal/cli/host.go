package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway"
	"headway/ask"
	"headway/internal/config"
	"headway/store/postgres"
	"headway/store/sqlite"
	"headway/weburl"
)

// patient is how long an answer of a running crawl is waited for.
const patient = 5 * time.Second

func hostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Pause, resume, slow or forget a host of a crawl, or of a fleet",
		Long: `Give an order about one host to a crawl that runs. It takes effect within a
second, is kept with the host for later crawls, and is written to control.jsonl in
the crawl's folder with what was before and what is now. Where no crawl runs, it
changes what is kept of the host, and later crawls begin with that.

With --store, or HEADWAY_FLEET_STORE and no --dir, it goes to the worker of a fleet
that owns the host, holds for all jobs and whoever owns the host later, and is
written to the table control.`,
	}
	for _, o := range []struct {
		kind        ask.Kind
		use, short  string
		example     string
		takesSecond bool
	}{
		{ask.KindPause, "pause HOST", "Send nothing more to a host until it is resumed", "  headway host pause shop.example.com", false},
		{ask.KindResume, "resume HOST", "Go on with a host that was paused", "  headway host resume shop.example.com", false},
		{ask.KindSlow, "slow HOST INTERVAL", "Keep at least an interval between requests to a host; 0 lifts it", "  headway host slow shop.example.com 5s\n  headway host slow shop.example.com 0", true},
		{ask.KindForget, "forget HOST", "Forget the pace that was learned for a host", "  headway host forget shop.example.com", false},
	} {
		args := cobra.ExactArgs(1)
		if o.takesSecond {
			args = cobra.ExactArgs(2)
		}
		sub := &cobra.Command{Use: o.use, Short: o.short, Example: o.example, Args: args}
		var anyway, asJSON bool
		dir := dirFlag(sub.Flags())
		sub.Flags().BoolVar(&anyway, "anyway", false, "also for a host the crawl has not met: it is obeyed when it is met")
		jsonFlag(sub, &asJSON)
		config.RegisterStore(sub.Flags())
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			q := ask.Question{Kind: o.kind, By: userName()}
			if o.takesSecond {
				d, err := interval(args[1])
				if err != nil {
					return err
				}
				q.Delay = ask.Millis(d)
			}
			if fleet, err := meansFleet(cmd, *dir); fleet || err != nil {
				if err != nil {
					return err
				}
				return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
					return tellFleetHost(ctx, cmd.OutOrStdout(), st, args[0], q, anyway, asJSON)
				})
			}
			return tellHost(cmd, *dir, args[0], q, anyway, asJSON)
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop --discovery",
		Short: "Let a running crawl finish what waits, and follow no further links",
		Long: `Tell a crawl that runs to follow no further links and read no further sitemaps.
What waits is still fetched; what is found from now on is kept as deferred, and
the same crawl command goes on with it later.

To end a crawl altogether press Ctrl-C where it runs, or send it SIGTERM.`,
		Args: cobra.NoArgs,
	}
	var asJSON bool
	dir := dirFlag(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	discovery := cmd.Flags().Bool("discovery", false, "stop following links")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*discovery {
			return usage(errors.New("stop what?"), "headway stop --discovery follows no further links; Ctrl-C, or SIGTERM, ends a crawl")
		}
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		return tell(cmd, found, ask.Question{Kind: ask.KindStopDiscovery, By: userName()}, asJSON)
	}
	return cmd
}

// tellHost gives an order about a host, which may be named without its scheme.
func tellHost(cmd *cobra.Command, dir, name string, q ask.Question, anyway, asJSON bool) error {
	hosts, err := hostsNamed(name)
	if err != nil {
		return err
	}
	found, err := findCrawl(dir, hosts[0])
	if err != nil && dir != "" {
		return err
	}
	if err != nil {
		return orderAtRest(cmd, "", name, hosts, q, asJSON)
	}
	running, err := sqlite.Running(found)
	if err != nil {
		return failed(fmt.Errorf("look at %s: %w", found, err), "look whether the folder can be read")
	}
	if !running {
		return orderAtRest(cmd, found, name, hosts, q, asJSON)
	}
	known, err := knownHost(cmd.Context(), found, hosts)
	switch {
	case err != nil:
		return err
	case known != "":
		q.Host = known
	case anyway:
		q.Host = hosts[0]
	default:
		return usage(fmt.Errorf("%s has no part in this crawl at the moment", name), likeHosts(cmd.Context(), found, hosts[0]))
	}
	return tell(cmd, found, q, asJSON)
}

// orderAtRest gives an order to what is kept of a host, as no crawl runs in the
// folder, if there is one.
func orderAtRest(cmd *cobra.Command, dir, name string, hosts []string, q ask.Question, asJSON bool) error {
	for _, q.Host = range hosts {
		change, err := changeKept(cmd.Context(), q)
		switch {
		case errors.Is(err, headway.ErrHostUnknown):
			continue
		case errors.Is(err, headway.ErrHostTaken):
			return failed(err, "name the folder of that crawl with --dir, or end it")
		case err != nil:
			return err
		}
		if dir != "" {
			if err := ask.NewMailbox(dir).Record(&change); err != nil {
				return failed(err, "the order holds, but is not in the log of "+dir)
			}
		}
		return printChange(cmd.OutOrStdout(), ask.Answer{Change: &change}, asJSON)
	}
	return usage(fmt.Errorf("no crawl runs here, and nothing is kept of %s", name), "orders are for hosts that a crawl has met: headway hosts lists those of one")
}

// changeKept changes what all crawls of this user keep of a host.
func changeKept(ctx context.Context, q ask.Question) (change ask.Change, err error) {
	hosts, err := hostsFile()
	if err != nil {
		return change, err
	}
	// A store of its own, for a moment, as a look ahead has.
	dir, err := os.MkdirTemp("", "headway-host-")
	if err != nil {
		return change, failed(err, "look whether the folder for temporary files can be written")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Hosts: hosts})
	if err != nil {
		return change, openFailure(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return headway.OrderAtRest(ctx, st, q)
}

// knownHost is the one of some hosts that the crawl has met, empty for none.
func knownHost(ctx context.Context, dir string, hosts []string) (string, error) {
	for _, h := range hosts {
		_, err := askCrawl(ctx, dir, ask.Question{Kind: ask.KindHosts, Host: h})
		if err == nil {
			return h, nil
		}
		if failure, ok := errors.AsType[*Failure](err); ok {
			return "", failure // nobody is there to ask
		}
	}
	return "", nil
}

// likeHosts is a hint that names hosts of the crawl of the same name.
func likeHosts(ctx context.Context, dir, host string) string {
	const hint = "headway hosts lists them; --anyway keeps the order for when it is met"
	a, err := askCrawl(ctx, dir, ask.Question{Kind: ask.KindHosts})
	u, parsed := weburl.Parse(host)
	if err != nil || parsed != nil {
		return hint
	}
	for _, h := range a.Hosts {
		if other, err := weburl.Parse(h.Host); err == nil && other.Hostname() == u.Hostname() {
			return "did you mean " + h.Host + "? " + hint
		}
	}
	return hint
}

// tell gives an order and prints what it changed.
func tell(cmd *cobra.Command, dir string, q ask.Question, asJSON bool) error {
	a, err := askCrawl(cmd.Context(), dir, q)
	if err != nil {
		return err
	}
	return printChange(cmd.OutOrStdout(), a, asJSON)
}

// userName is who gives an order, for the log.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

// printChange prints what an order changed.
func printChange(out io.Writer, a ask.Answer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(a.Change)
	}
	if a.Change.Host != "" {
		fmt.Fprintf(out, "%s %s\n", a.Change.Order, a.Change.Host)
	} else {
		fmt.Fprintf(out, "%s\n", a.Change.Order)
	}
	fmt.Fprintf(out, "before: %s\nnow:    %s\n", a.Change.Before, a.Change.After)
	return nil
}

// askCrawl asks the crawl that runs in a folder.
func askCrawl(ctx context.Context, dir string, q ask.Question) (ask.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	a, err := ask.NewMailbox(dir).Ask(ctx, q)
	if errors.Is(err, ask.ErrNobody) {
		return a, usage(fmt.Errorf("no crawl runs in %s", dir), "orders are for a crawl that runs: start it with headway crawl --dir "+dir+
			" and say it again while it runs; what was ordered before holds from its start")
	}
	return a, err
}

// hostsNamed reads a host as people name it: with its scheme, or without, which
// may mean either.
func hostsNamed(name string) ([]string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "://") {
		candidates = []string{"https://" + name, "http://" + name}
	}
	var hosts []string
	for _, c := range candidates {
		u, err := weburl.Parse(c)
		if err != nil {
			return nil, usage(fmt.Errorf("%q is no host", name), "a host looks like example.com, example.com:8080 or http://example.com")
		}
		hosts = append(hosts, u.Host())
	}
	return hosts, nil
}

// interval reads a duration; a bare 0 is one.
func interval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usage(fmt.Errorf("%q is no interval", text), "an interval looks like 500ms, 5s or 1m; 0 lifts it")
	}
	return d, nil
}
