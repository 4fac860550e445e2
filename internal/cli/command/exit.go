package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"headway/fetch"
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
	{ExitPartial, "partial: URLs are left, for example at a limit (--partial-ok: exit 0)"},
	{ExitBlocked, "blocked: robots.txt, the server or an opt-out forbids every page"},
	{ExitFailed, "failed"},
	{ExitInterrupted, "interrupted; run the same command to resume"},
}

// CrawlExits are the codes that a crawl can end with.
var CrawlExits = []int{ExitOK, ExitUsage, ExitPartial, ExitBlocked, ExitFailed, ExitInterrupted}

// ExitHeading begins the list of exit codes in a command's long help.
const ExitHeading = "\n\nExit codes:\n"

// ExitHelp lists what exit codes mean, as a section of a command's help; without
// codes it lists all.
func ExitHelp(codes ...int) string {
	var b strings.Builder
	b.WriteString(ExitHeading)
	for _, e := range ExitCodes {
		if len(codes) == 0 || slices.Contains(codes, e.Code) {
			fmt.Fprintf(&b, "\n    %3d  %s", e.Code, e.Meaning)
		}
	}
	return b.String()
}

// Failure ends a command with an exit code. Without Err nothing is printed: the
// output of the command says it all.
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

// Usage is a failure caused by the command line or the configuration.
func Usage(err error, hint string) *Failure {
	if hint == "" {
		hint = "headway --help lists the commands"
	}
	return &Failure{Code: ExitUsage, Err: err, Hint: hint}
}

// Interrupted is the failure of a command that was interrupted before it sent anything.
func Interrupted() *Failure {
	return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted before anything was sent"), Hint: "run the same command to start again"}
}

// Failed is any other failure of a command.
func Failed(err error, hint string) *Failure {
	return &Failure{Code: ExitFailed, Err: err, Hint: hint}
}

// HintOf is the hint that an error carries, empty for none.
func HintOf(err error) string {
	if _, ok := errors.AsType[*fetch.NoContactError](err); ok {
		return "give an email address or URL where site owners can reach you: --contact you@example.com, or set " + ContactEnv
	}
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		return hinter.Hint()
	}
	return ""
}
