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
		Long: `Headway crawls politely: it finds the shortest interval each host is happy
with, keeps it, and can tell why it fetched, waited, skipped or stopped.` + exitHelp(),
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(noFlag)
	root.AddCommand(
		crawlCommand(),
		exportCommand(),
		checkCommand(),
		warmCommand(),
		hostCommand(),
		stopCommand(),
		reportCommand(),
		compareCommand(),
		hostsCommand(),
		slowCommand(),
		planCommand(),
		courtesyCommand(),
		runsCommand(),
		rmCommand(),
		optOutCommand(),
		whyCommand(),
		urlsCommand(),
		fetchCommand(),
		urlCommand(),
		robotsCommand(),
		labCommand(),
		configCommand(),
		workerCommand(),
		jobCommand(),
		serveCommand(),
		adminCommand(),
		versionCommand(),
	)
	suggest(root)
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
