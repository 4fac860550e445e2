package format

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headway/output"
	"headway/output/outputtest"
	"headway/output/warc"
)

// TestRegistry checks that every entry is complete, and that files are unique.
func TestRegistry(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, f := range All {
		if f.Name == "" || names[f.Name] || strings.ToLower(f.Name) != f.Name || strings.ContainsAny(f.Name, ", ") {
			t.Errorf("%q is not a unique name", f.Name)
		}
		names[f.Name] = true
		if f.Title == "" || f.Use == "" || len(f.MediaTypes) == 0 || f.open == nil {
			t.Errorf("%s has no title, use, media type or opener", f.Name)
		}
		if len(f.Files)+len(f.Archives) == 0 || len(f.Archives) > 0 && f.Shown == "" {
			t.Errorf("%s does not tell its files", f.Name)
		}
		for _, name := range slices.Concat(f.Files, f.Archives) {
			if files[name] {
				t.Errorf("%s is written by two formats", name)
			}
			files[name] = true
			if filepath.Ext(name) != "" && MediaType(name) == "" {
				t.Errorf("%s has no media type", name)
			}
		}
	}
	if !names[Default] {
		t.Errorf("the default %s is not a format", Default)
	}
}

func TestMediaType(t *testing.T) {
	for name, want := range map[string]string{
		"pages.jsonl": "application/x-ndjson", "pages.csv": "text/csv; charset=utf-8", "links.parquet": "application/vnd.apache.parquet",
		"sitemaps/example.com/sitemap.xml": "application/xml", "sitemap-1.xml.gz": "application/gzip", "headway-1.warc.gz": "application/warc", "headway-1.cdxj": "text/plain",
		"crawl.db": "",
	} {
		if got := MediaType(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestOpen writes each format alone, and all together, as a crawl, as a resumed crawl and as
// an export: the files are those of the registry.
func TestOpen(t *testing.T) {
	sets := map[string][]string{"all": Names(), "exportable": Exportable(), "none": nil}
	for _, name := range Names() {
		sets[name] = []string{name}
	}
	for name, formats := range sets {
		for how, o := range map[string]Options{"crawl": {}, "resumed": {Resumed: true}, "export": {Export: true}} {
			t.Run(name+" "+how, func(t *testing.T) { testOpen(t, formats, &o) })
		}
	}
}

func testOpen(t *testing.T, formats []string, o *Options) {
	o.Dir, o.Log, o.Archive = t.TempDir(), slog.New(slog.DiscardHandler), warc.Config{Software: "headway/test"}
	writers, err := Open(formats, o)
	if o.Export && slices.ContainsFunc(formats, func(f string) bool { return !slices.Contains(Exportable(), f) }) {
		if err == nil || writers != nil {
			t.Errorf("%v was opened for an export: %v", formats, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var l outputtest.Ledger
	for n := range 20 {
		l = append(l, outputtest.Visit(n))
	}
	for _, w := range writers {
		for _, v := range l {
			if err := w.Write(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		if f, ok := w.(output.Finisher); ok {
			if err := f.Finish(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := slices.Sorted(slices.Values(Files(formats...))); !slices.Equal(got, want) {
		t.Errorf("%v wrote %v, want %v", formats, got, want)
	}
}

// TestOpenFails: if a format cannot be opened, the ones before it are closed, and no file
// looks finished.
func TestOpenFails(t *testing.T) {
	o := &Options{Dir: filepath.Join(t.TempDir(), "nowhere"), Log: slog.New(slog.DiscardHandler)}
	if list, err := Open(Names(), o); err == nil || list != nil {
		t.Errorf("formats were opened in a folder that is not there: %v", list)
	}
}
