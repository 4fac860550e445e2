//go:build unix

package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"headway/internal/config"
	"headway/internal/pgtest"
	"headway/service"
	"headway/service/apikey"
	"headway/store"
	"headway/store/postgres"
)

// TestJobScripts runs the transcripts of commands that know both ways to a fleet over
// each of them, and one of what can be wrong with a server.
func TestJobScripts(t *testing.T) {
	db := startDB(t)
	byStore := func(env *testscript.Env) error {
		env.Setenv("HEADWAY_FLEET_STORE", env.Getenv("STORE"))
		return nil
	}
	byServer := serveFleet
	byOperator := func(env *testscript.Env) error {
		err := byServer(env)
		env.Setenv("HEADWAY_KEY", env.Getenv("OPERATOR"))
		return err
	}
	t.Run("run", func(t *testing.T) {
		for _, way := range []struct {
			name, dir string
			setup     func(*testscript.Env) error
		}{
			{"store", "jobs", byStore},
			{"server", "jobs", byServer},
			{"errors", "server", byServer},
			{"lists of a store", "lists", byStore},
			{"lists of a server", "lists", byOperator},
		} {
			t.Run(way.name, func(t *testing.T) {
				testscript.Run(t, testscript.Params{
					Dir: "testdata/" + way.dir, RequireExplicitExec: true,
					Setup: func(env *testscript.Env) error {
						endAtOnce(env)
						env.Setenv("STORE", db.Database(env.T().(testing.TB)))
						return way.setup(env)
					},
					Cmds: map[string]func(*testscript.TestScript, bool, []string){
						"exits": exits,
						"logged": func(ts *testscript.TestScript, _ bool, args []string) {
							ts.Check(logged(t.Context(), ts.Getenv("STORE"), args))
						},
					},
				})
			})
		}
	})
}

// startDB starts a server with an empty store to copy.
func startDB(t *testing.T) *pgtest.Cluster {
	t.Helper()
	db := pgtest.StartFor(t, pgtest.Config{})
	err := db.MakeTemplate(t.Context(), func(dsn string) (io.Closer, error) { return postgres.Open(t.Context(), postgres.Config{DSN: dsn}) })
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// logged compares the log of orders with what a transcript says is in it, and wants to
// know of each who gave it.
func logged(ctx context.Context, dsn string, want []string) error {
	st, err := postgres.Open(ctx, postgres.Config{DSN: dsn})
	if err != nil {
		return err
	}
	defer st.Close()
	list, err := st.Orders(ctx, store.OrderQuery{All: true, Max: store.MaxPage})
	if err != nil {
		return err
	}
	var got []string
	for i := range list {
		o := &list[i]
		if o.By == "" || o.At.IsZero() {
			return fmt.Errorf("nobody gave the order %+v", o)
		}
		got = append(got, fmt.Sprintf("%s %s %s: %s > %s", o.What, o.Tenant, o.Host, o.Before, o.After))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the log has %q", got)
	}
	return nil
}

// serveFleet starts a server for a transcript, and makes its keys.
func serveFleet(env *testscript.Env) error {
	ctx, cancel := context.WithCancel(context.Background())
	st, err := postgres.Open(ctx, postgres.Config{DSN: env.Getenv("STORE")})
	if err != nil {
		cancel()
		return err
	}
	for name, scope := range map[string]store.Scope{"HEADWAY_KEY": store.ScopeWrite, "READ": store.ScopeRead, "OPERATOR": store.ScopeOperator} {
		made := apikey.New()
		if err := st.CreateKey(ctx, time.Now(), store.APIKey{ID: made.ID, Sum: made.Sum(), Scope: scope, CreatedAt: time.Now()}); err != nil {
			cancel()
			return err
		}
		env.Setenv(name, made.Text)
	}
	at, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- service.Run(ctx, service.Config{
			Store: st, Listen: "127.0.0.1:0", Rate: 1e6, Listening: func(a net.Addr) { at <- a },
			Settings: func(asked config.Asked) (*config.Settings, error) {
				return config.LoadJob(pflag.NewFlagSet("server", pflag.ContinueOnError), nil, asked)
			},
		})
	}()
	env.Defer(func() {
		cancel()
		if err := <-ended; err != nil {
			env.T().Log("serving:", err)
		}
		_ = st.Close() // it never fails
	})
	select {
	case a := <-at:
		env.Setenv("HEADWAY_SERVER", "http://"+a.String())
		return nil
	case err := <-ended:
		ended <- err
		return err
	}
}
