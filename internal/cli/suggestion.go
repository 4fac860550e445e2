package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/cli/command"
	"headway/internal/config"
)

// prepare gives a command and those below it their help, and our own errors for a
// wrong command, flag or argument.
func prepare(cmd *cobra.Command) {
	addHelp(cmd)
	if cmd.HasSubCommands() {
		cmd.Args = unknownCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if cmd.Args != nil {
		cmd.Args = checkArgs(cmd.Args)
	}
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
}

// unknownCommand refuses a command that does not exist and names the nearest.
func unknownCommand(cmd *cobra.Command, args []string) error {
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
	return command.Usage(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()), hint)
}

// checkArgs says which argument is missing or too many, where a check of their
// number fails.
func checkArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		var names, required []string
		for _, name := range strings.Fields(cmd.Use)[1:] {
			if strings.HasPrefix(name, "--") {
				break
			}
			names = append(names, name)
			if !strings.HasPrefix(name, "[") {
				required = append(required, name)
			}
		}
		hint := "usage: " + cmd.UseLine()
		if len(args) < len(required) {
			return command.Usage(fmt.Errorf("missing argument %s", strings.Join(required[len(args):], " ")), hint)
		}
		return command.Usage(fmt.Errorf("unexpected argument %q", args[min(len(names), len(args)-1)]), hint)
	}
}

// flagError says what is wrong with a flag, in place of the library that reads them.
func flagError(cmd *cobra.Command, err error) error {
	see := cmd.CommandPath() + " --help lists the flags"
	if commonFlags[cmd.CommandPath()] != nil {
		see = cmd.CommandPath() + " --" + helpAllName + " lists the flags"
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown, see)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return command.Usage(fmt.Errorf("missing value for --%s", f.Name), flagHint(f))
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		kind, hint := valueHint(f, bad.GetValue())
		return command.Usage(fmt.Errorf("invalid %s %q for --%s", kind, bad.GetValue(), f.Name), hint)
	}
	if bad, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return command.Usage(fmt.Errorf("invalid flag %q", bad.GetSpecifiedFlag()), "write --name value or --name=value; "+see)
	}
	return command.Usage(err, see)
}

// unknownFlag refuses a flag that does not exist and names the nearest.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError, see string) error {
	if unknown.GetSpecifiedShortnames() != "" {
		return command.Usage(fmt.Errorf("unknown flag -%s", unknown.GetSpecifiedName()), see)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	if near := config.Near(name, names); near != "" {
		see = fmt.Sprintf("did you mean --%s? %s", near, see)
	}
	return command.Usage(fmt.Errorf("unknown flag --%s", name), see)
}

// flagHint is what the help says about a flag.
func flagHint(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	return flagName(f) + ": " + text
}

// valueHint names the kind of value that a flag takes, and says what to write.
func valueHint(f *pflag.Flag, value string) (kind, hint string) {
	switch f.Value.Type() {
	case "int", "int64", "uint64":
		return "number", "give a whole number, for example 20"
	case "float64":
		return "number", "give a number, for example 0.5"
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return "duration", "add a unit, for example " + value + "s"
		}
		return "duration", "give a duration, for example 500ms, 30s or 2h"
	case "bool":
		return "value", "choose one of true, false"
	default:
		return "value", flagHint(f)
	}
}
