package e2e

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"

	"headway/job"
	"headway/lab"
	"headway/output/parquet"
	"headway/parse"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
	"headway/weburl"
)

// allFormats are the formats written from pages.
const allFormats = "jsonl,csv,sitemap,parquet"

// endings are the outcomes of URLs.
type endings map[string]string

// count counts endings.
func (e endings) count() map[string]int64 {
	counts := map[string]int64{}
	for _, how := range e {
		counts[how]++
	}
	return counts
}

// add adds a row, which must be the only one of its URL.
func (w *world) add(e endings, file, url, outcome, reason string) {
	w.Helper()
	if _, twice := e[url]; twice {
		w.Errorf("%s stands twice in %s", url, file)
	}
	e[url] = strings.TrimSpace(outcome + " " + reason)
}

// TestFormats writes all formats in one crawl that is killed several times. Each file
// has each finished URL once, as counted by the store; an export has the same, and one
// made while the crawl runs has what was finished by then.
func TestFormats(t *testing.T) {
	t.Parallel()
	const hosts, pages, kills = 10, 40, 3
	delay := 100 * time.Millisecond
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	args := []string{"--preset", "owned", "--jitter", "0", "--format", allFormats, "--quiet"}
	for n := range kills {
		cmd := w.crawl("run", args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() bool { return w.lab.Stats().Total.UniquePages >= int64((n+1)*hosts*pages/(kills+2)) })
		if n == 1 { // while it runs
			release := w.holdAt(cmd, hosts*pages*3/5)
			w.run(w.command("export", "--dir", "run", "--format", allFormats, "--out", "meanwhile"), 0)
			release()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		for _, name := range []string{"pages.jsonl", "pages.csv", "pages.parquet", "links.parquet", "sitemaps"} {
			if _, err := os.Stat(filepath.Join(w.dir, "run", name)); err == nil {
				t.Errorf("there is %s before it is whole", name)
			}
		}
	}
	w.run(w.crawl("run", args...), 0)
	w.complete()
	w.run(w.command("export", "--dir", "run", "--format", allFormats, "--out", "after"), 0)

	want := w.ledger("run")
	for _, dir := range []string{"run", "after"} {
		w.holds(dir, want)
		left, err := filepath.Glob(filepath.Join(w.dir, dir, "*.*.*")) // .part, .spool, .before
		left = slices.DeleteFunc(left, func(name string) bool { return strings.Contains(name, "journal") })
		if err != nil || len(left) > 0 {
			t.Errorf("%v is left in %s, %v", left, dir, err)
		}
	}
	if a, b := w.read("run/pages.csv"), w.read("after/pages.csv"); !bytes.Equal(a, b) {
		t.Error("the export is not what the crawl wrote")
	}
	meanwhile := w.csvRows("meanwhile")
	if n := len(meanwhile); n == 0 || n >= len(w.csvRows("run")) {
		t.Errorf("%d URLs had ended while the crawl ran", n)
	}
	w.holds("meanwhile", meanwhile.count())
	w.links("run", int64(hosts*pages), int64(kills)*int64(hosts)*int64(2*time.Second/delay))
}

// holdAt stops a crawl at a number of pages until it is released: on a busy machine it
// could end before the test has done its work.
func (w *world) holdAt(crawl *exec.Cmd, pages int64) (release func()) {
	released := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for w.lab.Stats().Total.UniquePages < pages {
			select {
			case <-released:
				return
			case <-time.After(5 * time.Millisecond): // the lab counts pages but does not report them
			}
		}
		if err := crawl.Process.Signal(syscall.SIGSTOP); err != nil {
			w.Error(err)
		}
	})
	return func() {
		close(released)
		wg.Wait()
		if err := crawl.Process.Signal(syscall.SIGCONT); err != nil {
			w.Error(err)
		}
	}
}

func (w *world) read(name string) []byte {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// ledger is the number of URLs by outcome, from the store.
func (w *world) ledger(dir string) map[string]int64 {
	w.Helper()
	view, err := sqlite.OpenView(w.Context(), filepath.Join(w.dir, dir))
	if err != nil {
		w.Fatal(err)
	}
	defer view.Close()
	jobs, err := view.JobList(w.Context(), 0, 10)
	if err != nil || len(jobs) != 1 {
		w.Fatal(jobs, err)
	}
	counts, err := view.Counts(w.Context(), jobs[0].ID)
	if err != nil {
		w.Fatal(err)
	}
	ended := map[string]int64{}
	for e, n := range counts.Ended {
		if e.Reason != visit.OutOfScope && n > 0 {
			ended[strings.TrimSpace(string(e.Outcome)+" "+string(e.Reason))] = n
		}
	}
	return ended
}

// holds checks the outcomes in each file of a folder, and the sitemaps.
func (w *world) holds(dir string, want map[string]int64) {
	w.Helper()
	for name, rows := range map[string]endings{"pages.jsonl": w.jsonlRows(dir), "pages.csv": w.csvRows(dir), "pages.parquet": w.parquetRows(dir)} {
		if diff := cmp.Diff(want, rows.count()); diff != "" {
			w.Errorf("%s/%s is not the ledger (-ledger +file):\n%s", dir, name, diff)
		}
	}
	var pages []string
	rows, err := parquetgo.ReadFile[parquet.Page](filepath.Join(w.dir, dir, "pages.parquet"))
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range rows {
		if p.Status == 200 && p.Outcome == "fetched" && strings.HasPrefix(p.ContentType, "text/html") && (p.Canonical == "" || p.Canonical == p.URL) && !slices.Contains(p.Directives, "noindex") {
			pages = append(pages, p.URL)
		}
	}
	slices.Sort(pages)
	if got := w.sitemaps(dir); !slices.Equal(got, pages) {
		w.Errorf("%d URLs in the sitemaps of %s, %d belong there", len(got), dir, len(pages))
	}
}

func (w *world) jsonlRows(dir string) endings {
	w.Helper()
	rows := endings{}
	lines := bufio.NewScanner(bytes.NewReader(w.read(dir + "/pages.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct{ URL, Outcome, Reason string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			w.Fatal(err)
		}
		w.add(rows, "pages.jsonl", l.URL, l.Outcome, l.Reason)
	}
	return rows
}

func (w *world) csvRows(dir string) endings {
	w.Helper()
	rows := endings{}
	cells, err := csv.NewReader(bytes.NewReader(w.read(dir + "/pages.csv"))).ReadAll()
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range cells[1:] {
		w.add(rows, "pages.csv", c[0], c[1], c[2])
	}
	return rows
}

func (w *world) parquetRows(dir string) endings {
	w.Helper()
	rows := endings{}
	pages, err := parquetgo.ReadFile[parquet.Page](filepath.Join(w.dir, dir, "pages.parquet"))
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range pages {
		w.add(rows, "pages.parquet", p.URL, p.Outcome, p.Reason)
	}
	return rows
}

// sitemaps reads the sitemaps of all hosts as a crawl would.
func (w *world) sitemaps(dir string) []string {
	w.Helper()
	indexes, err := filepath.Glob(filepath.Join(w.dir, dir, "sitemaps", "*", "sitemap.xml"))
	if err != nil {
		w.Fatal(err)
	}
	var urls []string
	read := func(path string, at weburl.URL, yield func(parse.Entry)) {
		f, err := os.Open(path)
		if err != nil {
			w.Fatal(err)
		}
		defer f.Close()
		s := parse.NewSitemap(f, at, parse.SitemapOptions{})
		for e := range s.Entries() {
			yield(e)
		}
		if r := s.Report(); s.Err() != nil || r.Foreign > 0 || len(r.Bad) > 0 {
			w.Errorf("%s: %+v, %v", path, r, s.Err())
		}
	}
	for _, index := range indexes {
		host := "https://" + filepath.Base(filepath.Dir(index))
		if name, plain := strings.CutPrefix(host, "https://http_"); plain {
			host = "http://" + strings.Replace(name, "_", ":", 1)
		}
		at, err := weburl.Parse(host + "/sitemap.xml")
		if err != nil {
			w.Fatal(err)
		}
		read(index, at, func(e parse.Entry) {
			read(filepath.Join(filepath.Dir(index), filepath.Base(e.URL.Path())), e.URL, func(e parse.Entry) { urls = append(urls, e.URL.String()) })
		})
	}
	slices.Sort(urls)
	return urls
}

// links checks that the links of each fetched page are there once, and that no more
// pages are missing than were at stake.
func (w *world) links(dir string, fetched, atStake int64) {
	w.Helper()
	path := filepath.Join(w.dir, dir, "links.parquet")
	f, err := os.Open(path)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		w.Fatal(err)
	}
	file, err := parquetgo.OpenFile(f, size)
	if err != nil {
		w.Fatal(err)
	}
	text, _ := file.Lookup(parquet.MissingKey)
	missing, err := strconv.ParseInt(text, 10, 64)
	if err != nil || missing > atStake {
		w.Errorf("links of %q pages are missing, at most %d were at stake", text, atStake)
	}
	rows, err := parquetgo.ReadFile[parquet.Link](path)
	if err != nil {
		w.Fatal(err)
	}
	outcome := w.parquetRows(dir)
	from := map[string]bool{}
	last := ""
	for _, l := range rows {
		if l.From != last && from[l.From] {
			w.Errorf("the links of %s stand there twice", l.From)
		}
		from[l.From], last = true, l.From
		if outcome[l.From] != "fetched" {
			w.Errorf("%s has links, and was %q", l.From, outcome[l.From])
		}
	}
	text, _ = file.Lookup(parquet.PagesKey)
	complete, err := strconv.ParseInt(text, 10, 64)
	// Each page of the lab has links; a page that is missing may have some of them.
	if n := int64(len(from)); err != nil || complete+missing != fetched || n < complete || n > fetched {
		w.Errorf("links of %d pages, all of %q, %d are missing, %d were fetched", n, text, missing, fetched)
	}
	w.Logf("%d links of %d pages, those of %d are missing after the kills", len(rows), len(from), missing)
}

// TestExportFlat exports a large crawl to each format with memory that does not depend
// on its size.
func TestExportFlat(t *testing.T) {
	pages := 20_000
	if full {
		pages = 1_000_000
	}
	if text := os.Getenv("HEADWAY_EXPORT_PAGES"); text != "" {
		var err error
		if pages, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const most = 160 << 20
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(1))})
	w.measurable()
	w.record(filepath.Join(w.dir, "run"), pages)
	for _, format := range append(strings.Split(allFormats, ","), allFormats) {
		t.Run(format, func(t *testing.T) {
			var peak int64
			out := filepath.Join("out", strings.ReplaceAll(format, ",", "-"))
			cmd := w.command("export", "--dir", "run", "--format", format, "--out", out)
			began := time.Now()
			w.watch(cmd, 20*time.Millisecond, func(rss int64) { peak = max(peak, rss) })
			t.Logf("%d pages as %s: %d MB resident, %s, %.1f µs CPU a page", pages, format, peak>>20, time.Since(began).Round(time.Millisecond),
				float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/float64(pages))
			if peak > most {
				t.Errorf("resident %d MB, want at most %d", peak>>20, most>>20)
			}
		})
	}
	rows := w.parquetRows("out/parquet")
	if !maps.Equal(rows.count(), map[string]int64{"fetched": int64(pages)}) || len(w.sitemaps("out/sitemap")) != pages {
		t.Errorf("not all is there: %v", rows.count())
	}
}

// record makes a finished crawl with a number of pages.
func (w *world) record(dir string, pages int) {
	w.Helper()
	check := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	ctx := w.Context()
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	check(err)
	defer st.Close()
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	id, err := st.CreateJob(ctx, store.Job{Name: "crawl", State: job.Running, CreatedAt: now, StartedAt: now})
	check(err)
	worker, err := st.Join(ctx, now, "test")
	check(err)
	leases, err := st.Acquire(ctx, now, worker, store.SlotCount)
	check(err)
	home, err := weburl.Parse("https://www.example.com/")
	check(err)
	for from := 0; from < pages; from += store.MaxVisits {
		var found []store.Found
		c := store.Commit{Worker: worker, Number: int64(from/store.MaxVisits) + 1, At: now}
		for n := from; n < min(from+store.MaxVisits, pages); n++ {
			u, err := home.Resolve(fmt.Sprintf("/section-%d/a-page-with-a-name/%d.html", n%97, n))
			check(err)
			it := visit.Item{Job: id, URL: u, Via: home, Found: visit.FoundLink, Depth: 1}
			found = append(found, store.Found{Item: it})
			c.Visits = append(c.Visits, visit.Visit{
				Item: it, Outcome: visit.Fetched,
				Answer: visit.Answer{Status: 200, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html; charset=utf-8", WireBytes: int64(n), DecodedBytes: int64(3 * n)},
				Timing: visit.Timing{Sent: now, FirstByte: time.Duration(n) * time.Microsecond, Total: time.Duration(n+900) * time.Microsecond},
				Page: visit.Page{
					Title: fmt.Sprintf("Page %d of a site with many pages", n), Description: fmt.Sprintf("What page %d says of itself, %s", n, strings.Repeat("in many words ", 8)),
					Language: "en", Charset: "utf-8", Digest: fmt.Sprintf("%032x", n), SimHash: uint64(n) << 20,
				},
			})
		}
		_, err := st.Add(ctx, now, found)
		check(err)
		for _, slot := range c.Slots(st.Key()) {
			i := slices.IndexFunc(leases, func(l store.Lease) bool { return l.Slot == slot })
			c.Leases = append(c.Leases, leases[i])
		}
		_, err = st.Commit(ctx, c)
		check(err)
	}
	check(st.Leave(ctx, worker))
	check(st.SetState(ctx, now, id, job.Running, job.Complete, "all URLs processed"))
}
