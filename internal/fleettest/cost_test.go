package fleettest

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/internal/pgtest"
)

// mostRows is how many rows of the yardstick a page may cost PostgreSQL. On a machine where
// a page costs 192, 200 and 245 µs with 1, 2 and 4 workers, 300 µs are 27, 25 and 24 rows; the
// lowest is the bound for all. A page costs 17.3, 16.8 and 19.5 rows, the means of five runs.
const mostRows = 24

// TestCost measures the cost of a page for PostgreSQL when only the workers limit the
// crawl, and how it grows with their number.
func TestCost(t *testing.T) {
	t.Parallel()
	// Processor time per page. CI has too few pages to amortise one-time costs, but a
	// statement that reads a whole queue each time is noticed. The yardstick bounds the
	// full form.
	most := 2 * time.Millisecond
	web, fleets := setup{hosts: 5, pages: 300}, []int{2}
	var y *yardstick
	var insert func()
	if full {
		web, fleets = setup{hosts: 200, pages: 250}, []int{1, 2, 4}
		y = newYardstick(t)
		insert = y.insert
	}
	for _, workers := range fleets {
		f := newFleet(t, web)
		var owned []string
		for _, host := range f.allHosts() {
			owned = append(owned, "--owned", strings.TrimPrefix(host, "http://"))
		}
		for range workers {
			f.start(owned...)
		}
		f.awaitWorkers(workers)
		if full {
			y.reset()
		}
		before, commits := f.cpu(), f.commits()
		began := time.Now()
		j := f.await(f.submit("--preset", "owned", "--delay", "0", "--in-flight", "8", "--sitemaps", "off"), f.long(), insert)
		took := time.Since(began)
		cpu, commits := f.cpu()-before, f.commits()-commits
		if want := int64(f.hosts * f.pages); j.State != "complete" || j.Pages != want {
			t.Errorf("%s (%s) with %d pages, want %d", j.State, j.Reason, j.Pages, want)
		}
		each := cpu / time.Duration(j.Pages)
		t.Logf("%d workers: %d pages in %v; PostgreSQL used %v a page at %.1f pages a transaction", workers, j.Pages, took.Round(time.Millisecond), each, float64(j.Pages)/float64(commits))
		if full {
			row := y.row()
			most = mostRows * row
			t.Logf("%d workers: a page costs %.1f rows of the yardstick, at %v a row", workers, float64(each)/float64(row), row)
		}
		if each > most {
			t.Errorf("%d workers: a page costs PostgreSQL %v, at most %v", workers, each, most)
		}
		f.over(j)
		f.leaveAll()
	}
}

// cpu is the processor time of the database so far.
func (f *fleet) cpu() time.Duration {
	f.Helper()
	return cpuOf(f.T, f.db)
}

// cpuOf is the processor time of a PostgreSQL server so far.
func cpuOf(t *testing.T, db *pgtest.Cluster) time.Duration {
	t.Helper()
	d, err := db.CPU()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// commits is how many transactions with pages workers have committed so far.
func (f *fleet) commits() (n int64) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select coalesce(sum(commits), 0) from progress").Scan(&n)
	})
	return n
}

// TestIdle counts the queries of idle workers.
func TestIdle(t *testing.T) {
	t.Parallel()
	workers, rest, kinds := 3, 10*time.Second, 6.0
	if full {
		workers, rest, kinds = 20, time.Minute, 0
	}
	// Autovacuum would add its own transactions.
	f := newFleet(t, setup{hosts: 1, pages: 1, db: pgtest.Config{Settings: []string{"autovacuum=off"}}})
	f.run("admin", "safety", "set", "--lease", "30s")
	rate := func() float64 {
		before := f.transactions()
		time.Sleep(rest) // transactions are counted over this time
		return float64(f.transactions()-before) / rest.Seconds()
	}
	alone := rate() // the server itself, and this test
	for range workers {
		f.start("--lease", "30s") // which is given after that of the tests
	}
	f.awaitWorkers(workers)
	time.Sleep(rest) // they settle
	asked := rate() - alone
	t.Logf("%d idle workers: %.1f transactions a second", workers, asked)
	// In so short a time each kind of query may run once more than its share.
	if most := float64(workers) * (1 + kinds/rest.Seconds()); asked > most {
		t.Errorf("%d idle workers: %.1f transactions a second, at most %.0f", workers, asked, most)
	}
	f.leaveAll()
}

// transactions is the number of transactions in the database; each statement of an
// idle worker is one.
func (f *fleet) transactions() (n int64) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		if _, err := conn.Exec(f.Context(), "select pg_stat_clear_snapshot()"); err != nil {
			return err
		}
		return conn.QueryRow(f.Context(), "select xact_commit + xact_rollback from pg_stat_database where datname = 'postgres'").Scan(&n)
	})
	return n
}
