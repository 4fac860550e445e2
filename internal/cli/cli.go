// Package cli is the headway command line: [Main], the table of commands, help, and
// suggestions for mistyped commands and flags.
//
// The commands are in the packages crawl, inspect, export, fleet and lab below; what
// they share is in package command. Apart from the service, they are the only place
// that reads flags and chooses concrete implementations. Each command is one file: it
// reads its arguments, calls the packages of the library and prints their answer, as
// text for people or with --json for programs. Every failure is one line that says
// what went wrong and one that says what to do next.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
)

// Main runs one command line and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The standard library logs what odd servers send between two answers. What
	// matters of it ends in an outcome; none of it belongs on a terminal.
	log.SetOutput(io.Discard)
	cobra.EnableCommandSorting = false // help lists commands by what they are for
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := Root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return command.ExitOK
	}
	failure, ok := errors.AsType[*command.Failure](err)
	if !ok {
		// Whatever a command does not name itself is cobra's view of the
		// words: an unknown command, a missing argument, a bad flag.
		failure = command.Usage(err, "")
	}
	if failure.Err != nil {
		fmt.Fprintf(stderr, "headway: error: %s\n", command.OneLine(failure.Err.Error()))
		if failure.Hint != "" {
			fmt.Fprintf(stderr, "headway: hint: %s\n", command.OneLine(failure.Hint))
		}
	}
	return failure.Code
}

// Root builds the command tree. Reference pages, man pages and completion are
// made from the same tree.
func Root() *cobra.Command {
	root := &cobra.Command{
		Use:   "headway",
		Short: "A polite, fast web crawler",
		Long: `Headway is a polite, fast web crawler. It finds the shortest request interval
that each host accepts, keeps to it, and records why each URL was fetched, had
to wait or was skipped.` + command.ExitHelp(),
		Example: `  headway crawl https://example.com --contact you@example.com
  headway why https://example.com/cart`,
		Version:       command.VersionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "print the version, as headway version does")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(showHelp)
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, build := range g.commands {
			cmd := build()
			cmd.GroupID = g.title
			if cmd.Name() == "help" {
				root.SetHelpCommand(cmd)
			}
			root.AddCommand(cmd)
		}
	}
	prepare(root)
	return root
}
