package fleettest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/client"
	"headway/content"
	"headway/internal/pgtest"
	"headway/output/s3/s3test"
	"headway/weburl"
)

// TestServiceArchive crawls with workers that archive what hosts send, and kills them: every
// fetched page has one response in the archive, which is what the host sent, and its whole text,
// its Markdown and its links. In full, the archive is in S3, and a worker is killed every 20
// seconds of a crawl of 500 hosts, which takes three minutes.
func TestServiceArchive(t *testing.T) {
	if !full {
		t.Parallel() // in full it sets the environment
	}
	at, least, most, every := setup{hosts: 20, pages: 8, pace: 300 * time.Millisecond}, 2, 2, time.Second
	dir := t.TempDir()
	place, objects := []string{"--archive", dir}, func() map[string]int64 { return filesIn(t, dir) }
	if full {
		at, least, most, every = setup{hosts: 500, pages: 40, pace: 4 * time.Second}, 6, 1<<30, 20*time.Second
		bucket := s3test.Start(t)
		bucket.Setenv(t)
		place = []string{"--archive", "s3://" + s3test.Bucket + "/raw", "--archive-private", bucket.Range(t).String()}
		objects = func() map[string]int64 {
			list := map[string]int64{}
			for key, size := range bucket.Objects(t) {
				list[strings.TrimPrefix(key, "raw/")] = size
			}
			return list
		}
	}
	at.texts = true
	f := newFleet(t, at)
	s := f.service(place...)
	acme := s.tenant("acme")
	for range 4 {
		f.start(place...)
	}
	f.awaitWorkers(4)
	request := f.crawl(0, f.lab.Seeds()...)
	request.Raw, request.Content, request.Links = new(true), []string{"text", "markdown"}, new(true)
	id := acme.create(request)
	f.awaitPages(id, 1) // before that no worker may own a host
	next, killed := time.Now().Add(every), 0
	j := f.await(id, 3*f.long(), func() {
		if killed == most || time.Now().Before(next) {
			return
		}
		next = time.Now().Add(every)
		victim, _ := f.victim()
		f.kill(victim)
		f.start(place...)
		killed++
	})
	if killed < least {
		t.Errorf("%d workers were killed, want at least %d", killed, least)
	}
	f.judge(j)
	f.archived(id, objects())

	pages, began := 0, time.Now()
	for _, row := range all(f, acme.AllPages(t.Context(), id, client.ListPagesParams{Outcome: "fetched", Limit: 1000})) {
		pages++
		sent := f.sends(row.URL)
		if got := acme.content(id, row.URL, "raw"); got != sent {
			t.Fatalf("%s: %d bytes are archived, the host sends %d", row.URL, len(got), len(sent))
		}
		u, err := weburl.Parse(row.URL)
		if err != nil {
			t.Fatal(err)
		}
		says := content.Extract([]byte(sent), u, content.Options{Text: true, Markdown: true})
		for as, want := range map[string]string{"text": says.Text, "markdown": says.Markdown} {
			if got := acme.content(id, row.URL, as); want == "" || got != want {
				t.Fatalf("%s: %d bytes of %s are kept, want %d", row.URL, len(got), as, len(want))
			}
		}
		if got := acme.content(id, row.URL, "links"); !strings.Contains(got, `"links"`) {
			t.Fatalf("%s: its links are %q", row.URL, got)
		}
	}
	if want := at.hosts * at.pages; pages != want {
		t.Errorf("%d pages were read, want %d", pages, want)
	}
	t.Logf("%d pages, read in %v; %d kills", pages, time.Since(began), killed)
	f.leaveAll()
	if !full {
		s.sweeps(id, dir)
	}
	f.leave(s.now)
}

// TestServiceArchiveCost compares what a page costs PostgreSQL with and without an archive, in
// turn.
func TestServiceArchiveCost(t *testing.T) {
	if !full {
		t.Skip("measures processor time; TestServiceArchive has a short form")
	}
	const rounds, most = 5, 1.05
	// Autovacuum would be charged to whichever job runs at that time.
	f := newFleet(t, setup{hosts: 100, pages: 200, db: pgtest.Config{Settings: []string{"autovacuum=off"}}})
	args := []string{"--archive", t.TempDir()}
	for _, host := range f.allHosts() {
		args = append(args, "--owned", strings.TrimPrefix(host, "http://"))
	}
	for range 4 {
		f.start(args...)
	}
	f.awaitWorkers(4)
	cost := map[string][]time.Duration{}
	// Each starts with clean tables, and the order of the two alternates: what earlier crawls
	// left in the tables makes later ones cost more. They have a pace, so that both take as
	// long: what a worker asks for once a second is in the cost, too.
	kinds := []string{"without", "archived"}
	for range rounds {
		slices.Reverse(kinds)
		for _, kind := range kinds {
			var flags []string
			if kind == "archived" {
				flags = append(flags, "--raw")
			}
			f.sql(func(conn *pgx.Conn) error {
				_, err := conn.Exec(f.Context(), "vacuum analyze")
				return err
			})
			before := f.cpu()
			j := f.await(f.submit(append(flags, "--preset", "owned", "--delay", "150ms", "--in-flight", "1", "--jitter", "0", "--sitemaps", "off")...), f.long(), nil)
			if want := int64(f.hosts * f.pages); j.State != "complete" || j.Pages != want {
				t.Fatalf("%s (%s) with %d pages, want %d", j.State, j.Reason, j.Pages, want)
			}
			cost[kind] = append(cost[kind], (f.cpu()-before)/time.Duration(j.Pages))
			f.lab.Reset()
		}
	}
	t.Logf("a page costs PostgreSQL %v with an archive, %v without", cost["archived"], cost["without"])
	with, without := median(cost["archived"]), median(cost["without"])
	if share := float64(with) / float64(without); share > most {
		t.Errorf("in the median a page costs PostgreSQL %v with an archive and %v without: %.2f, at most %.2f", with, without, share, most)
	}
	f.leaveAll()
}

// TestArchiveToS3 archives a few pages in a bucket, and reads them.
func TestArchiveToS3(t *testing.T) {
	bucket := s3test.Start(t)
	bucket.Setenv(t)
	f := newFleet(t, setup{hosts: 1, pages: 3, pace: 200 * time.Millisecond})
	place := []string{"--archive", "s3://" + s3test.Bucket + "/raw", "--archive-private", bucket.Range(t).String()}
	if said := f.refused("worker", "--lease", lease.String(), "--contact", "http://worker.example/", place[0], place[1]); !strings.Contains(said, "hint: to allow it, use --archive-private 127.0.0.1/32:") {
		t.Errorf("a worker that may not connect says %s", said)
	}
	acme := f.service(place...).tenant("acme")
	f.start(place...)
	request := f.crawl(0, f.lab.Seeds()...)
	request.Raw = new(true)
	id := acme.create(request)
	f.judge(f.await(id, f.long(), nil))
	objects := bucket.Objects(t)
	for key := range objects {
		if !strings.HasPrefix(key, "raw/fleet-") {
			t.Errorf("object %s", key)
		}
	}
	f.archived(id, objects)
	for _, row := range all(f, acme.AllPages(t.Context(), id, client.ListPagesParams{Outcome: "fetched"})) {
		if got, want := acme.content(id, row.URL, "raw"), f.sends(row.URL); got != want {
			t.Errorf("%s: %d bytes are archived, the host sends %d", row.URL, len(got), len(want))
		}
	}
}

// sweeps lets the results of a job expire, and its files be a day old: the next server deletes
// both.
func (s *service) sweeps(id int64, dir string) {
	s.Helper()
	old := time.Now().Add(-25 * time.Hour)
	for name := range filesIn(s.T, dir) {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			s.Fatal(err)
		}
	}
	s.leave(s.now)
	s.sql(func(conn *pgx.Conn) error {
		_, err := conn.Exec(s.Context(), "update job set ended_at = 1, layers = layers || '[{\"level\": \"safety\", \"limits\": {\"retention_ms\": 1000}}]' where id = $1", id)
		return err
	})
	s.again() // retention runs soon after a server starts
	s.until("the archive is empty", func() bool { return len(filesIn(s.T, dir)) == 0 })
}

// archived checks that each fetched page of a job refers to a place of its own in a segment
// that is in the archive, complete, and that each segment is one of a commit.
func (f *fleet) archived(id int64, objects map[string]int64) {
	f.Helper()
	var pages, places, segments int64
	f.sql(func(conn *pgx.Conn) error {
		var shelf int
		if err := conn.QueryRow(f.Context(), "select shelf from job where id = $1", id).Scan(&shelf); err != nil {
			return err
		}
		err := conn.QueryRow(f.Context(), fmt.Sprintf(`select count(*), count(distinct (s.key, o.visit::jsonb -> 'answer' -> 'archived' ->> 'offset')), count(distinct s.key)
			from outcome_%d o left join segment s on s.job = o.job and s.key = o.visit::jsonb -> 'answer' -> 'archived' ->> 'segment' where o.job = $1 and o.ending = 1 and s.key is not null`, shelf), id).Scan(&pages, &places, &segments)
		if err != nil {
			return err
		}
		rows, err := conn.Query(f.Context(), "select key, bytes from segment where job = $1", id)
		if err != nil {
			return err
		}
		var key string
		var size, all int64
		_, err = pgx.ForEachRow(rows, []any{&key, &size}, func() error {
			all++
			found := int64(-1)
			for name, n := range objects {
				if strings.HasSuffix(name, "/"+key) {
					found = n
				}
			}
			if found != size {
				f.Errorf("segment %s has %d bytes in the archive, want %d", key, found, size)
			}
			return nil
		})
		f.Logf("%d segments, %d objects, %d pages", all, len(objects), pages)
		if all != segments {
			f.Errorf("%d segments, of which pages refer to %d", all, segments)
		}
		return err
	})
	if want := int64(f.hosts * f.pages); pages != want || places != want {
		f.Errorf("%d pages refer to %d places, want %d", pages, places, want)
	}
}

// filesIn lists the files below a folder, with their sizes. Others may be deleting them.
func filesIn(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	list := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		list[filepath.ToSlash(strings.TrimPrefix(path, dir))] = info.Size()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sends is the body that the lab sends for a page, without a request over the network.
func (f *fleet) sends(page string) string {
	f.Helper()
	w := httptest.NewRecorder()
	f.lab.Handler().ServeHTTP(w, httptest.NewRequestWithContext(f.Context(), http.MethodGet, page, nil))
	if w.Code != http.StatusOK {
		f.Fatalf("the lab answers %s with %d", page, w.Code)
	}
	return w.Body.String()
}
