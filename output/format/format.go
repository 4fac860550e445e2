// Package format is the registry of output formats: one entry each, with its name, its files
// and how it is opened.
//
// Everything that lists formats reads them here: the setting and its message, the
// flags of `headway crawl` and `headway export`, the enum of the API, media types in
// S3, what `headway rm` removes and the table of docs/guide/outputs.md. A new format
// is a folder next to this one and an entry in [All].
//
// Names and files are unique, so any combination of formats can be written to one folder.
// The package writes nothing itself; package output defines what a file contains and when it
// appears.
package format

import (
	"slices"
	"strings"

	"headway/output/csv"
)

// Format is an output format.
type Format struct {
	Name  string   // in settings, flags and the API
	Title string   // in a sentence
	Files []string // files and folders it writes, relative to the crawl's folder
	// Archives are patterns of its files if their number is not fixed.
	Archives []string
	// MediaTypes are those of its files, by name suffix.
	MediaTypes map[string]string
	// CrawlOnly says that it needs data that is only available during the crawl, so
	// it cannot be exported from a store.
	CrawlOnly bool
	// Content is the form of content it is made of, as in the setting content; empty if it
	// needs none. A crawl that writes the format records it.
	Content string
	// Shown and Use are its cells in the guide: the files as shown to people (empty
	// means Files), and who reads them.
	Shown, Use string

	open opener
}

// All are the formats, in listing order.
var All = []Format{
	{
		Name: "jsonl", Title: "JSONL", Files: []string{"pages.jsonl"}, MediaTypes: map[string]string{".jsonl": "application/x-ndjson"}, open: openJSONL,
		Use: "jq, DuckDB, scripts; can be followed with `tail -f pages.jsonl.part` while the crawl runs",
	},
	{
		Name: "csv", Title: "CSV", Files: []string{"pages.csv"}, MediaTypes: map[string]string{".csv": "text/csv; charset=utf-8"}, open: draft(csv.New),
		Use: "spreadsheets",
	},
	{
		Name: "sitemap", Title: "sitemaps", Files: []string{"sitemaps"}, MediaTypes: map[string]string{".xml": "application/xml", ".gz": "application/gzip"}, open: openSitemaps,
		Shown: "`sitemaps/HOST/sitemap.xml`, `sitemap-1.xml.gz` …", Use: "the root of the site",
	},
	{
		Name: "parquet", Title: "Parquet", Files: []string{"pages.parquet", "links.parquet"}, MediaTypes: map[string]string{".parquet": "application/vnd.apache.parquet"}, open: openParquet,
		Use: "DuckDB, Spark, pandas; large crawls",
	},
	{
		Name: "markdown", Title: "Markdown", Files: []string{"markdown"}, MediaTypes: map[string]string{".md": "text/markdown; charset=utf-8"}, Content: "markdown", open: openMarkdown,
		Shown: "`markdown/HOST/….md`", Use: "reading, search, language models: the main text of each page in its own file",
	},
	{
		Name: "warc", Title: "WARC", Archives: []string{"headway-*.warc.gz", "headway-*.cdxj"}, MediaTypes: map[string]string{".warc.gz": "application/warc", ".cdxj": "text/plain"}, CrawlOnly: true, open: openWARC,
		Shown: "`headway-….warc.gz`, `headway-….cdxj`", Use: "[web archives](archive.md): what servers sent, not only what came of it",
	},
}

// Default is the default format of a crawl.
const Default = "jsonl"

// Names are the names of all formats.
func Names() []string { return names(func(*Format) bool { return true }) }

// Exportable are the names of formats that need only the store.
func Exportable() []string { return names(func(f *Format) bool { return !f.CrawlOnly }) }

func names(is func(*Format) bool) (list []string) {
	for i := range All {
		if is(&All[i]) {
			list = append(list, All[i].Name)
		}
	}
	return list
}

// Files are the files and folders of formats, in the given order, without archives.
func Files(formats ...string) (list []string) {
	for _, name := range formats {
		if i := slices.IndexFunc(All, func(f Format) bool { return f.Name == name }); i >= 0 {
			list = append(list, All[i].Files...)
		}
	}
	return list
}

// Content are the forms of content that formats are made of.
func Content(formats ...string) (forms []string) {
	for i := range All {
		if All[i].Content != "" && slices.Contains(formats, All[i].Name) {
			forms = append(forms, All[i].Content)
		}
	}
	return forms
}

// Archives are the file patterns of all formats.
func Archives() (patterns []string) {
	for i := range All {
		patterns = append(patterns, All[i].Archives...)
	}
	return patterns
}

// MediaType is the media type of a format's file, by its name; empty for other files.
func MediaType(file string) (is string) {
	longest := ""
	for i := range All {
		for end, mediaType := range All[i].MediaTypes {
			if strings.HasSuffix(file, end) && len(end) > len(longest) {
				longest, is = end, mediaType
			}
		}
	}
	return is
}
