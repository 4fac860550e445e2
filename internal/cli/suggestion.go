package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/config"
)

// suggest makes a command with others below it name the nearest of them when it
// is given a word that is none, and so on below.
func suggest(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	cmd.Args = noCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, sub := range cmd.Commands() {
		suggest(sub)
	}
}

// noCommand refuses a word that is no command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if near := config.Near(args[0], names); near != "" {
		hint = fmt.Sprintf("did you mean %s %s? %s", cmd.CommandPath(), near, hint)
	} else if !cmd.HasParent() && strings.ContainsAny(args[0], "./") {
		hint = fmt.Sprintf("did you mean headway crawl %s? %s", args[0], hint) // what looks like a site
	}
	return usage(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()), hint)
}

// noFlag refuses a flag that is none, or that has no such value.
func noFlag(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help lists the flags"
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage(err, hint)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := config.Near(unknown.GetSpecifiedName(), names); near != "" && unknown.GetSpecifiedShortnames() == "" {
		hint = fmt.Sprintf("did you mean --%s? %s", near, hint)
	}
	return usage(err, hint)
}
