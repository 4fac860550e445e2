//go:build unix

package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// The layouts compared in docs/adr/0020: how waiting and ended URLs are stored in tables.
// Run with
//
//	go test ./store/sqlite -run TestLayouts -layouts -v
var (
	layouts     = flag.Bool("layouts", false, "compare table layouts")
	layoutHosts = flag.Int("layout-hosts", 10_000, "hosts of the comparison")
	layoutURLs  = flag.Int("layout-urls", 1_000_000, "waiting URLs before it begins")
	layoutPages = flag.Int("layout-pages", 20_000, "pages per batch size")
)

// layout is one way to lay out the tables.
type layout struct {
	name   string
	schema string
	insert []layoutBulk // per new URL
	finish []layoutBulk // per finished page
	head   string       // ids and URLs of a host's queue
}

// layoutBulk is a statement for many rows.
type layoutBulk struct {
	before, row, after string
	args               func(u *benchURL) []any
}

type benchURL struct {
	id, host, via int64
	fp            []byte
	url           string
	rank          int64
	at            int64
	record        string
}

const hostSchema = `create table host(id integer primary key, host text not null unique, slot int, state blob, robots blob, pace_ms int, floor_ms int, hold_until int, last_sent int) strict;`

var theLayouts = []layout{
	{
		name: "one table, state column",
		schema: hostSchema + `
create table url(id integer primary key, host int not null, fp blob not null, url text not null, via int, found int, depth int, hops int, priority int, attempt int, rank int not null, not_before int, seen_at int,
  outcome int, reason int, ended_at int, status int, bytes int, record text) strict;
create unique index url_fp on url(host, fp);
create index url_waiting on url(host, rank, id) where outcome is null;`,
		insert: []layoutBulk{{
			before: `insert into url(id, host, fp, url, via, found, depth, hops, priority, attempt, rank, seen_at) values `, row: `(?,?,?,?,?,1,2,0,0,0,?,?)`, after: ` on conflict do nothing returning id`,
			args: func(u *benchURL) []any { return []any{u.id, u.host, u.fp, u.url, u.via, u.rank, u.at} },
		}},
		finish: []layoutBulk{{
			before: `with done(host, fp, at, record) as (values `, row: `(?,?,?,?)`, after: `) update url set outcome = 1, ended_at = done.at, status = 200, bytes = 5000, record = done.record from done where url.host = done.host and url.fp = done.fp`,
			args: func(u *benchURL) []any { return []any{u.host, u.fp, u.at, u.record} },
		}},
		head: `select id, url from url where host = ? and outcome is null order by rank, id limit 2`,
	},
	{
		name: "url + queue + outcome",
		schema: hostSchema + `
create table seen(host int not null, fp blob not null, id int not null, primary key(host, fp)) without rowid, strict;
create table url(id integer primary key, host int not null, url text not null, via int, found int, depth int, hops int, priority int, seen_at int) strict;
create table queue(host int not null, rank int not null, id int not null, attempt int, not_before int, primary key(host, rank, id)) without rowid, strict;
create table outcome(id integer primary key, outcome int not null, reason int, ended_at int, status int, bytes int, record text) strict;`,
		insert: []layoutBulk{
			{
				before: `insert into seen(host, fp, id) values `, row: `(?,?,?)`, after: ` on conflict do nothing returning id`,
				args: func(u *benchURL) []any { return []any{u.host, u.fp, u.id} },
			},
			{
				before: `insert into url(id, host, url, via, found, depth, hops, priority, seen_at) values `, row: `(?,?,?,?,1,2,0,0,?)`,
				args: func(u *benchURL) []any { return []any{u.id, u.host, u.url, u.via, u.at} },
			},
			{
				before: `insert into queue(host, rank, id) values `, row: `(?,?,?)`,
				args: func(u *benchURL) []any { return []any{u.host, u.rank, u.id} },
			},
		},
		finish: []layoutBulk{
			{
				before: `with done(host, fp) as (values `, row: `(?,?)`, after: `) select seen.id from done join seen on seen.host = done.host and seen.fp = done.fp`,
				args: func(u *benchURL) []any { return []any{u.host, u.fp} },
			},
			{
				before: `delete from queue where (host, rank, id) in (values `, row: `(?,?,?)`, after: `)`,
				args: func(u *benchURL) []any { return []any{u.host, u.rank, u.id} },
			},
			{
				before: `insert into outcome(id, outcome, ended_at, status, bytes, record) values `, row: `(?,1,?,200,5000,?)`,
				args: func(u *benchURL) []any { return []any{u.id, u.at, u.record} },
			},
		},
		head: `select q.id, u.url from queue q join url u on u.id = q.id where q.host = ? order by q.rank, q.id limit 2`,
	},
	{
		name: "waiting + ended, moved",
		schema: hostSchema + `
create table seen(host int not null, fp blob not null, id int not null, primary key(host, fp)) without rowid, strict;
create table waiting(host int not null, rank int not null, id int not null, url text not null, via int, found int, depth int, hops int, priority int, seen_at int, attempt int, not_before int, primary key(host, rank, id)) without rowid, strict;
create table ended(id integer primary key, host int not null, url text not null, via int, found int, depth int, hops int, priority int, seen_at int, attempt int, outcome int not null, reason int, ended_at int, status int, bytes int, record text) strict;`,
		insert: []layoutBulk{
			{
				before: `insert into seen(host, fp, id) values `, row: `(?,?,?)`, after: ` on conflict do nothing returning id`,
				args: func(u *benchURL) []any { return []any{u.host, u.fp, u.id} },
			},
			{
				before: `insert into waiting(host, rank, id, url, via, found, depth, hops, priority, seen_at) values `, row: `(?,?,?,?,?,1,2,0,0,?)`,
				args: func(u *benchURL) []any { return []any{u.host, u.rank, u.id, u.url, u.via, u.at} },
			},
		},
		finish: []layoutBulk{
			{
				before: `with done(host, fp) as (values `, row: `(?,?)`, after: `) select seen.id from done join seen on seen.host = done.host and seen.fp = done.fp`,
				args: func(u *benchURL) []any { return []any{u.host, u.fp} },
			},
			{
				before: `with done(host, rank, id, at, record) as (values `, row: `(?,?,?,?,?)`, after: `) insert into ended(id, host, url, via, found, depth, hops, priority, seen_at, outcome, ended_at, status, bytes, record) select w.id, w.host, url, via, found, depth, hops, priority, seen_at, 1, done.at, 200, 5000, done.record from done cross join waiting w on w.host = done.host and w.rank = done.rank and w.id = done.id`,
				args: func(u *benchURL) []any { return []any{u.host, u.rank, u.id, u.at, u.record} },
			},
			{
				before: `delete from waiting where (host, rank, id) in (values `, row: `(?,?,?)`, after: `)`,
				args: func(u *benchURL) []any { return []any{u.host, u.rank, u.id} },
			},
		},
		head: `select id, url from waiting where host = ? order by rank, id limit 2`,
	},
}

var hostBulk = layoutBulk{
	before: `insert into host(id, host, state, pace_ms, last_sent) values `, row: `(?,'',?,1000,?)`, after: ` on conflict(id) do update set state = excluded.state, pace_ms = excluded.pace_ms, last_sent = excluded.last_sent`,
	args: func(u *benchURL) []any { return []any{u.host, u.fp, u.at} },
}

func TestLayouts(t *testing.T) {
	if !*layouts {
		t.Skip("compares layouts for ADR 0020; run with -layouts")
	}
	for _, l := range theLayouts {
		t.Run(l.name, func(t *testing.T) { measureLayout(t, l) })
	}
}

// layoutBench is a file with one layout.
type layoutBench struct {
	t     *testing.T
	l     layout
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	ids   int64
	rng   *rand.Rand
	heads [][]benchURL // per host, in the order they wait
}

func measureLayout(t *testing.T, l layout) {
	path := filepath.Join(t.TempDir(), "layout.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(4000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := &layoutBench{t: t, l: l, conn: conn, stmts: map[string]*sql.Stmt{}, rng: rand.New(rand.NewPCG(1, 2)), heads: make([][]benchURL, *layoutHosts)}
	b.exec(l.schema)
	b.preload()
	waiting := b.size(path)
	t.Logf("%-24s %.0f bytes per waiting URL", l.name, float64(waiting)/float64(*layoutURLs))
	finished := 0
	for _, batch := range []int{500, 100, 10, 4} {
		pages := min(*layoutPages, batch*400)
		start, cpu := time.Now(), cpuTime()
		for n := 0; n < pages; n += batch {
			b.commit(n, batch)
		}
		wall, used := time.Since(start), cpuTime()-cpu
		finished += pages
		t.Logf("%-24s %3d pages a commit: %6.0f pages/s, %5.0f µs CPU a page", l.name, batch, float64(pages)/wall.Seconds(), float64(used.Microseconds())/float64(pages))
	}
	grown := b.size(path) - waiting
	t.Logf("%-24s %.0f bytes more per finished page with 3 new links", l.name, float64(grown)/float64(finished))
}

func (b *layoutBench) exec(query string) {
	if _, err := b.conn.ExecContext(context.Background(), query); err != nil {
		b.t.Fatal(err)
	}
}

// size is the size of the file after the log was moved into it.
func (b *layoutBench) size(path string) int64 {
	b.exec("pragma wal_checkpoint(truncate)")
	info, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Size()
}

func (b *layoutBench) preload() {
	b.exec("begin")
	var hosts, urls []benchURL
	state := make([]byte, 120)
	for i := range *layoutHosts {
		hosts = append(hosts, benchURL{host: int64(i), fp: state})
	}
	hb := hostBulk
	hb.row = `(?,'h'||?,?,1000,1)`
	hb.args = func(u *benchURL) []any { return []any{u.host, u.host, u.fp} }
	b.bulk(hb, hosts)
	for i := range *layoutURLs {
		urls = append(urls, b.newURL(i%*layoutHosts))
		if len(urls) == 10_000 {
			b.insert(urls)
			urls = urls[:0]
		}
	}
	b.insert(urls)
	b.exec("commit")
}

// newURL is a URL of 66 bytes.
func (b *layoutBench) newURL(host int) benchURL {
	b.ids++
	fp := make([]byte, 16)
	binary.LittleEndian.PutUint64(fp, b.rng.Uint64())
	binary.LittleEndian.PutUint64(fp[8:], b.rng.Uint64())
	return benchURL{
		id: b.ids, host: int64(host), via: max(1, b.ids-1000), fp: fp, rank: 1<<24 + 2<<8 + 127, at: 1763200000000 + b.ids,
		url: fmt.Sprintf("https://www.host%06d.example/section/%08d/article-%010d.html", host, b.ids/7, b.ids),
	}
}

func (b *layoutBench) insert(urls []benchURL) {
	for _, x := range b.l.insert {
		b.bulk(x, urls)
	}
	for _, u := range urls {
		b.heads[u.host] = append(b.heads[u.host], u)
	}
}

// commit finishes a page on each of batch hosts, with three new links a page,
// one of them to another host.
func (b *layoutBench) commit(from, batch int) {
	b.exec("begin immediate")
	var done, found, hosts []benchURL
	state := make([]byte, 120)
	record := `{"v":1,"answer":{"status":200,"protocol":"HTTP/2.0","remote":"192.0.2.1:443","content_type":"text/html; charset=utf-8","validators":{"etag":"\"5f3b-1a2b3c\""},"wire_bytes":10000,"decoded_bytes":50000},"timing":{"sent":"2026-11-15T10:00:00.123Z","first_byte":20000000,"total":30000000},"page":{"title":"An article"}}`
	for i := range batch {
		host := (from + i) % *layoutHosts
		if len(b.heads[host]) == 0 {
			continue
		}
		u := b.heads[host][0]
		b.heads[host] = b.heads[host][1:]
		u.record = record
		done = append(done, u)
		found = append(found, b.newURL(host), b.newURL(host), b.newURL(b.rng.IntN(*layoutHosts)))
		hosts = append(hosts, benchURL{host: int64(host), fp: state, at: u.at})
	}
	for _, x := range b.l.finish {
		b.bulk(x, done)
	}
	b.insert(found)
	b.bulk(hostBulk, hosts)
	b.exec("commit")
	// What the owner reads to have work again.
	for _, u := range done {
		if len(b.heads[u.host])%2 == 0 {
			b.read(u.host)
		}
	}
}

func (b *layoutBench) read(host int64) {
	rows, err := b.stmt(b.l.head).Query(host)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var url string
		if err := rows.Scan(&id, &url); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *layoutBench) stmt(query string) *sql.Stmt {
	s := b.stmts[query]
	if s == nil {
		var err error
		if s, err = b.conn.PrepareContext(context.Background(), query); err != nil {
			b.t.Fatalf("%s: %v", query, err)
		}
		b.stmts[query] = s
	}
	return s
}

// bulk runs a statement over rows, many at a time.
func (b *layoutBench) bulk(x layoutBulk, rows []benchURL) {
	for len(rows) > 0 {
		n := 64
		for n > len(rows) {
			n /= 4
		}
		var args []any
		for i := range rows[:n] {
			args = append(args, x.args(&rows[i])...)
		}
		rows = rows[n:]
		result, err := b.stmt(x.before + strings.Repeat(x.row+",", n-1) + x.row + x.after).Query(args...)
		if err != nil {
			b.t.Fatal(err)
		}
		for result.Next() {
			var id int64
			if err := result.Scan(&id); err != nil {
				b.t.Fatal(err)
			}
		}
		if err := result.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
