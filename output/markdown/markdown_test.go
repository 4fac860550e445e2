package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
)

// facts is the header of a file, as another reader sees it.
type facts struct {
	URL, Title, Language, Author, Published, Digest, Canonical, Via, Crawl string

	Fetched       time.Time
	Status, Words int
	Directives    []string
	Cut           bool

	AITrain    string   `yaml:"ai_train"`
	AISignals  []string `yaml:"ai_signals"`
	RobotsRule string   `yaml:"robots_rule"`
	RobotsLine int      `yaml:"robots_line"`
}

// readFile reads a file with an independent reader of YAML.
func readFile(path string) (f facts, body string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return f, "", err
	}
	head, rest, ok := bytes.Cut(text, []byte("\n---\n\n"))
	if !ok || !bytes.HasPrefix(head, []byte("---\n")) || !bytes.HasSuffix(rest, []byte("\n")) {
		return f, "", fmt.Errorf("%s is not complete: %q", path, text)
	}
	d := yaml.NewDecoder(bytes.NewReader(head))
	d.KnownFields(true)
	return f, string(rest), d.Decode(&f)
}

// withContent is a draft that finds content in the pages of the suite.
type withContent struct{ *Draft }

func (d withContent) Add(v *visit.Visit) error {
	page := *v
	page.Page.Content = &visit.Content{Markdown: "# Of " + v.Item.URL.String() + "\n\ntext"}
	return d.Draft.Add(&page)
}

// readRows reads every file of a folder.
func readRows(dir string) (rows []outputtest.Row, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, body, err := readFile(path)
		if err != nil {
			return err
		}
		if body != "# Of "+f.URL+"\n\ntext\n" {
			return fmt.Errorf("%s: the body is %q", path, body)
		}
		rows = append(rows, outputtest.Row{URL: f.URL, Ending: output.Ending{Outcome: visit.Fetched}})
		return nil
	})
	return rows, err
}

// format does not wait for the disk: the suite publishes hundreds of folders, and kills
// only processes.
var format = func() outputtest.Format {
	f := outputtest.Drafts(func(path string) withContent {
		d := New(path, "crawl")
		d.sync = func(string) error { return nil }
		return withContent{d}
	}, readRows)
	f.Keeps = fetched
	return f
}()

func TestConformance(t *testing.T) { outputtest.Run(t, format) }

func TestKill(t *testing.T) { outputtest.Kill(t, format) }

// write publishes visits.
func write(t *testing.T, visits ...*visit.Visit) (d *Draft, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "markdown")
	d = New(dir, "headway-example.com")
	if err := output.NewAtEnd(false, d).Finish(t.Context(), outputtest.Ledger(visits)); err != nil {
		t.Fatal(err)
	}
	return d, dir
}

// TestHeader writes every fact, with characters that YAML treats specially, and reads them
// back.
func TestHeader(t *testing.T) {
	const odd = "a: \"b\" # c\n\t\x1b\x7f\u0085\u2028\ufeff\U0001f600 'd' \\u0041 - --- %"
	v := outputtest.Full(t)
	v.Outcome, v.Reason = visit.Fetched, ""
	v.Page.Title = odd
	v.Page.Content = &visit.Content{Markdown: "---\n\n# A\n\n", Author: "null", Published: "2026-11-15", Words: 3, Digest: "0e12", Cut: true}
	_, dir := write(t, v)
	got, body, err := readFile(filepath.Join(dir, filepath.FromSlash(Path(v.Item.URL))))
	if err != nil {
		t.Fatal(err)
	}
	want := facts{
		URL: "https://example.com/b?a,b", Title: odd, Language: "en", Author: "null", Published: "2026-11-15", Digest: "0e12",
		Canonical: "https://example.com/b", Via: "https://example.com/a", Crawl: "headway-example.com",
		Fetched: time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC), Status: 200, Words: 3, Directives: []string{"noindex", "nofollow"}, Cut: true,
		AITrain: "refused", AISignals: []string{"robots.txt line 2: content-signal: ai-train=no", "meta: robots: noimageai"}, RobotsRule: "Allow: /", RobotsLine: 3,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if body != "---\n\n# A\n" {
		t.Errorf("body %q", body)
	}
}

// TestLeftOut counts pages without Markdown, and no other URLs.
func TestLeftOut(t *testing.T) {
	with, empty, dead := outputtest.Visit(0), outputtest.Visit(10), outputtest.Visit(2)
	with.Page.Content = &visit.Content{Markdown: "text"}
	empty.Page.Content = &visit.Content{Words: 3}
	dead.Page.Content = &visit.Content{Markdown: "Not found"}
	unchanged := outputtest.Visit(20)
	unchanged.Outcome, unchanged.Answer.Status, unchanged.Page.Content = visit.NotModified, 304, with.Page.Content
	d, dir := write(t, with, empty, dead, unchanged, outputtest.Visit(30), outputtest.Visit(4))
	if d.Pages() != 2 || d.LeftOut() != 2 {
		t.Errorf("%d pages, %d left out", d.Pages(), d.LeftOut())
	}
	files, err := filepath.Glob(filepath.Join(dir, "example.com", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestCollision gives a page its own file even if another has its name.
func TestCollision(t *testing.T) {
	v := outputtest.Visit(0)
	v.Page.Content = &visit.Content{Markdown: "text"}
	_, dir := write(t, v, v)
	files, err := filepath.Glob(filepath.Join(dir, "example.com", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestAddFails passes on the error of the file system.
func TestAddFails(t *testing.T) {
	d := New(filepath.Join(t.TempDir(), "nowhere", "markdown"), "")
	if err := d.Begin(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("begun: %v", err)
	}
	v := outputtest.Visit(0)
	v.Page.Content = &visit.Content{Markdown: "text"}
	d = New(filepath.Join(t.TempDir(), "markdown"), "")
	if err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(d.folder.Part(), "example.com")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(v); err == nil || !strings.Contains(err.Error(), blocked) {
		t.Errorf("added: %v", err)
	}
}

func BenchmarkAdd(b *testing.B) {
	d := New(filepath.Join(b.TempDir(), "markdown"), "crawl")
	if err := d.Begin(); err != nil {
		b.Fatal(err)
	}
	v := outputtest.Visit(0)
	v.Page.Content = &visit.Content{Markdown: strings.Repeat("A line of a text.\n\n", 400)}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		v.Item.URL = outputtest.URL(b, fmt.Sprintf("https://example.com/docs/%d", n))
		n++
		if err := d.Add(v); err != nil {
			b.Fatal(err)
		}
	}
}
