package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/lab"
)

// Command builds `headway lab`.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Serve a synthetic web on loopback to test crawlers",
		Long: `Serve a synthetic web on loopback: hosts with different behaviour profiles, the
same pages for the same seed, no internet access needed. The lab measures on
the server side what a crawler did: requests, gaps, concurrency, robots.txt
violations and ignored refusals.`,
	}
	cmd.AddCommand(labUpCommand(), labHostsCommand(), labStatsCommand())
	return cmd
}

func labUpCommand() *cobra.Command {
	flags := labFlags{site: lab.DefaultSite()}
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the lab and serve it until interrupted",
		Long: `Start the lab and serve it until interrupted. By default it has one host of
each behaviour profile (temper), each at its own address 127.1.x.y. --hosts
serves many identical hosts instead. Flags for content and responses apply to
all hosts served.

Only clients on this machine are answered, unless --clients names a network.
Where 127.1.x.y is not routed (macOS), use names: --address name with --dns,
and pass that DNS server to the crawler with --resolver.

A second lab needs another port, for example --listen 0.0.0.0:8790. Hosts with
their own certificate then serve https on the next port, 8791.`,
		Example: `  headway lab up
  headway lab up --temper shop,docs
  headway lab up --hosts 200 --pages 20 --latency const:5ms
  headway lab up --address name --dns 127.0.0.1:8753`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.config(cmd.Flags())
			if err != nil {
				return err
			}
			return serveLab(cmd.Context(), cfg, flags.certOut, asJSON, wide, cmd.OutOrStdout())
		},
	}
	flags.register(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// shownHosts is how many hosts are printed one by one; a farm has thousands.
const shownHosts = 60

func serveLab(ctx context.Context, cfg lab.Config, certOut string, asJSON, wide bool, w io.Writer) error {
	l, err := lab.New(cfg)
	if err != nil {
		return command.Usage(err, "headway lab up --help lists the flags")
	}
	if certOut != "" {
		pem, err := l.CertificatePEM()
		if err == nil {
			err = os.WriteFile(certOut, pem, 0o644)
		}
		if err != nil {
			return command.Failed(fmt.Errorf("write certificate: %w", err), "choose a writable file with --cert-out")
		}
	}
	if err := l.Listen(ctx); err != nil {
		return listenFailure(err)
	}
	if err := labReady(l, asJSON, wide, w); err != nil {
		return err
	}
	if err := l.Run(ctx); err != nil {
		return command.Failed(fmt.Errorf("serve lab: %w", err), "")
	}
	return nil
}

// listenFailure says which port could not be used, and which flags choose another.
func listenFailure(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if no, is := errors.AsType[syscall.Errno](err); ok && is && op.Addr != nil {
		err = fmt.Errorf("listen on %s: %w", op.Addr, no)
	}
	return command.Failed(fmt.Errorf("cannot start the lab: %w", err),
		"another lab may be running; stop it, or choose other ports with --listen 0.0.0.0:PORT, and for https with --listen-tls 0.0.0.0:PORT")
}

// labReady says where the lab is.
func labReady(l *lab.Lab, asJSON, wide bool, w io.Writer) error {
	hosts := l.Hosts()
	resolver := ""
	if a := l.DNSAddr(); a != nil {
		resolver = a.String()
	}
	if asJSON {
		return command.PrintJSON(w, struct {
			Address  string     `json:"address"`
			Resolver string     `json:"resolver,omitempty"`
			Hosts    []lab.Host `json:"hosts"`
		}{l.Addr().String(), resolver, hosts})
	}
	if err := printHosts(w, hosts, shownHosts, wide); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nlab ready: %d hosts, first %s\n", len(hosts), hosts[0].URL)
	if resolver != "" {
		fmt.Fprintf(w, "DNS resolver: %s\n", resolver)
	}
	stats := "headway lab stats"
	if at := labAt(l, hosts[0]); at != defaultLab {
		stats += " --at " + at
	}
	fmt.Fprintf(w, "%s shows what a crawler did; press Ctrl-C to stop the lab\n", stats)
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

func printHosts(w io.Writer, hosts []lab.Host, most int, wide bool) error {
	tab := command.NewTable("", "~", "", "~")
	for _, h := range hosts[:min(len(hosts), most)] {
		tab.Add(h.URL, h.Name, fmt.Sprintf("%d pages", h.Pages), h.About)
	}
	if err := tab.Print(w, wide); err != nil {
		return err
	}
	if more := len(hosts) - most; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}

func labHostsCommand() *cobra.Command {
	var at string
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts of a running lab and their behaviour",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var hosts []lab.Host
			if err := askLab(cmd.Context(), at, "hosts", &hosts); err != nil {
				return err
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), hosts)
			}
			return printHosts(cmd.OutOrStdout(), hosts, math.MaxInt, wide)
		},
	}
	atFlag(cmd, &at)
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// defaultLab is where a lab is unless told.
const defaultLab = "http://127.1.0.1:8780"

func atFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "at", defaultLab, "`URL` of the running lab")
}
