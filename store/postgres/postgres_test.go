package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/internal/pgtest"
	"headway/job"
	"headway/store"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

// cluster is the server of this test binary. It runs without fsync: tests of crashes start
// their own.
var cluster *pgtest.Cluster

// killServerEnv names the server to a process that a test starts and kills.
const killServerEnv = "HEADWAY_TEST_DSN"

func TestMain(m *testing.M) {
	if os.Getenv(killServerEnv) != "" {
		os.Exit(m.Run()) // a helper process of a test: the server is running
	}
	// Random histories cost hundreds of round trips each: fewer of them than for the
	// in-process engines, unless more are requested.
	if os.Getenv("HEADWAY_FULL") == "" {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// The suite waits for the server more than it works.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m, pgtest.Config{}, func(c *pgtest.Cluster) error {
		cluster = c
		ctx, dsn := context.Background(), ""
		err := c.MakeTemplate(ctx, func(at string) (io.Closer, error) {
			dsn = at
			return Open(ctx, Config{DSN: at, partitions: 2})
		})
		if err != nil {
			return err
		}
		return execOn(ctx, dsn, "delete from "+DefaultSchema+".identity") // every store has its own key
	}))
}

func execOn(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// nameOf is the database or schema for a place of a test.
func nameOf(place string) string {
	h := fnv.New64a()
	h.Write([]byte(place))
	return fmt.Sprintf("t%x", h.Sum64())
}

// openAt opens the store of a place in its own schema on any server.
func openAt(t testing.TB, dsn, place string, fault store.Fault) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: dsn, Schema: nameOf(place), Fault: fault, partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openTest opens the store of a place, which is a database of the cluster.
func openTest(t testing.TB, place string, fault store.Fault) *Store {
	t.Helper()
	return openBound(t, place, fault, bound{})
}

// anySize is the bound of shared tables that every job is too large for: it gets its own with
// its first URL.
var anySize = bound{check: 1}

// openBound opens the store of a place with another bound of the shared tables.
func openBound(t testing.TB, place string, fault store.Fault, b bound) *Store {
	t.Helper()
	name := nameOf(place)
	if err := cluster.Copy(t, name); err != nil && code(err) != "42P04" { // it may exist already
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{DSN: cluster.DSN(name), Fault: fault, partitions: 2, bound: b})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// zombieTerms are short enough to wait for.
var zombieTerms = store.Terms{Renew: 500 * time.Millisecond, Start: 1500 * time.Millisecond, Cancel: 2 * time.Second, TakeOver: 3 * time.Second}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pageItem is page n of a job; every page has its own host.
func pageItem(t testing.TB, id job.ID, n int) visit.Item {
	t.Helper()
	u, err := weburl.Parse(fmt.Sprintf("http://host%d.example/page", n))
	fatal(t, err)
	return visit.Item{Job: id, URL: u, Found: visit.FoundSeed}
}

// pageCommit ends page 1.
func pageCommit(t testing.TB, w store.WorkerID, id job.ID, leases []store.Lease, o visit.Outcome) store.Commit {
	return store.Commit{Worker: w, Number: 1, At: time.Now(), Leases: leases, Visits: []visit.Visit{{Item: pageItem(t, id, 1), Outcome: o}}}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB, place string, fault store.Fault) store.Store { return openTest(t, place, fault) })
}

// TestConformanceOfLargeJobs runs the suite with jobs that are moved to their own tables at
// their second URL.
func TestConformanceOfLargeJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("the short form runs the suite once, with small jobs; without -short it runs with both")
	}
	storetest.Run(t, func(t testing.TB, place string, fault store.Fault) store.Store {
		return openBound(t, place, fault, bound{pages: 1, urls: 1, check: 1})
	})
}
