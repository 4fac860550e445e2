//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/pgtest"
)

// TestFleetScripts runs the transcripts of commands that speak to the PostgreSQL of
// a fleet, each in a schema of its own.
func TestFleetScripts(t *testing.T) {
	db, err := pgtest.Start(t.Context(), pgtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// A subtest of its own: transcripts run beside each other, after this function.
	t.Run("run", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata/fleet",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			UpdateScripts:       *update,
			Setup: func(env *testscript.Env) error {
				endAtOnce(env)
				env.Setenv("HEADWAY_FLEET_STORE", db.DSN("postgres"))
				env.Setenv("HEADWAY_FLEET_SCHEMA", "s"+strings.ToLower(env.WorkDir[strings.LastIndexByte(env.WorkDir, '-')+1:]))
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits": exits,
			},
		})
	})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
