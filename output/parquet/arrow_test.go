//go:build !race

package parquet

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/go-cmp/cmp"

	"headway/output"
	"headway/output/outputtest"
)

// The reader of Apache Arrow is independent of the writer. It takes long to build, and
// nothing here is concurrent, so it is left out with the race detector.

// arrowFile is a file as read by Apache Arrow: all values of each column as text, "null" for
// nulls.
func arrowFile(t *testing.T, path string) (columns map[string][]string, groups int) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	columns = map[string][]string{}
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for i := range group.NumColumns() {
			chunk, err := group.MetaData().ColumnChunk(i)
			if err != nil || chunk.Compression() != compress.Codecs.Zstd {
				t.Fatalf("column %d is compressed with %v, %v", i, chunk.Compression(), err)
			}
			col, err := group.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			name := col.Descriptor().Path()
			columns[name] = append(columns[name], values(t, col, group.NumRows())...)
		}
	}
	for name, list := range columns {
		if int64(len(list)) != r.NumRows() && !strings.HasSuffix(name, ".list.element") {
			t.Errorf("%d values of %s in %d rows", len(list), name, r.NumRows())
		}
	}
	return columns, r.NumRowGroups()
}

// values reads a column of a row group.
func values(t *testing.T, col file.ColumnChunkReader, rows int64) []string {
	t.Helper()
	switch c := col.(type) {
	case *file.ByteArrayColumnChunkReader:
		return batches(t, col, rows, c.ReadBatch, func(v parquet.ByteArray) string { return string(v) })
	case *file.Int32ColumnChunkReader:
		return batches(t, col, rows, c.ReadBatch, func(v int32) string { return fmt.Sprint(v) })
	case *file.Int64ColumnChunkReader:
		return batches(t, col, rows, c.ReadBatch, func(v int64) string { return fmt.Sprint(uint64(v)) })
	case *file.Float64ColumnChunkReader:
		return batches(t, col, rows, c.ReadBatch, func(v float64) string { return fmt.Sprint(v) })
	case *file.BooleanColumnChunkReader:
		return batches(t, col, rows, c.ReadBatch, func(v bool) string { return fmt.Sprint(v) })
	default:
		t.Fatalf("column %s is a %T", col.Descriptor().Path(), col)
		return nil
	}
}

func batches[T any](t *testing.T, col file.ColumnChunkReader, rows int64, read func(int64, []T, []int16, []int16) (int64, int, error), show func(T) string) []string {
	t.Helper()
	const room = 64 // for values in lists
	buffer, defined, repeated := make([]T, rows+room), make([]int16, rows+room), make([]int16, rows+room)
	var list []string
	for col.HasNext() {
		n, _, err := read(rows+room, buffer, defined, repeated)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for i := range n {
			if most := col.Descriptor().MaxDefinitionLevel(); most > 0 && defined[i] < most {
				list = append(list, "null")
				continue
			}
			list = append(list, show(buffer[next]))
			next++
		}
	}
	if err := col.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestArrow reads all columns of a row with every field set.
func TestArrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.parquet")
	if err := output.NewAtEnd(false, NewPages(path)).Finish(t.Context(), outputtest.Ledger{outputtest.Full(t)}); err != nil {
		t.Fatal(err)
	}
	got, _ := arrowFile(t, path)
	want := map[string][]string{
		"url": {"https://example.com/b?a,b"}, "outcome": {"failed"}, "reason": {"parse"}, "status": {"200"}, "depth": {"2"}, "via": {"https://example.com/a"},
		"found": {"redirect"}, "hops": {"1"}, "attempt": {"1"}, "sent": {"1794733200123"}, "first_byte_ms": {"1.235"}, "total_ms": {"1000"},
		"wire_bytes": {"10"}, "bytes": {"20"}, "content_type": {"text/html"}, "location": {"https://example.com/c"}, "etag": {`W/"y"`},
		"last_modified": {"Sun, 15 Nov 2026 10:00:00 GMT"}, "retry_after": {"5"}, "protocol": {"HTTP/2.0"}, "remote": {"192.0.2.1:443"},
		"cache": {"expired"}, "cache_by": {"X-Cache: EXPIRED"}, "cache_age": {"7"}, "cache_barred": {"Vary: *"},
		"title": {"<b>\u2028"}, "description": {"two\nlines"}, "canonical": {"https://example.com/b"}, "language": {"en"}, "charset": {"utf-8"},
		"directives.list.element": {"noindex", "nofollow"}, "digest": {"ab"}, "simhash": {"18364758544493064720"}, "detail": {"odd\x7f\ufffd"},
		"robots_rule": {"Allow: /"}, "robots_line": {"3"}, "robots_sha256": {"sha"}, "author": {"A. Writer"}, "published": {"2026-11-15"}, "words": {"2"}, "content_digest": {"cd"}, "content_cut": {"true"},
		"text": {"One.\n\nTwo \ufffd."}, "markdown": {"# One\n\nTwo."},
		"ai_train": {"refused"}, "ai_signals.list.element": {"robots.txt line 2: content-signal: ai-train=no", "meta: robots: noimageai"},
		"fields": {`{"price":9.5,"tags":["a","<b>"]}`}, "field_problems": {`{"date":"none"}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestArrowCounts reads as many rows as were written, in many row groups, each URL once,
// with nulls for missing values.
func TestArrowCounts(t *testing.T) {
	defer func(was int) { groupRows = was }(groupRows)
	groupRows = 700
	const pages = 5000
	path := filepath.Join(t.TempDir(), "pages.parquet")
	var l outputtest.Ledger
	for n := range pages {
		l = append(l, outputtest.Visit(n))
	}
	if err := output.NewAtEnd(false, NewPages(path)).Finish(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	columns, groups := arrowFile(t, path)
	if groups != pages/groupRows+1 {
		t.Errorf("%d row groups", groups)
	}
	slices.Sort(columns["url"])
	if n := len(slices.Compact(columns["url"])); n != pages {
		t.Errorf("%d URLs", n)
	}
	got := map[string]int{}
	for i, o := range columns["outcome"] {
		got[o+" "+columns["reason"][i]+" "+columns["status"][i]]++
	}
	want := map[string]int{
		"fetched null 200": 2000, "redirected null 301": 500, "dead null 404": 500, "failed timeout null": 500,
		"skipped robots_disallow null": 500, "deferred null null": 500, "skipped depth null": 500,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestArrowLinks reads the links.
func TestArrowLinks(t *testing.T) {
	c := newCrawl(t)
	w := c.open(CreateLinks)
	c.write(w, 0, 1000)
	c.finish(w, "0")
	columns, _ := arrowFile(t, c.path)
	var got []Link
	for i, from := range columns["from"] {
		got = append(got, Link{From: from, To: columns["to"][i], Kind: columns["kind"][i], Nofollow: columns["nofollow"][i] == "true"})
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Error(diff)
	}
}
