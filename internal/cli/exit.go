package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Exit codes. A script may rely on them.
const (
	ExitOK          = 0
	ExitDead        = 1
	ExitUsage       = 2
	ExitPartial     = 3
	ExitBlocked     = 4
	ExitFailed      = 5
	ExitInterrupted = 130
)

// ExitCodes is the one list of what each code means; the reference page and
// the help of commands are made from it.
var ExitCodes = []struct {
	Code    int
	Meaning string
}{
	{ExitOK, "complete"},
	{ExitDead, "check found dead links"},
	{ExitUsage, "usage or configuration error"},
	{ExitPartial, "partial: stopped by a limit with URLs left (0 with --partial-ok)"},
	{ExitBlocked, "blocked by robots.txt or challenge pages"},
	{ExitFailed, "failed"},
	{ExitInterrupted, "interrupted; run the same command to resume"},
}

// crawlExits are the codes that a crawl can end with.
var crawlExits = []int{ExitOK, ExitUsage, ExitPartial, ExitBlocked, ExitFailed, ExitInterrupted}

// exitHeading begins the list of exit codes in a command's long help.
const exitHeading = "\n\nExit codes:\n"

// exitHelp lists what exit codes mean, as a section of a command's help; without
// codes it lists all.
func exitHelp(codes ...int) string {
	var b strings.Builder
	b.WriteString(exitHeading)
	for _, e := range ExitCodes {
		if len(codes) == 0 || slices.Contains(codes, e.Code) {
			fmt.Fprintf(&b, "\n    %3d  %s", e.Code, e.Meaning)
		}
	}
	return b.String()
}

// Failure ends a command with an exit code. Without Err nothing is printed:
// the command has said all there is to say.
type Failure struct {
	Code int
	Err  error
	Hint string // what to do next, one sentence
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return "exit"
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// usage is a failure of the words that were typed.
func usage(err error, hint string) *Failure {
	if hint == "" {
		hint = "headway --help lists the commands"
	}
	return &Failure{Code: ExitUsage, Err: err, Hint: hint}
}

// interrupted is a command that was told to stop before it had begun.
func interrupted() *Failure {
	return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted before anything was sent"), Hint: "run the same command to start again"}
}

// failed is work that could not be done.
func failed(err error, hint string) *Failure {
	return &Failure{Code: ExitFailed, Err: err, Hint: hint}
}
