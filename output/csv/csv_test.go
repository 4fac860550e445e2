package csv

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/output"
	"headway/output/jsonl"
	"headway/output/outputtest"
	"headway/visit"
)

var format = outputtest.Drafts(New, readRows)

// readCells reads a file with the reader of the standard library, which is independent of
// our writer.
func readCells(path string) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return csv.NewReader(bytes.NewReader(text)).ReadAll()
}

func readRows(path string) ([]outputtest.Row, error) {
	cells, err := readCells(path)
	if err != nil {
		return nil, err
	}
	var rows []outputtest.Row
	for _, c := range cells[1:] {
		rows = append(rows, outputtest.Row{URL: c[0], Ending: output.Ending{Outcome: visit.Outcome(c[1]), Reason: visit.Reason(c[2])}})
	}
	return rows, nil
}

func TestConformance(t *testing.T) { outputtest.Run(t, format) }

func TestKill(t *testing.T) { outputtest.Kill(t, format) }

// full is a visit with every field of a row set.
func full(t testing.TB) *visit.Visit {
	v := outputtest.Full(t)
	v.Answer.RetryAfter, v.Page.Title, v.Detail = "-5", `=HYPERLINK("http://evil.example")`, "odd\x00\x7f\xff"
	v.Links, v.Evidence = nil, nil // lists are not in the file
	return v
}

// TestRow pins the row, because scripts depend on it.
func TestRow(t *testing.T) {
	want := `"https://example.com/b?a,b",failed,parse,200,2,https://example.com/a,redirect,1,1,` +
		`2026-11-15T09:00:00.123Z,1.235,1000,10,20,` +
		`text/html,https://example.com/c,"W/""y""","Sun, 15 Nov 2026 10:00:00 GMT","'-5",HTTP/2.0,192.0.2.1:443,` +
		`expired,X-Cache: EXPIRED,7,Vary: *,` +
		`"'=HYPERLINK(""http://evil.example"")",` + "\"two\nlines\"" + `,https://example.com/b,en,utf-8,"noindex, nofollow",ab,fedcba9876543210,` +
		"odd\ufffd\x7f\ufffd\r\n"
	if diff := cmp.Diff(want, string(appendRow(nil, full(t)))); diff != "" {
		t.Error(diff)
	}
	cells, err := csv.NewReader(bytes.NewReader(appendRow(nil, full(t)))).Read()
	if err != nil || len(cells) != len(Columns) {
		t.Errorf("%d cells in %d columns, %v", len(cells), len(Columns), err)
	}
}

// TestColumns compares the columns with the JSONL fields, except lists.
func TestColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.jsonl")
	w, err := jsonl.Create(jsonl.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Finish(t.Context(), outputtest.Ledger{full(t)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatal(err)
	}
	// A cell has no room for texts, so there is nothing about them.
	for _, name := range []string{"author", "published", "words", "content_digest", "content_cut", "text", "markdown", "ai_train", "ai_signals", "robots_rule", "robots_line", "fields", "field_problems"} {
		delete(line, name)
	}
	for name := range line {
		if name != "evidence" && !slices.Contains(Columns, name) {
			t.Errorf("missing column %s", name)
		}
	}
	if len(line) != len(Columns) {
		t.Errorf("%d columns for %d fields", len(Columns), len(line))
	}
}

// TestFormulas lists what a spreadsheet would evaluate.
func TestFormulas(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"text":                {"a", "a"},
		"nothing":             {"", ""},
		"equals":              {"=1+1", `"'=1+1"`},
		"plus":                {"+1", `"'+1"`},
		"minus":               {"-1", `"'-1"`},
		"at":                  {"@SUM(A1)", `"'@SUM(A1)"`},
		"tab":                 {"\t=1", "\"'\t=1\""},
		"carriage return":     {"\r=1", "\"'\r=1\""},
		"line feed":           {"\n=1", "\"'\n=1\""},
		"full width":          {"＝1", `"'＝1"`},
		"quoted formula":      {`="x"`, `"'=""x"""`},
		"apostrophe, formula": {"'=1", `"''=1"`},
		"apostrophe, text":    {"'tis", "'tis"},
		"formula later":       {"a=1", "a=1"},
		"space around":        {" a ", `" a "`},
		"comma":               {"a,b", `"a,b"`},
		"quote":               {`a"b`, `"a""b"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(appendCell(nil, tc.in)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// FuzzCell reads every cell with another reader, checks that it is harmless, and recovers
// the original text.
func FuzzCell(f *testing.F) {
	for _, s := range []string{"", "a", "=1", "''=1", "'", "\"", "a\r\nb", ",", " ", "\xff\x00", "＝", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := append(appendCell([]byte("x,"), s), "\r\n"...)
		cells, err := csv.NewReader(bytes.NewReader(line)).Read()
		if err != nil || len(cells) != 2 {
			t.Fatalf("%q: %q, %v", line, cells, err)
		}
		if got := cells[1]; got != "" && strings.ContainsAny(got[:1], "=+-@\t\r\n") {
			t.Fatalf("%q is a formula", got)
		}
		want := strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
		want = strings.ReplaceAll(want, "\r\n", "\n") // as encoding/csv reads it
		if got := Plain(cells[1]); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}

// write makes a file of n URLs.
func write(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pages.csv")
	var l outputtest.Ledger
	for i := range n {
		l = append(l, outputtest.Visit(i))
	}
	if err := output.NewAtEnd(false, New(path)).Finish(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool finds a program that reads CSV; CI has all of them.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("install %s", name)
	}
	if err != nil {
		t.Skipf("there is no %s here", name)
	}
	return path
}

// TestOtherReaders reads a file with the sqlite3 tool and with Python: all rows, and a title
// with special characters.
func TestOtherReaders(t *testing.T) {
	const rows = 1000
	path := write(t, rows)
	const odd = `Page 7, "quoted"|` + "\u2028= 1+1"
	for name, args := range map[string]func() []string{
		"sqlite3": func() []string {
			return []string{
				":memory:", ".import --csv '" + path + "' pages",
				"select count(*), sum(outcome = 'fetched'), (select replace(title, char(10), '|') from pages where url like '%/7?%') from pages",
			}
		},
		"python3": func() []string {
			return []string{"-c", `
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8", newline="")))
title = [r["title"] for r in rows if "/7?" in r["url"]][0].replace("\n", "|")
sys.stdout.buffer.write("|".join([str(len(rows)), str(sum(r["outcome"] == "fetched" for r in rows)), title]).encode())
`, path}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, tool(t, name), args()...).CombinedOutput()
			if want := "1000|400|" + odd; err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("%v\n got %q\nwant %q", err, out, want)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	outputtest.BenchmarkAdd(b, New(filepath.Join(b.TempDir(), "pages.csv")))
}
