package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"headway/lab"
	"headway/output/parquet"
)

// duckDB is the version of the npm package that answers the questions of the guide.
const duckDB = "@duckdb/node-api@1.5.6-r.1"

// TestContentCorpus follows the guide docs/guide/corpus.md: a crawl of many hosts, Parquet with
// texts, a folder of Markdown, and in its full form the questions of the guide in DuckDB. Each
// page says where it came from and what allowed it.
func TestContentCorpus(t *testing.T) {
	t.Parallel()
	hosts, each := 20, 5
	if full {
		hosts = 1000
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(30, func(t *lab.Temper) { t.Site.MinKB, t.Site.MaxKB = 8, 12 }))})
	w.run(w.crawl("corpus", "--preset", "owned", "--delay", "200ms", "--max-pages-per-host", "5", "--content", "text,markdown", "--format", "jsonl,parquet,markdown", "--quiet"), 0)
	w.clean()
	rows, err := parquetgo.ReadFile[parquet.Page](filepath.Join(w.dir, "corpus", "pages.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	files := w.markdownFiles("corpus")
	pages, words, harbours := 0, 0, 0
	same := map[string]int{} // pages with the same words
	for _, p := range rows {
		if p.Outcome != "fetched" {
			continue
		}
		pages++
		words += int(p.Words)
		same[strings.Join(strings.Fields(p.Text), " ")]++
		if strings.Contains(strings.ToLower(p.Text), "harbour") {
			harbours++
		}
		if p.Sent == 0 || p.Via == "" && p.Found != "seed" || p.RobotsSHA256 == "" || p.ContentDigest == "" {
			t.Errorf("%s: sent %d, via %q, robots.txt %q, digest %q", p.URL, p.Sent, p.Via, p.RobotsSHA256, p.ContentDigest)
		}
		if files[p.URL] != strings.Trim(p.Markdown, "\n") {
			t.Errorf("the Markdown file of %s differs", p.URL)
		}
	}
	if pages != hosts*each || len(files) != pages {
		t.Errorf("%d pages and %d files, want %d", pages, len(files), hosts*each)
	}
	t.Logf("%d hosts, %d pages, %d words, %d pages with harbours", hosts, pages, words, harbours)
	if !full {
		return
	}
	answers := w.duckDB(guideQuestions(t))
	if n := answers[0][0]; n["pages"] != float64(pages) || n["words"] != float64(words) {
		t.Errorf("first answer %v, want %d pages and %d words", n, pages, words)
	}
	var copies, counted []int
	for _, n := range same {
		if n > 1 {
			copies = append(copies, n)
		}
	}
	slices.SortFunc(copies, func(a, b int) int { return b - a })
	for _, a := range answers[1] {
		counted = append(counted, int(a["copies"].(float64)))
	}
	if want := copies[:min(10, len(copies))]; !slices.Equal(counted, want) {
		t.Errorf("copies %v, want %v", counted, want)
	}
	if n := len(answers[2]); n != min(10, harbours) {
		t.Errorf("%d pages about harbours, want %d", n, min(10, harbours))
	}
	t.Log(answers)
}

// guideQuestions returns the questions of the guide to DuckDB.
func guideQuestions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/corpus.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^duckdb -c "(.*)"$`).FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	if len(list) != 3 {
		t.Fatalf("%d questions in the guide, want 3", len(list))
	}
	return list
}

// duckDB answers questions with DuckDB, which npm installs, in the folder of the test.
func (w *world) duckDB(questions []string) [][]map[string]any {
	w.Helper()
	npm := w.T.TempDir()
	install := exec.CommandContext(w.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", npm, duckDB)
	if out, err := install.CombinedOutput(); err != nil {
		w.Fatalf("npm install %s: %v\n%s", duckDB, err, out)
	}
	const script = `
import { DuckDBInstance } from '@duckdb/node-api'
process.chdir(process.argv[2])
const db = await (await DuckDBInstance.create(':memory:')).connect()
const all = []
for (const q of JSON.parse(process.argv[3])) {
	const r = await db.runAndReadAll(q)
	all.push(r.getRowObjects())
}
console.log(JSON.stringify(all, (k, v) => typeof v === 'bigint' ? Number(v) : v))
`
	path := filepath.Join(npm, "ask.mjs")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		w.Fatal(err)
	}
	asked, err := json.Marshal(questions)
	if err != nil {
		w.Fatal(err)
	}
	out, err := exec.CommandContext(w.Context(), "node", path, w.dir, string(asked)).Output()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	var answers [][]map[string]any
	if err := json.Unmarshal(out, &answers); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return answers
}
