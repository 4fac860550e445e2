package postgres

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"headway/internal/pgtest"
	"headway/store"
	"headway/store/storetest"
)

// cluster is the server of this test binary. It syncs nothing: tests of what
// survives a crash start their own.
var cluster *pgtest.Cluster

// killServerEnv names the server to a process that a test starts and kills.
const killServerEnv = "HEADWAY_TEST_DSN"

func TestMain(m *testing.M) {
	if os.Getenv(killServerEnv) != "" {
		os.Exit(m.Run()) // a helper of a test: the server is there
	}
	// Random histories cost hundreds of round trips each: fewer of them than
	// where the engine lives in the process, unless somebody asks for more.
	if os.Getenv("HEADWAY_FULL") == "" {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(pgtest.Main(m, pgtest.Config{}, func(c *pgtest.Cluster) { cluster = c }))
}

// schemaOf is a schema for a place of a test.
func schemaOf(place string) string {
	h := fnv.New64a()
	h.Write([]byte(place))
	return fmt.Sprintf("t%x", h.Sum64())
}

// openAt opens the store of a place on a server.
func openAt(t testing.TB, dsn, place string, fault store.Fault) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: dsn, Schema: schemaOf(place), Fault: fault, partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB, place string, fault store.Fault) store.Store {
		return openAt(t, cluster.DSN("postgres"), place, fault)
	})
}
