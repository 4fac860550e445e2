package jsonl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
)

var format = outputtest.Format{
	Create: func(path string) (outputtest.Writer, error) { return Create(Config{Path: path}) },
	Resume: func(path string) (outputtest.Writer, error) { return Resume(Config{Path: path}) },
	Part:   func(path string) string { return path + PartSuffix },
	Read:   readRows,
}

func readRows(path string) ([]outputtest.Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []outputtest.Row
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w: %q", len(rows)+1, err, lines.Text())
		}
		rows = append(rows, outputtest.Row{URL: l.URL, Ending: output.Ending{Outcome: visit.Outcome(l.Outcome), Reason: visit.Reason(l.Reason)}})
	}
	return rows, lines.Err()
}

func TestConformance(t *testing.T) { outputtest.Run(t, format) }

// TestConformanceInRounds compares the file with the ledger in many rounds, as for a crawl
// too large for memory.
func TestConformanceInRounds(t *testing.T) {
	defer func(was int) { maxKeys = was }(maxKeys)
	maxKeys = 3
	outputtest.Run(t, format)
}

func TestKill(t *testing.T) { outputtest.Kill(t, format) }

// full is a visit with every field of a line set.
func full(t testing.TB) *visit.Visit {
	v := outputtest.Full(t)
	v.Item.URL = outputtest.URL(t, `https://example.com/b?token=x&q=\`)
	v.Page.Title, v.Page.Description, v.Detail = "<b>\u2028\u0085é\n", "d", "odd\x00\x7f\xff"
	return v
}

// TestLine pins the line, because scripts depend on it.
func TestLine(t *testing.T) {
	got, err := appendLine(nil, full(t), true)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"url":"https://example.com/b?token=x&q=\\","outcome":"failed","reason":"parse","status":200,"depth":2,` +
		`"via":"https://example.com/a","found":"redirect","hops":1,"attempt":1,` +
		`"sent":"2026-11-15T09:00:00.123Z","first_byte_ms":1.235,"total_ms":1000,"wire_bytes":10,"bytes":20,` +
		`"content_type":"text/html","location":"https://example.com/c","etag":"W/\"y\"","last_modified":"Sun, 15 Nov 2026 10:00:00 GMT",` +
		`"retry_after":"5","protocol":"HTTP/2.0","remote":"192.0.2.1:443",` +
		`"cache":"expired","cache_by":"X-Cache: EXPIRED","cache_age":7,"cache_barred":"Vary: *",` +
		`"title":"<b>\u2028\u0085é\n","description":"d","canonical":"https://example.com/b","language":"en","charset":"utf-8",` +
		`"directives":["noindex","nofollow"],"digest":"ab","simhash":"fedcba9876543210",` +
		`"author":"A. Writer","published":"2026-11-15","words":2,"content_digest":"cd","content_cut":true,"text":"One.\n\nTwo \ufffd.","markdown":"# One\n\nTwo.",` +
		`"ai_train":"refused","ai_signals":["robots.txt line 2: content-signal: ai-train=no","meta: robots: noimageai"],"robots_rule":"Allow: /","robots_line":3,` +
		`"fields":{"price":9.5,"tags":["a","<b>"]},"field_problems":{"date":"none"},"detail":"odd\u0000\u007f\ufffd",` +
		`"evidence":[{"kind":"robots_allowed","at":"2026-11-15T09:00:00.123Z","rule":"Allow: /","line":3,"group":"*","source":"sha",` +
		`"source_at":"2026-11-15T09:00:00.123Z","confidence":"high","note":"n"},{"kind":"override","at":"2026-11-15T09:00:00.123Z"}],` +
		`"links":[{"url":"https://example.com/c","kind":"a","nofollow":true}]}` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	dec := json.NewDecoder(strings.NewReader(string(got)))
	dec.DisallowUnknownFields() // every field must be documented
	var l Line
	if err := dec.Decode(&l); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := keys(t, again), keys(t, got); a != b {
		t.Errorf("fields or their order differ from the documented ones:\n%s\n%s", a, b)
	}
}

// keys lists the member names of an object in order.
func keys(t *testing.T, object []byte) string {
	dec := json.NewDecoder(strings.NewReader(string(object)))
	var names []string
	depth, name := 0, true
	for {
		tok, err := dec.Token()
		if err != nil {
			return strings.Join(names, " ")
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			name = true
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			name = true
			continue
		}
		if depth == 1 {
			if name {
				names = append(names, fmt.Sprint(tok))
			}
			name = !name
		}
	}
}

// TestLinksOnlyOnRequest checks that links are left out by default.
func TestLinksOnlyOnRequest(t *testing.T) {
	got, err := appendLine(nil, full(t), false)
	if err != nil || strings.Contains(string(got), `"links"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLongLine resumes after a line that is longer than every buffer.
func TestLongLine(t *testing.T) {
	for name, extra := range map[string]int{"much longer": bufferSize * 3, "the brace ends a buffer": -1} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pages.jsonl")
			v := outputtest.Visit(0)
			line, err := appendLine(nil, v, false)
			if err != nil {
				t.Fatal(err)
			}
			if extra < 0 { // the line feed alone is in the second buffer
				extra = bufferSize + 1 - len(line) - len(`,"description":""`)
			}
			v.Page.Description = strings.Repeat("x", extra)
			next := outputtest.Visit(7)
			w, err := Create(Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []*visit.Visit{v, next} {
				if err := w.Write(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if w, err = Resume(Config{Path: path}); err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if n := w.lines[output.Ending{Outcome: visit.Fetched}]; n != 2 {
				t.Errorf("%d lines were found, want 2", n)
			}
			if err := w.Finish(t.Context(), outputtest.Ledger{v, next, outputtest.Visit(8)}); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != 3 {
				t.Errorf("not three lines, %v", err)
			}
		})
	}
}

// TestScanStops lists what ends the valid part of a file.
func TestScanStops(t *testing.T) {
	const good = `{"url":"https://example.com/","outcome":"fetched","depth":0}` + "\n"
	for name, tc := range map[string]struct {
		second string
		lines  int
	}{
		"a second line":         {good, 2},
		"nothing":               {"", 1},
		"no end":                {strings.TrimSpace(good), 1},
		"no brace":              {strings.Replace(good, "}", "]", 1), 1},
		"an empty line":         {"\n", 1},
		"zeros":                 {strings.Replace(good, "depth", "de\x00th", 1), 1},
		"another form":          {`{"outcome":"fetched","url":"https://example.com/"}` + "\n", 1},
		"an unknown outcome":    {strings.Replace(good, "fetched", "fetch", 1), 1},
		"an outcome that waits": {strings.Replace(good, "fetched", "pending", 1), 1},
		"skipped for no reason": {strings.Replace(good, "fetched", "skipped", 1), 1},
		"skipped for a reason":  {strings.Replace(good, `"fetched"`, `"skipped","reason":"depth"`, 1), 2},
		"an open string":        {`{"url":"https://example.com/\"}` + "\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			end, err := scan(strings.NewReader(good+tc.second), func(head) bool { n++; return true })
			if want := len(good + tc.second[:len(tc.second)*(tc.lines-1)]); err != nil || n != tc.lines || end != int64(want) {
				t.Errorf("%d lines up to %d, %v; want %d up to %d", n, end, err, tc.lines, want)
			}
		})
	}
}

// FuzzString compares the string encoder with the standard library's.
func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x00\x7f\xff\u2028\u0085é漢\U0001F600\ufffd")
	f.Fuzz(func(t *testing.T, s string) {
		got := appendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(std, &want); err != nil || back != want {
			t.Fatalf("%q, want %q (%v)", back, want, err)
		}
		if strings.ContainsAny(string(got), "\n\r\v\f\x00\x1c\x1d\x1e\u0085\u2028\u2029") {
			t.Fatalf("more than one line: %q", got)
		}
	})
}

// FuzzHead parses any line start without reading beyond the line.
func FuzzHead(f *testing.F) {
	line, err := appendLine(nil, full(f), true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"url":"\`))
	f.Add([]byte(`{"url":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		end, err := scan(strings.NewReader(string(data)), func(h head) bool {
			n++
			return visit.Check(h.ending.Outcome, h.ending.Reason, "") == nil
		})
		if err != nil || end < 0 || end > int64(len(data)) {
			t.Fatalf("%d of %d bytes, %v", end, len(data), err)
		}
		if end > 0 && data[end-1] != '\n' {
			t.Fatalf("ends within a line")
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for name, mk := range map[string]func(testing.TB) *visit.Visit{
		"typical": func(testing.TB) *visit.Visit { return outputtest.Visit(0) },
		"full":    full,
	} {
		b.Run(name, func(b *testing.B) {
			w, err := Create(Config{Path: filepath.Join(b.TempDir(), "pages.jsonl")})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			v := mk(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(b.Context(), v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding/json", func(b *testing.B) { // the yardstick
		v := outputtest.Visit(0)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkResume(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pages.jsonl")
	w, err := Create(Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	const lines = 100_000
	for n := range lines {
		if err := w.Write(b.Context(), outputtest.Visit(n)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path + PartSuffix)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		w, err := Resume(Config{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}

// TestStringEscapes checks every character at every place of eight, against encoding/json.
func TestStringEscapes(t *testing.T) {
	for r := rune(0); r < 0x300; r++ {
		for at := range 9 {
			want := strings.Repeat("x", at) + string(r) + "rest of the line"
			var got string
			line := appendString(nil, want)
			if err := json.Unmarshal(line, &got); err != nil || got != want {
				t.Fatalf("%q at %d: %s, %v", r, at, line, err)
			}
			for _, c := range string(line) {
				if c < ' ' || c == 0x7f || c == 0x85 {
					t.Fatalf("%q at %d is not escaped: %s", r, at, line)
				}
			}
		}
	}
}

func BenchmarkString(b *testing.B) {
	text := strings.Repeat("Signal weather that by it measure the quiet mirror, letter 7; \"winter\".\n", 200)
	b.SetBytes(int64(len(text)))
	var line []byte
	for b.Loop() {
		line = appendString(line[:0], text)
	}
}
