//go:build linux

// Package bench measures the cost of a page in the store: one page per host and commit, 60
// links a page of which 3 are new and 1 of them leads to another host, URLs of 66 bytes,
// everything acknowledged on disk.
//
// `make bench-store` runs it in full and fails when a bar is missed; otherwise only the
// harness is tested, on a small web, and judged by ratios.
package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/internal/pgtest"
	"headway/store/postgres"
	"headway/store/sqlite"
)

// size is how large the web is and how long each measurement takes.
type size struct {
	hosts, urls, pages, rounds int
}

// full reports whether the full measurement was requested.
var full = os.Getenv("HEADWAY_BENCH_STORE") != ""

func sizeOf() size {
	if full {
		return size{hosts: 10_000, urls: 1_000_000, pages: 20_000, rounds: 5}
	}
	return size{hosts: 1000, urls: 20_000, pages: 1000, rounds: 1}
}

// settings are those of a small dedicated server: a share of memory as the manual
// recommends, and checkpoints that are not forced by the log.
var settings = []string{"shared_buffers=2GB", "max_wal_size=8GB", "checkpoint_timeout=15min", "wal_compression=lz4"}

// server is a PostgreSQL with a store on it.
type server struct {
	t       *testing.T
	cluster *pgtest.Cluster
	conn    *pgx.Conn // for statistics of the server itself
	s       *postgres.Store
}

func startServer(t *testing.T) *server {
	t.Helper()
	cluster := pgtest.StartFor(t, pgtest.Config{Durable: true, Settings: settings})
	p := &server{t: t, cluster: cluster}
	var err error
	if p.conn, err = pgx.Connect(t.Context(), cluster.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.conn.Close(context.Background()) })
	if p.s, err = postgres.Open(t.Context(), postgres.Config{DSN: cluster.DSN("postgres")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.s.Close() })
	return p
}

func (p *server) number(query string) float64 {
	p.t.Helper()
	var n float64
	if err := p.conn.QueryRow(p.t.Context(), query).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *server) exec(query string) {
	p.t.Helper()
	if _, err := p.conn.Exec(p.t.Context(), query); err != nil {
		p.t.Fatal(err)
	}
}

func (p *server) cpu() time.Duration {
	p.t.Helper()
	d, err := p.cluster.CPU()
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// serverCost is a cost including the server: all its processes, with vacuum and
// checkpoints.
type serverCost struct {
	cost
	cpu time.Duration
	wal float64 // bytes
}

// measure runs a function and reads the server's counters around it.
func (p *server) measure(do func() (cost, error)) serverCost {
	p.t.Helper()
	cpu, wal := p.cpu(), p.number("select pg_current_wal_insert_lsn() - '0/0'")
	c, err := do()
	if err != nil {
		p.t.Fatal(err)
	}
	return serverCost{c, p.cpu() - cpu, p.number("select pg_current_wal_insert_lsn() - '0/0'") - wal}
}

func (c cost) perPage(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1e3 / float64(c.pages)
}

func (c cost) rate() float64 { return float64(c.pages) / c.wall.Seconds() }

func TestPostgres(t *testing.T) {
	z := sizeOf()
	p := startServer(t)
	c := newCrawl(t, p.s, z.hosts, z.urls, 1)
	p.exec("vacuum analyze")
	p.exec("checkpoint")
	perURL := p.number(sizeQuery("url", "queue")) / p.rows("queue")
	at := map[string]serverCost{}
	for _, m := range []struct {
		name string
		work work
	}{
		{"warm-up", work{pages: z.pages / 2, each: 100, foreign: 1}},
		{"500", work{pages: z.pages, each: 500, foreign: 1}},
		{"100", work{pages: z.pages, each: 100, foreign: 1}},
		{"30", work{pages: z.pages / 2, each: 30, foreign: 1}},
		{"4", work{pages: z.pages / 5, each: 4, foreign: 1}},
		{"500, 5 foreign", work{pages: z.pages / 2, each: 500, foreign: 5}},
		{"500, 10 foreign", work{pages: z.pages / 2, each: 500, foreign: 10}},
		{"500, known links not filtered", work{pages: z.pages / 4, each: 500, foreign: 1, unfiltered: true}},
	} {
		r := p.measure(func() (cost, error) { return c.owners[0].run(m.work) })
		at[m.name] = r
		t.Logf("%-31s %6.0f pages/s, %4.0f µs CPU of PostgreSQL a page, %3.0f µs of the client, %5.0f bytes of log", m.name, r.rate(), r.perPage(r.cpu), r.perPage(r.client), r.wal/float64(r.pages))
	}
	perEnded := p.number(sizeQuery("url"))/p.rows("url") + p.number(sizeQuery("outcome"))/p.rows("outcome")
	t.Logf("%.0f bytes per waiting URL, %.0f per finished one", perURL, perEnded)
	p.exact(c)
	if !full {
		// The clock of /proc is too coarse for such a short run; the client's CPU time is
		// not.
		if large, small := at["100"], at["4"]; large.perPage(large.client) > small.perPage(small.client) {
			t.Errorf("a page in a large commit costs more than in a small one: %.0f and %.0f µs", large.perPage(large.client), small.perPage(small.client))
		}
		return
	}
	atMost := func(name string, bar float64) {
		if r := at[name]; r.perPage(r.cpu) > bar {
			t.Errorf("%s: %.0f µs CPU a page, at most %.0f", name, r.perPage(r.cpu), bar)
		}
	}
	atMost("500", 150) // with all indexes the API needs: the engine has no others
	atMost("30", 300)
}

// rows counts the rows in a table of job 1, which is shared or its own.
func (p *server) rows(table string) float64 {
	p.t.Helper()
	return p.number(fmt.Sprintf("select count(*) from headway.%s_%.0f", table, p.number("select shelf from headway.job where id = 1")))
}

// sizeQuery sums the bytes of tables of job 1, with indexes.
func sizeQuery(tables ...string) string {
	query := "select 0"
	for _, table := range tables {
		query += fmt.Sprintf(" + (select sum(pg_total_relation_size(relid)) from headway.job j cross join pg_partition_tree(('headway.%s_' || j.shelf)::regclass) where j.id = 1)", table)
	}
	return query
}

// exact compares the counts of a job with its rows.
func (p *server) exact(c *crawl) {
	p.t.Helper()
	counts, err := p.s.Counts(p.t.Context(), c.job)
	if err != nil {
		p.t.Fatal(err)
	}
	audit, err := p.s.Audit(p.t.Context(), c.job)
	if err != nil {
		p.t.Fatal(err)
	}
	if !counts.Equal(audit) {
		p.t.Errorf("counts %+v, rows %+v", counts, audit)
	}
}

// rowsPerPage are the rows that a page with 3 new links writes at least: 3 URLs and 3 queue
// entries are inserted, one is deleted, an outcome is inserted, a host is updated. Notices
// to other owners are extra.
const rowsPerPage = 9

// clients is how many owners, and how many clients of pgbench, work concurrently: one waits
// for the disk while the other computes.
const clients = 2

// TestRowsBesidePgbench compares rows written per second, at 500 pages a commit, with those
// of pgbench, which writes 1,000 plain rows without an index per commit, with as many
// clients as there are owners. Commits of 125 pages, about 1,000 rows, are only reported.
func TestRowsBesidePgbench(t *testing.T) {
	z := sizeOf()
	p := startServer(t)
	c := newCrawl(t, p.s, z.hosts, z.urls/2, clients)
	p.exec("create table plain (a bigint, b bigint, c text)")
	p.measure(func() (cost, error) { return c.runAll(work{pages: z.pages / 2, each: 125, foreign: 1}) })
	// Alternating, because the load of the machine may vary.
	var ratios []float64
	for range z.rounds {
		rows := map[int]float64{}
		for _, each := range []int{500, 125} {
			r := p.measure(func() (cost, error) { return c.runAll(work{pages: z.pages, each: min(each, z.pages/4), foreign: 1}) })
			rows[each] = r.rate() * rowsPerPage
			t.Logf("%d owners, %d pages a commit: %.0f pages/s, %.0f rows/s, %.0f µs CPU a page", clients, each, r.rate(), rows[each], r.perPage(r.cpu))
		}
		bare := p.pgbench()
		t.Logf("pgbench: %.0f rows/s; ratio %.2f, in smaller commits %.2f", bare, rows[500]/bare, rows[125]/bare)
		ratios = append(ratios, rows[500]/bare)
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	if full && median < 0.15 {
		t.Errorf("%.2f of pgbench's rows, at least 0.15", median)
	}
	if median <= 0 || math.IsInf(median, 0) || math.IsNaN(median) {
		t.Errorf("no ratio: %v", ratios)
	}
	p.exact(c)
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench returns the rows per second of the bare server.
func (p *server) pgbench() float64 {
	p.t.Helper()
	script := filepath.Join(p.t.TempDir(), "script.sql")
	text := "insert into plain select g, 7, 'https://www.example.com/section/00000000/article-000000.html' from generate_series(1, 1000) as g;\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	seconds := "1"
	if full {
		seconds = "5"
	}
	cmd := exec.CommandContext(p.t.Context(), p.cluster.Bench(), "-n", "-c", strconv.Itoa(clients), "-j", "2", "-T", seconds, "-f", script, "-h", p.cluster.Dir, "-p", strconv.Itoa(p.cluster.Port), "-U", "postgres", "postgres")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("pgbench: %v\n%s", err, out.String())
	}
	m := tps.FindSubmatch(out.Bytes())
	if m == nil {
		p.t.Fatalf("pgbench says\n%s", out.String())
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return rate * 1000
}

func TestSQLite(t *testing.T) {
	z := sizeOf()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := newCrawl(t, s, z.hosts, z.urls, 1)
	at := map[int]cost{}
	for _, each := range []int{500, 100, 30, 4} {
		r, err := c.owners[0].run(work{pages: z.pages * min(each, 100) / 100, each: each, foreign: 1})
		if err != nil {
			t.Fatal(err)
		}
		at[each] = r
		t.Logf("%3d pages a commit: %5.0f pages/s, %3.0f µs CPU a page with the client", each, r.rate(), r.perPage(r.client))
	}
	counts, err := s.Counts(t.Context(), c.job)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // moves the log into the file
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "crawl.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.0f bytes per URL: %d wait, %d have ended", float64(info.Size())/float64(counts.Seen()), counts.Waiting, counts.Finished())
	if !full {
		if at[100].perPage(at[100].client) > at[4].perPage(at[4].client) {
			t.Errorf("a page in a large commit costs more than in a small one")
		}
		return
	}
	if got := at[500].perPage(at[500].client); got > 200 {
		t.Errorf("%.0f µs CPU a page, at most 200", got)
	}
}
