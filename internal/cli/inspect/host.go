package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"headway"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/store/sqlite"
	"headway/weburl"
)

// HostCommand builds `headway host`.
func HostCommand(fleet Fleet) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Pause, resume or slow down one host of a crawl or fleet",
		Long: `Pause, resume or slow down one host of a running crawl, or discard its learned
pace. The order takes effect within a second, is kept for later crawls, and is
logged in control.jsonl in the crawl's folder with the state before and after.
If no crawl is running, it changes the stored state of the host, which later
crawls start with.

With --store, or HEADWAY_FLEET_STORE and no --dir, the order goes to the worker
of a fleet that owns the host. It applies to all jobs, survives a change of
owner and is logged in the table control.`,
	}
	for _, o := range []struct {
		kind        ask.Kind
		use, short  string
		example     string
		takesSecond bool
	}{
		{ask.KindPause, "pause HOST", "Send no more requests to a host until it is resumed", "  headway host pause shop.example.com", false},
		{ask.KindResume, "resume HOST", "Resume a paused host", "  headway host resume shop.example.com", false},
		{ask.KindSlow, "slow HOST INTERVAL", "Set a minimum interval between requests to a host; 0 removes it", "  headway host slow shop.example.com 5s\n  headway host slow shop.example.com 0", true},
		{ask.KindForget, "forget HOST", "Discard the pace learned for a host", "  headway host forget shop.example.com", false},
	} {
		args := cobra.ExactArgs(1)
		if o.takesSecond {
			args = cobra.ExactArgs(2)
		}
		sub := &cobra.Command{Use: o.use, Short: o.short, Example: o.example, Args: args}
		var anyway, asJSON bool
		dir := command.DirFlag(sub.Flags())
		sub.Flags().BoolVar(&anyway, "anyway", false, "accept a host that the crawl has not found yet; the order applies once it is")
		command.JSONFlag(sub, &asJSON)
		config.RegisterStore(sub.Flags())
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			q := ask.Question{Kind: o.kind, By: command.UserName()}
			if o.takesSecond {
				d, err := command.Interval(args[1])
				if err != nil {
					return err
				}
				q.Delay = ask.Seconds(d)
			}
			inFleet, err := fleet.Chosen(cmd, *dir)
			if err != nil {
				return err
			}
			if inFleet {
				a, err := fleet.OrderHost(cmd, args[0], q, anyway)
				if err != nil {
					return err
				}
				return printChange(cmd.OutOrStdout(), a, asJSON)
			}
			return tellHost(cmd, *dir, args[0], q, anyway, asJSON)
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

// StopCommand builds `headway stop`.
func StopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop --discovery",
		Short: "Stop a running crawl from following further links",
		Long: `Stop a running crawl from following further links and reading further sitemaps.
Waiting URLs are still fetched; URLs found from now on are recorded as
deferred. Run the same crawl command to resume with them later.

To stop a crawl completely, press Ctrl-C or send it SIGTERM.`,
		Args: cobra.NoArgs,
	}
	var asJSON bool
	dir := command.DirFlag(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	discovery := cmd.Flags().Bool("discovery", false, "stop following links and reading sitemaps")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*discovery {
			return command.Usage(errors.New("nothing to stop: --discovery is missing"), "headway stop --discovery stops following new links; to stop a crawl, press Ctrl-C or send SIGTERM")
		}
		found, err := command.FindCrawl(*dir, "")
		if err != nil {
			return err
		}
		return tell(cmd, found, ask.Question{Kind: ask.KindStopDiscovery, By: command.UserName()}, asJSON)
	}
	return cmd
}

// tellHost gives an order about a host, which may be named without its scheme.
func tellHost(cmd *cobra.Command, dir, name string, q ask.Question, anyway, asJSON bool) error {
	hosts, err := command.HostsNamed(name)
	if err != nil {
		return err
	}
	found, err := command.FindCrawl(dir, hosts[0])
	if err != nil && dir != "" {
		return err
	}
	if err != nil {
		return orderAtRest(cmd, "", name, hosts, q, asJSON)
	}
	running, err := sqlite.Running(found)
	if err != nil {
		return command.Failed(fmt.Errorf("read %s: %w", found, err), "check that the folder is readable")
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
		return command.Usage(fmt.Errorf("host %s is not part of this crawl at the moment", name), likeHosts(cmd.Context(), found, hosts[0]))
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
			return command.Failed(err, "give the folder of that crawl with --dir, or stop it")
		case err != nil:
			return err
		}
		if dir != "" {
			if err := ask.NewMailbox(dir).Record(&change); err != nil {
				return command.Failed(err, "the change is active, but is missing from the log of "+dir)
			}
		}
		return printChange(cmd.OutOrStdout(), ask.Answer{Change: &change}, asJSON)
	}
	return command.Usage(fmt.Errorf("no crawl is running here, and nothing is stored about %s", name), "give a host that a crawl has contacted; headway hosts lists them")
}

// changeKept changes what all crawls of this user keep of a host.
func changeKept(ctx context.Context, q ask.Question) (change ask.Change, err error) {
	hosts, err := command.HostsFile()
	if err != nil {
		return change, err
	}
	// A store of its own, for a moment, as a look ahead has.
	dir, err := os.MkdirTemp("", "headway-host-")
	if err != nil {
		return change, command.Failed(err, "check that the folder for temporary files is writable")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Hosts: hosts})
	if err != nil {
		return change, command.OpenFailure(err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return headway.OrderAtRest(ctx, st, q)
}

// knownHost is the one of some hosts that the crawl has met, empty for none.
func knownHost(ctx context.Context, dir string, hosts []string) (string, error) {
	for _, h := range hosts {
		_, err := command.AskCrawl(ctx, dir, ask.Question{Kind: ask.KindHosts, Host: h})
		if err == nil {
			return h, nil
		}
		if failure, ok := errors.AsType[*command.Failure](err); ok {
			return "", failure // nobody is there to ask
		}
	}
	return "", nil
}

// likeHosts is a hint that names hosts of the crawl of the same name.
func likeHosts(ctx context.Context, dir, host string) string {
	const hint = "headway hosts lists the hosts; --anyway stores the instruction until the host is crawled"
	a, err := command.AskCrawl(ctx, dir, ask.Question{Kind: ask.KindHosts})
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
	a, err := command.AskCrawl(cmd.Context(), dir, q)
	if err != nil {
		return err
	}
	return printChange(cmd.OutOrStdout(), a, asJSON)
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
