// Package doctest keeps the README and the guides true: it runs every command
// they print, as printed, and compares what they say comes out of it. It holds
// only tests.
//
// Commands stand in Markdown blocks of two kinds:
//
//   - in a block of sh every line is a command; its output is not shown;
//   - in a block of console, or an indented one, a line that begins with "$ " is
//     a command and what follows is what it prints.
//
// Each document is run by one shell, from top to bottom, in a folder of its own
// with an empty HOME: the README in a copy of the tree, a guide in an empty
// folder with headway on the PATH. A command must succeed, unless the next one
// is "echo $?", which tells its exit code.
//
// Output must match line by line. "…" stands for any text, alone on a line for
// any number of lines. Times, durations, rates, shares and sizes differ from run
// to run and match any other; counts do not. Lines that begin with "headway: "
// are looked for on the standard error, all others are the standard output.
//
// A comment before a block says what else is to know:
//
//	<!-- stays -->             runs on in a terminal of its own; the next command
//	                           is typed when it has printed what is shown
//	<!-- not run: reason -->   the tests cannot run it; such blocks are counted
//
// A document is run in a network of its own, where nothing of another test is in
// the way. The lab is whatever `headway lab up` the document prints.
// https://example.com is a small shop that the tests serve there: with a public
// address, a certificate and a name server; so is a bucket to copy files to. No
// byte leaves the machine.
//
// The recording that the README shows is made here, too, from a crawl in a
// terminal: go test ./internal/doctest -run TestRecording -update
package doctest
