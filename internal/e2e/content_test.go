package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"

	"headway/lab"
	"headway/output/parquet"
	"headway/visit"
)

// told is what a crawl kept of what a page says.
type told struct{ text, markdown, digest string }

// contents reads the texts of a crawl. Each fetched page must have one, once.
func (w *world) contents(dir string) map[string]told {
	w.Helper()
	rows, err := parquetgo.ReadFile[parquet.Page](filepath.Join(w.dir, dir, "pages.parquet"))
	if err != nil {
		w.Fatal(err)
	}
	pages := map[string]told{}
	for _, p := range rows {
		if p.Outcome != "fetched" {
			if p.Text != "" || p.Markdown != "" {
				w.Errorf("%s is %s, and has a text", p.URL, p.Outcome)
			}
			if p.Reason == string(visit.Quarantined) {
				w.Errorf("%s is quarantined: it was in flight at several kills", p.URL)
			}
			continue
		}
		if _, twice := pages[p.URL]; twice {
			w.Errorf("%s stands twice in %s", p.URL, dir)
		}
		if p.Text == "" || p.Markdown == "" || p.ContentDigest == "" {
			w.Errorf("%s: text of %d bytes, Markdown of %d, digest %q", p.URL, len(p.Text), len(p.Markdown), p.ContentDigest)
		}
		pages[p.URL] = told{p.Text, p.Markdown, p.ContentDigest}
	}
	return pages
}

// jsonlContents reads the texts from pages.jsonl.
func (w *world) jsonlContents(dir string) map[string]told {
	w.Helper()
	pages := map[string]told{}
	for line := range bytes.Lines(w.read(dir + "/pages.jsonl")) {
		var l struct {
			URL, Outcome, Text, Markdown string
			Digest                       string `json:"content_digest"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			w.Fatalf("%s: %v", dir, err)
		}
		if l.Outcome == "fetched" {
			pages[l.URL] = told{l.Text, l.Markdown, l.Digest}
		}
	}
	return pages
}

// markdownFiles reads the folder of Markdown: the text below the header, by URL.
func (w *world) markdownFiles(dir string) map[string]string {
	w.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(w.dir, dir, "markdown"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header, body, ok := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
		if !ok {
			return fmt.Errorf("%s has no header", path)
		}
		url := ""
		for line := range strings.Lines(header + "\n") {
			if v, ok := strings.CutPrefix(line, "url: "); ok {
				if url, err = strconv.Unquote(strings.TrimSpace(v)); err != nil {
					return fmt.Errorf("%s: %s: %w", path, line, err)
				}
			}
		}
		if _, twice := files[url]; twice || url == "" {
			return fmt.Errorf("%s: %q stands twice or has no URL", path, url)
		}
		files[url] = strings.Trim(body, "\n")
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return files
}

// TestContentKill kills a crawl that keeps texts, and runs it again. In the end each
// page has its text once, as in a crawl that was not killed, in every format.
func TestContentKill(t *testing.T) {
	t.Parallel()
	hosts, pages, kills := 10, 40, 3
	if full {
		hosts, pages, kills = 100, 200, 20
	}
	// The smallest pages of the lab are links only, and have no main text.
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) {
		t.Site.CrawlDelay, t.Site.MinKB, t.Site.MaxKB = 50*time.Millisecond, 8, 12
	}))})
	args := []string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off", "--content", "text,markdown", "--format", "jsonl,parquet,markdown", "--quiet"}
	w.run(w.crawl("whole", args...), 0)
	want := w.contents("whole")
	if len(want) != hosts*pages {
		t.Fatalf("%d pages have a text, of %d", len(want), hosts*pages)
	}
	w.lab.Reset()

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	share := hosts * pages / (kills + 2)
	for n := range kills {
		before := w.lab.Stats().Total.PageAnswers
		cmd := w.crawl("killed", args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		at := int64(n*share + 1 + random.IntN(share))
		// A page that is the only suspect in flight at two further kills is quarantined, and
		// then has no text. So one for which that has happened once is awaited first. After
		// the first response the journal is that of this run.
		w.eventually(func() bool {
			total := w.lab.Stats().Total
			return total.UniquePages >= at && total.PageAnswers > before && !w.suspectedTwice("killed")
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	w.run(w.crawl("killed", args...), 0)
	w.complete()
	w.same("pages.parquet", want, w.contents("killed"))
	w.same("pages.jsonl", want, w.jsonlContents("killed"))
	files := w.markdownFiles("killed")
	if len(files) != len(want) {
		t.Errorf("%d Markdown files, want %d", len(files), len(want))
	}
	for url, page := range want {
		if files[url] != strings.Trim(page.markdown, "\n") {
			t.Errorf("the Markdown file of %s differs", url)
		}
	}
}

// suspectedTwice reports whether one more kill may quarantine a page: it was the only
// suspect in flight at a kill, and has not completed since. See package journal.
func (w *world) suspectedTwice(dir string) bool {
	w.Helper()
	pending := map[string]bool{}
	for line := range strings.Lines(string(w.read(dir + "/inflight.journal"))) {
		f := strings.Fields(line)
		switch {
		case len(f) != 4: // cut off, while it is written
		case f[0] == "?":
			pending[f[3]] = f[2] != "0"
		case f[0] == "-":
			delete(pending, f[3])
		}
	}
	for _, twice := range pending {
		if twice {
			return true
		}
	}
	return false
}

// same compares the texts of two crawls.
func (w *world) same(what string, want, got map[string]told) {
	w.Helper()
	if len(got) != len(want) {
		w.Errorf("%s: %d pages have a text, want %d", what, len(got), len(want))
	}
	for url, page := range want {
		if got[url] != page {
			w.Errorf("%s: the text of %s differs", what, url)
		}
	}
}

// TestContentSpeed crawls one large host, in turn without, with texts and with links.
// In its full form it judges the speed by the medians of three; the short form only the
// memory.
func TestContentSpeed(t *testing.T) {
	const most = 200 << 20
	pages, rounds := 1500, 1
	if full {
		pages, rounds = 20_000, 3
	}
	large := site(pages, func(t *lab.Temper) { t.Site.MinKB, t.Site.MaxKB, t.Site.Gzip = 10, 60, true })
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, large)})
	w.measurable()
	w.shipped()
	kinds := []struct {
		name  string
		flags []string
		share float64 // of the speed without
	}{
		{name: "without", share: 1},
		{name: "content", flags: []string{"--content", "text,markdown"}, share: 0.6},
		{name: "links", flags: []string{"--links"}, share: 0.8},
	}
	wall := make([][]int64, len(kinds))
	for range rounds {
		for i, k := range kinds {
			w.lab.Reset()
			if err := os.RemoveAll(filepath.Join(w.dir, "run")); err != nil {
				t.Fatal(err)
			}
			cmd := w.crawl("run", append([]string{"--preset", "owned", "--workers", "64", "--sitemaps", "off", "--quiet"}, k.flags...)...)
			began := time.Now()
			w.run(cmd, 0)
			took := time.Since(began)
			wall[i] = append(wall[i], int64(took))
			w.complete()
			rss := peak(cmd)
			t.Logf("%s: %.0f pages/s, %.0f µs CPU a page, %d MB", k.name, float64(pages)/took.Seconds(),
				float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/float64(pages), rss>>20)
			if rss > most {
				t.Errorf("%s: resident %d MB, want at most %d", k.name, rss>>20, most>>20)
			}
		}
	}
	for i, k := range kinds {
		speed := float64(median(wall[0])) / float64(median(wall[i]))
		t.Logf("%s: %.2f of the speed without", k.name, speed)
		if full && speed < k.share {
			t.Errorf("%s: %.2f of the speed without, want %.2f", k.name, speed, k.share)
		}
	}
}

// peak is the most memory that a process had.
func peak(cmd *exec.Cmd) int64 {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
