package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headway/lab"
)

func labCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "A synthetic web on loopback to try a crawler on",
		Long: `Serve a synthetic web on loopback: hosts of every temper, the same pages for the
same seed, no internet needed. The lab counts from the server's side what a
crawler did: requests, gaps, overlaps, robots violations, ignored refusals.`,
	}
	cmd.AddCommand(labUpCommand(), labHostsCommand(), labStatsCommand())
	return cmd
}

func labUpCommand() *cobra.Command {
	flags := labFlags{site: lab.DefaultSite()}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Serve the lab until interrupted",
		Long: `Serve the lab until interrupted. Without flags it has one host of every temper
at an address of its own, 127.1.x.y. With --hosts it is a farm of equal hosts.
Flags that say what hosts hold, or how they answer, apply to all hosts served.

Only clients of this machine are answered, unless --clients names a network.
Where 127.1.x.y is not routed (macOS), use names: --address name with --dns, and
give that resolver to the crawler.`,
		Example: `  headway lab up
  headway lab up --temper shop,docs
  headway lab up --hosts 200 --pages 20 --crawl-delay 100ms --latency const:5ms
  headway lab up --address name --dns 127.0.0.1:8753`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.config(cmd.Flags())
			if err != nil {
				return err
			}
			return serveLab(cmd.Context(), cfg, flags.certOut, asJSON, cmd.OutOrStdout())
		},
	}
	flags.register(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}

// shownHosts is how many hosts are printed one by one; a farm has thousands.
const shownHosts = 60

func serveLab(ctx context.Context, cfg lab.Config, certOut string, asJSON bool, w io.Writer) error {
	l, err := lab.New(cfg)
	if err != nil {
		return usage(err, "headway lab up --help lists the flags")
	}
	if certOut != "" {
		pem, err := l.CertificatePEM()
		if err == nil {
			err = os.WriteFile(certOut, pem, 0o644)
		}
		if err != nil {
			return failed(fmt.Errorf("write certificate: %w", err), "name a file that can be written with --cert-out")
		}
	}
	if err := l.Listen(ctx); err != nil {
		return failed(fmt.Errorf("start lab: %w", err), "another lab may be running; end it, or choose another port with --listen 0.0.0.0:PORT")
	}
	if err := labReady(l, asJSON, w); err != nil {
		return err
	}
	if err := l.Run(ctx); err != nil {
		return failed(fmt.Errorf("serve lab: %w", err), "")
	}
	return nil
}

// labReady says where the lab is.
func labReady(l *lab.Lab, asJSON bool, w io.Writer) error {
	hosts := l.Hosts()
	resolver := ""
	if a := l.DNSAddr(); a != nil {
		resolver = a.String()
	}
	if asJSON {
		return printJSON(w, struct {
			Address  string     `json:"address"`
			Resolver string     `json:"resolver,omitempty"`
			Hosts    []lab.Host `json:"hosts"`
		}{l.Addr().String(), resolver, hosts})
	}
	if err := printHosts(w, hosts, shownHosts); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nlab ready: %d hosts, first %s\n", len(hosts), hosts[0].URL)
	if resolver != "" {
		fmt.Fprintf(w, "names are resolved at %s\n", resolver)
	}
	stats := "headway lab stats"
	if at := labAt(l, hosts[0]); at != defaultLab {
		stats += " --at " + at
	}
	fmt.Fprintf(w, "%s tells what a crawler did; Ctrl-C ends the lab\n", stats)
	return nil
}

// labAt is a URL of the lab that needs no name to be looked up.
func labAt(l *lab.Lab, first lab.Host) string {
	scheme, _, _ := strings.Cut(first.URL, "://")
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return first.URL // it listens on something that has no address
	}
	if addr.Addr().IsUnspecified() { // at all of them, the host's own included
		return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(first.Addr, strconv.Itoa(int(addr.Port()))))
	}
	return fmt.Sprintf("%s://%s", scheme, addr)
}

func printHosts(w io.Writer, hosts []lab.Host, most int) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, h := range hosts[:min(len(hosts), most)] {
		fmt.Fprintf(tab, "%s\t%s\t%d pages\t%s\n", h.URL, h.Name, h.Pages, h.About)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if more := len(hosts) - most; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}

func labHostsCommand() *cobra.Command {
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts of a running lab and how they behave",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var hosts []lab.Host
			if err := askLab(cmd.Context(), at, "hosts", &hosts); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), hosts)
			}
			return printHosts(cmd.OutOrStdout(), hosts, math.MaxInt)
		},
	}
	atFlag(cmd, &at)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// defaultLab is where a lab is unless told.
const defaultLab = "http://127.1.0.1:8780"

func atFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "at", defaultLab, "a `URL` of the running lab")
}
