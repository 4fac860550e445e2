//go:build unix

package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFleetScripts runs the transcripts of commands that speak to the PostgreSQL of
// a fleet, each in a database of its own.
func TestFleetScripts(t *testing.T) {
	db := startDB(t)
	// A subtest of its own: transcripts run beside each other, after this function.
	t.Run("run", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata/fleet",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			UpdateScripts:       *update,
			Setup: func(env *testscript.Env) error {
				endAtOnce(env)
				env.Setenv("HEADWAY_FLEET_STORE", db.Database(env.T().(testing.TB)))
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits": exits,
			},
		})
	})
}
