package cli

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/cli/command"
)

var update = flag.Bool("update", false, "rewrite the expected output in the transcripts; read the diff")

// TestMain lets the transcripts run the real command as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"headway": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// endAtOnce keeps the race detector from holding each command for a second at its end.
func endAtOnce(env *testscript.Env) { env.Setenv("GORACE", "atexit_sleep_ms=0") }

// TestScripts runs the transcripts: exact output, exact exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			endAtOnce(env)
			env.Values[siteKey{}] = &scriptSites{addrs: map[string]string{}}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"site":    serveSite,
			"waitfor": waitFor,
		},
	})
}

// exits runs a command and wants exactly this exit code:
//
//	exits 2 headway url
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	got := command.ExitOK
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%v: exit code %d, want %s", args[1:], got, args[0])
	}
}
