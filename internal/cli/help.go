package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/cli/command"
	"headway/internal/cli/crawl"
	"headway/internal/cli/export"
	"headway/internal/cli/fleet"
	"headway/internal/cli/inspect"
	"headway/internal/cli/lab"
)

// commandGroups are the commands under the headings of `headway --help`, in the
// order in which they are listed.
var commandGroups = []struct {
	title    string
	commands []func() *cobra.Command
}{
	{"Crawl", []func() *cobra.Command{
		crawl.Command, crawl.CheckCommand, crawl.WarmCommand, crawl.PlanCommand, inspect.FetchCommand, inspect.RunsCommand,
		inspect.StopCommand, hostCommand, inspect.OptOutCommand, inspect.RmCommand, inspect.ConfigCommand,
	}},
	{"Ask", []func() *cobra.Command{
		inspect.WhyCommand, inspect.SlowCommand, hostsCommand, inspect.URLsCommand, inspect.LinksCommand, inspect.CompareCommand, inspect.RobotsCommand, inspect.URLCommand,
	}},
	{"Export", []func() *cobra.Command{export.Command, export.ReportCommand, inspect.CourtesyCommand}},
	{"Fleet", []func() *cobra.Command{fleet.JobCommand, fleet.WorkerCommand, fleet.ServeCommand, fleet.AdminCommand}},
	{"Lab", []func() *cobra.Command{lab.Command}},
	{"Other", []func() *cobra.Command{helpCommand, completionCommand, versionCommand}},
}

// hostCommand and hostsCommand work on a crawl or on a fleet.
func hostCommand() *cobra.Command  { return inspect.HostCommand(fleet.Client{}) }
func hostsCommand() *cobra.Command { return inspect.HostsCommand(fleet.Client{}) }

// commonFlags are the flags that people use most, of the commands that have many:
// --help shows these, --help-all shows all.
var commonFlags = map[string][]string{
	"headway crawl": {
		"contact", "seeds", "dir", "fresh", "scope", "include", "exclude", "max-pages", "max-depth", "max-time", "preset", "delay", "format", "stdout", "json",
	},
	"headway fetch": {"contact", "text", "markdown", "headers", "links", "preset", "owned", "allow-private", "json"},
	"headway check": {
		"contact", "dir", "fail-on", "junit", "recheck", "scope", "include", "exclude", "max-pages", "max-time", "preset", "json",
	},
	"headway warm":       {"owned", "contact", "seeds", "dir", "fresh", "sitemaps", "include", "exclude", "delay", "in-flight", "max-pages", "max-time", "json"},
	"headway plan":       {"contact", "seeds", "scope", "include", "exclude", "sitemaps", "max-pages", "max-depth", "max-time", "preset", "delay", "json"},
	"headway config":     {"config", "preset", "scope", "max-pages", "max-time", "delay", "contact", "json"},
	"headway job submit": {"server", "key-file", "store", "tenant", "name", "dry-run", "seeds", "scope", "include", "exclude", "max-pages", "max-time", "preset", "json"},
	"headway worker":     {"store", "contact", "workers", "listen", "lease", "max-running", "owned", "allow-private", "log", "config"},
	"headway admin plan set": {
		"max-pages", "max-time", "max-concurrent", "max-hosts", "max-requests-per-second", "month-pages", "month-bytes", "retention", "store", "json",
	},
	"headway admin safety set": {"max-pages", "max-time", "max-concurrent", "max-hosts", "max-requests-per-second", "lease", "commit-gap", "store", "json"},
	"headway lab up": {
		"listen", "temper", "hosts", "pages", "seed", "latency", "crawl-delay", "rate-limit", "error-rate", "robots", "address", "dns", "tls", "json",
	},
}

// showHelp prints the help of a command.
func showHelp(cmd *cobra.Command, _ []string) {
	all := cmd.Flags().Lookup(helpAllName)
	writeHelp(cmd.OutOrStdout(), cmd, all != nil && all.Changed)
}

func writeHelp(w io.Writer, cmd *cobra.Command, all bool) {
	about, exits, _ := strings.Cut(cmp.Or(cmd.Long, cmd.Short+"."), command.ExitHeading)
	fmt.Fprintln(w, strings.TrimSpace(about))
	writeSection(w, "Examples", cmd.Example)
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	writeSection(w, "Usage", "  "+use)
	writeCommands(w, cmd)
	writeFlags(w, cmd, all)
	writeSection(w, "Exit codes", exits)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
}

func writeSection(w io.Writer, title, text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		fmt.Fprintf(w, "\n%s:\n%s\n", title, text)
	}
}

// writeCommands lists the commands below one, under the headings of their groups.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		var lines strings.Builder
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&lines, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
		writeSection(w, g.Title, lines.String())
	}
}

// writeFlags lists the flags of a command: where it has many, the common ones first,
// and the others only if all are wanted.
func writeFlags(w io.Writer, cmd *cobra.Command, all bool) {
	var common, rest []*pflag.Flag
	names := commonFlags[cmd.CommandPath()]
	for _, name := range names {
		common = append(common, cmd.Flags().Lookup(name))
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(names, f.Name) {
			rest = append(rest, f)
		}
	})
	switch {
	case len(common) == 0:
		writeSection(w, "Flags", flagLines(rest))
	case all:
		writeSection(w, "Flags", flagLines(common))
		writeSection(w, "More flags", flagLines(rest))
	default:
		writeSection(w, "Flags", flagLines(common))
		fmt.Fprintf(w, "\n%d more flags: %s --%s\n", len(rest), cmd.CommandPath(), helpAllName)
	}
}

// flagLines describes flags, one below the other. The text of one with a long name
// begins on the next line.
func flagLines(flags []*pflag.Flag) string {
	const most = 26 // letters of a name beside its text
	names, texts, width := make([]string, len(flags)), make([]string, len(flags)), 0
	for i, f := range flags {
		names[i], texts[i] = flagName(f), flagText(f)
		if n := utf8.RuneCountInString(names[i]); n <= most {
			width = max(width, n)
		}
	}
	var b strings.Builder
	indent := "\n" + strings.Repeat(" ", width+4)
	for i, name := range names {
		if utf8.RuneCountInString(name) > most {
			b.WriteString("  " + name + indent)
		} else {
			fmt.Fprintf(&b, "  %-*s  ", width, name)
		}
		b.WriteString(strings.ReplaceAll(command.Wrap(texts[i], command.LineWidth-width-4), "\n", indent) + "\n")
	}
	return b.String()
}

// flagName is how a flag is written: --dir folder.
func flagName(f *pflag.Flag) string {
	kind, _ := pflag.UnquoteUsage(f)
	if slices.Contains([]string{"int", "uint", "float"}, kind) {
		kind = "number"
	}
	name := strings.TrimSpace("--" + f.Name + " " + kind)
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return name
}

// flagText is what a flag does, and its default where that says something.
func flagText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "[]", "false":
		return text
	}
	def := f.DefValue
	if strings.HasSuffix(def, "m0s") {
		def = strings.TrimSuffix(strings.TrimSuffix(def, "0s"), "0m")
	}
	return text + " (default " + def + ")"
}

// helpAllName is the flag that shows the help with every flag.
const helpAllName = "help-all"

// helpAll is that flag: it asks for help, as --help does.
type helpAll struct {
	flags *pflag.FlagSet
	given bool
}

func (h *helpAll) String() string { return strconv.FormatBool(h.given) }

func (h *helpAll) Type() string { return "bool" }

func (h *helpAll) Set(s string) (err error) {
	if h.given, err = strconv.ParseBool(s); err != nil {
		return err
	}
	return h.flags.Set("help", s)
}

// addHelp gives a command its flags for help. Where --help shows all there is,
// --help-all is not listed.
func addHelp(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolP("help", "h", false, "show this help")
	all := flags.VarPF(&helpAll{flags: flags}, helpAllName, "", "show the help with every flag")
	all.NoOptDefVal = "true"
	all.Hidden = commonFlags[cmd.CommandPath()] == nil
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return err
			case about.HasSubCommands() && len(rest) > 0:
				return unknownCommand(about, rest)
			}
			return about.Help()
		},
	}
}

func completionCommand() *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a script that completes commands and flags in your shell: bash, zsh, fish
or powershell.`,
		Example: `  source <(headway completion bash)
  headway completion zsh > "${fpath[1]}/_headway"
  headway completion fish > ~/.config/fish/completions/headway.fish`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, !plain)
			case "zsh":
				if plain {
					return root.GenZshCompletionNoDesc(w)
				}
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, !plain)
			case "powershell":
				if plain {
					return root.GenPowerShellCompletion(w)
				}
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return command.Usage(fmt.Errorf("unknown shell %q", args[0]), "choose one of "+strings.Join(cmd.ValidArgs, ", "))
		},
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "complete without descriptions")
	return cmd
}
