package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc"

	"headway/lab"
)

// archived is the content of a crawl's archive.
type archived struct {
	answers map[string][]int // statuses by URL
	records map[string]int   // by type
	text    strings.Builder  // of all records, decompressed
}

// readArchive reads all WARC files of a crawl with gowarc, all checks on, and compares
// the indexes with them.
func (w *world) readArchive(dir string) *archived {
	w.Helper()
	a := &archived{answers: map[string][]int{}, records: map[string]int{}}
	names, err := filepath.Glob(filepath.Join(w.dir, dir, "*.warc.gz"))
	if err != nil || len(names) == 0 {
		w.Fatalf("no archive: %v", err)
	}
	if parts, err := filepath.Glob(filepath.Join(w.dir, dir, "*.part")); len(parts) > 0 || err != nil {
		w.Errorf("left behind: %v %v", parts, err)
	}
	for _, name := range names {
		index, err := os.ReadFile(strings.TrimSuffix(name, ".warc.gz") + ".cdxj")
		if err != nil {
			w.Fatal(err)
		}
		if captures := w.readArchiveFile(a, name); captures != bytes.Count(index, []byte("\n")) {
			w.Errorf("%d captures in %s, %d in its index", captures, name, bytes.Count(index, []byte("\n")))
		}
	}
	return a
}

func (w *world) readArchiveFile(a *archived, name string) (captures int) {
	w.Helper()
	f, err := os.Open(name)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(bufio.NewReader(f))
	if err == nil {
		_, err = io.Copy(&a.text, gz)
	}
	if err != nil {
		w.Fatal(err)
	}
	r, err := gowarc.NewWarcFileReader(name, 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(w.TempDir()))
	if err != nil {
		w.Fatal(err)
	}
	defer r.Close()
	for {
		record, _, validation, err := r.Next()
		if errors.Is(err, io.EOF) {
			return captures
		}
		if err == nil {
			err = record.ValidateDigest(validation)
		}
		if err != nil || !validation.Valid() {
			w.Fatalf("%s: %v %v", name, err, validation)
		}
		a.records[record.Type().String()]++
		if t := record.Type(); t == gowarc.Response || t == gowarc.Revisit {
			captures++
			url := record.WarcHeader().Get(gowarc.WarcTargetURI)
			a.answers[url] = append(a.answers[url], w.statusOf(record))
		}
		record.Close()
	}
}

// statusOf reads the status of a response or revisit.
func (w *world) statusOf(record gowarc.WarcRecord) int {
	w.Helper()
	block, err := record.Block().RawBytes()
	if err != nil {
		w.Fatal(err)
	}
	line, err := bufio.NewReader(block).ReadString('\n')
	if err != nil {
		w.Fatal(err)
	}
	status, err := strconv.Atoi(strings.Fields(line)[1])
	if err != nil {
		w.Fatal(err)
	}
	return status
}

// statuses are the statuses of the URLs in pages.jsonl that got a response.
func (w *world) statuses(dir string) map[string]int {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, dir, "pages.jsonl"))
	if err != nil {
		w.Fatal(err)
	}
	list := map[string]int{}
	for line := range bytes.Lines(text) {
		var page struct {
			URL    string `json:"url"`
			Status int    `json:"status"`
		}
		if err := json.Unmarshal(line, &page); err != nil {
			w.Fatal(err)
		}
		if page.Status > 0 {
			list[page.URL] = page.Status
		}
	}
	return list
}

// TestArchive compares an archive with the store: one response for each page, in
// addition only robots.txt and sitemaps, and no secrets.
func TestArchive(t *testing.T) {
	const hosts, pages = 10, 20
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.RedirectRate = 0.2 }))})
	w.run(w.crawl("run", "--preset", "owned", "--delay", "1ms", "--format", "jsonl,warc",
		"--header", "X-Token: s3cret-token", "--header", "Cookie: s3cret-cookie", "--basic-auth", "me:s3cret-word"), 0)
	w.clean()
	a := w.readArchive("run")
	want := w.statuses("run")
	if len(want) < hosts*pages {
		t.Errorf("only %d URLs were answered", len(want))
	}
	for url, status := range want {
		if got := a.answers[url]; len(got) != 1 || got[0] != status {
			t.Errorf("%s answered %d and is archived as %v", url, status, got)
		}
	}
	robots, sitemaps := 0, 0
	for url := range a.answers {
		switch _, page := want[url]; {
		case page:
		case path.Base(url) == "robots.txt":
			robots++
		case strings.Contains(path.Base(url), "sitemap"):
			sitemaps++
		default:
			t.Errorf("%s is archived and not in the ledger", url)
		}
	}
	if robots != hosts || sitemaps == 0 {
		t.Errorf("%d robots.txt and %d sitemaps of %d hosts", robots, sitemaps, hosts)
	}
	answers := len(want) + robots + sitemaps
	if a.records["response"]+a.records["revisit"] != answers || a.records["request"] != answers || a.records["metadata"] != answers || a.records["warcinfo"] != 1 {
		t.Errorf("%d answers, records: %v", answers, a.records)
	}
	if text := a.text.String(); strings.Contains(text, "s3cret") || strings.Contains(text, "bWU6czNjcmV0LXdvcmQ") {
		t.Error("a secret is archived")
	} else if !strings.Contains(text, "X-Headway-Omitted: Authorization, Cookie, X-Token\r\n") {
		t.Error("nothing says that secrets were left out")
	}
	t.Logf("%d pages, %d robots.txt, %d sitemaps: %v", len(want), robots, sitemaps, a.records)
}

// TestArchiveKilled kills a crawl that archives. In the end every stored response is
// archived, and twice at most those that were in flight.
func TestArchiveKilled(t *testing.T) {
	t.Parallel()
	hosts, pages, kills, delay := 20, 20, 3, 100*time.Millisecond
	if full {
		hosts, pages, kills = 100, 100, 20
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	args := []string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off", "--format", "jsonl,warc"}
	for range kills {
		cmd := w.crawl("run", args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(pages) * delay / time.Duration(kills+1)) // kills are spread over the crawl
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	w.run(w.crawl("run", args...), 0)
	w.complete()
	a := w.readArchive("run")
	again := 0
	for url, status := range w.statuses("run") {
		got := a.answers[url]
		if len(got) == 0 || got[len(got)-1] != status {
			t.Errorf("%s answered %d and is archived as %v", url, status, got)
		}
		again += len(got) - 1
	}
	atStake := kills * hosts * (1 + int(250*time.Millisecond/delay))
	if again > atStake {
		t.Errorf("%d answers are archived again, at most %d were in flight", again, atStake)
	}
	t.Logf("%d answers archived, %d of them again after %d kills", len(a.answers), again, kills)
}
