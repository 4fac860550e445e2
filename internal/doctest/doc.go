// Package doctest keeps the README and the guides true: it runs every documented
// command and compares its output with the documented one. It contains only
// tests.
//
// Commands are in Markdown blocks of two kinds:
//
//   - in a block of sh every line is a command; its output is not shown;
//   - in a block of console, or an indented one, a line that begins with "$ " is
//     a command, followed by its output.
//
// Each document is run by one shell, from top to bottom, in its own folder
// with an empty HOME: the README in a copy of the tree, a guide in an empty
// folder with headway on the PATH. A command must succeed, unless the next one
// is "echo $?", which prints its exit code.
//
// Output must match line by line. "…" stands for any text, alone on a line for
// any number of lines. Times, durations, rates, shares and sizes differ from run
// to run and match any other; counts do not. Lines that begin with "headway: "
// are expected on standard error, all others on standard output.
//
// A comment before a block changes how it is run:
//
//	<!-- stays -->             keeps running in its own terminal; the next command
//	                           is typed when it has printed the shown output
//	<!-- not run: reason -->   the tests cannot run it; such blocks are counted
//
// A document is run in its own network, apart from other tests. The lab is the
// one that the document starts with `headway lab up`.
// https://example.com is a small shop that the tests serve there: with a public
// address, a certificate and a name server; so is a bucket to copy files to. No
// byte leaves the machine.
//
// The recording that the README shows is made here, too, from a crawl in a
// terminal: go test ./internal/doctest -run TestRecording -update
package doctest
