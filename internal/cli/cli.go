// Package cli is the headway command: commands, flags, what people read and
// the exit code they get.
//
// It is the only place that reads flags and, besides the service, the only one
// that names concrete parts. Each command is one file; it parses its words,
// calls the packages of the journey and prints what they answered, as text for
// people or with --json for programs. Every failure is one line that says what
// went wrong and one that says what to do next.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
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
		return ExitOK
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		// Whatever a command does not name itself is cobra's view of the
		// words: an unknown command, a missing argument, a bad flag.
		failure = usage(err, "")
	}
	if failure.Err != nil {
		fmt.Fprintf(stderr, "headway: error: %s\n", oneLine(failure.Err.Error()))
		if failure.Hint != "" {
			fmt.Fprintf(stderr, "headway: hint: %s\n", oneLine(failure.Hint))
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
to wait or was skipped.` + exitHelp(),
		Example: `  headway crawl https://example.com --contact you@example.com
  headway why https://example.com/cart`,
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "print the version, as headway version does")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(showHelp)
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, command := range g.commands {
			cmd := command()
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

// oneLine keeps what a message quotes from the outside from moving the
// cursor, colouring the terminal or forging a line of its own.
func oneLine(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}
	return strings.TrimSpace(strings.Map(clean, s))
}
