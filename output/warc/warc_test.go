package warc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nlnwa/gowarc"

	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
)

// exchange is an exchange for a URL with a response body.
func exchange(t testing.TB, raw, body string) *output.Exchange {
	t.Helper()
	return &output.Exchange{
		Purpose: output.ForPage,
		Item:    visit.Item{URL: outputtest.URL(t, raw), Via: outputtest.URL(t, "https://example.com/"), Found: visit.FoundLink, Depth: 1},
		Remote:  netip.MustParseAddr("192.0.2.1"),
		Timing:  visit.Timing{Sent: time.Date(2026, 11, 15, 10, 0, 1, 123456789, time.UTC), FirstByte: time.Millisecond, Total: 2 * time.Millisecond},
		Status:  200, Protocol: "HTTP/1.1",
		Request:  []byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: headway\r\n\r\n"),
		Response: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(body)),
		Body:     []byte(body),
	}
}

func open(t testing.TB, cfg Config, open func(Config) (*Writer, error)) *Writer {
	t.Helper()
	cfg.Software, cfg.UserAgent, cfg.Operator = "headway/test", "headway/test (+ops@example.com)", "ops@example.com"
	w, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files lists the finished WARC files of a folder and reads them strictly; each index must
// list exactly the captures of its file, in order.
func files(t testing.TB, dir string) (names []string, records []strictRecord) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	check(t, err)
	for _, name := range names {
		list := readStrict(t, name)
		records = append(records, list...)
		checkIndex(t, name, list)
		readGowarc(t, name, list)
	}
	return names, records
}

// checkIndex compares the index of a file with its records.
func checkIndex(t testing.TB, name string, list []strictRecord) {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(name, ".warc.gz") + ".cdxj")
	check(t, err)
	want := map[string]strictRecord{}
	for _, r := range list {
		if r.kind() == "response" || r.kind() == "revisit" {
			want[fmt.Sprint(r.offset)] = r
		}
	}
	lines := slices.Collect(strings.Lines(string(text)))
	if !slices.IsSorted(lines) || len(lines) != len(want) {
		t.Errorf("%d lines for %d captures, sorted: %v", len(lines), len(want), slices.IsSorted(lines))
	}
	for _, l := range lines {
		key, rest, _ := strings.Cut(l, " ")
		at, text, _ := strings.Cut(rest, " ")
		var entry map[string]string
		check(t, json.Unmarshal([]byte(text), &entry))
		r, ok := want[entry["offset"]]
		if !ok {
			t.Fatalf("nothing at %s", l)
		}
		date, err := time.Parse("20060102150405", at)
		check(t, err)
		if entry["url"] != r.uri() || entry["length"] != fmt.Sprint(r.length) || entry["filename"] != filepath.Base(name) ||
			entry["digest"] != strings.TrimPrefix(r.fields["WARC-Payload-Digest"], "sha256:") || key != surt(r.uri()) ||
			!strings.HasPrefix(r.fields["WARC-Date"], date.Format("2006-01-02T15:04:05")) ||
			(entry["mime"] == "warc/revisit") != (r.kind() == "revisit") {
			t.Errorf("index says %s of %v", l, r.fields)
		}
		if !strings.HasPrefix(string(r.block), "HTTP/1.1 "+entry["status"]+" ") {
			t.Errorf("status %s of %q", entry["status"], r.block)
		}
	}
}

// readGowarc reads a file with all of gowarc's checks enabled, which must find the same
// records.
func readGowarc(t testing.TB, name string, want []strictRecord) {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(name, 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(t.TempDir()))
	check(t, err)
	defer r.Close()
	for i := 0; ; i++ {
		record, offset, validation, err := r.Next()
		if errors.Is(err, io.EOF) {
			if i != len(want) {
				t.Errorf("gowarc reads %d records of %d", i, len(want))
			}
			return
		}
		if err == nil {
			err = record.ValidateDigest(validation)
		}
		if err != nil || !validation.Valid() {
			t.Fatalf("gowarc at record %d: %v, %v\n%v", i, err, validation, want[min(i, len(want)-1)].fields)
		}
		if i >= len(want) || record.Type().String() != want[i].kind() || offset != want[i].offset || "<"+record.RecordId()+">" != want[i].fields["WARC-Record-ID"] {
			t.Fatalf("gowarc reads %v at %d as record %d", record, offset, i)
		}
		check(t, record.Close())
	}
}

func kinds(list []strictRecord) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.kind() + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	check(t, w.Exchange(t.Context(), exchange(t, "https://example.com/a?b=c", "hello")))
	check(t, w.Sync(t.Context()))
	if names, err := filepath.Glob(filepath.Join(dir, "*.gz")); len(names) > 0 || err != nil {
		t.Fatalf("there is a file before it was finished: %v %v", names, err)
	}
	check(t, w.Finish(t.Context(), nil))
	check(t, w.Close())
	names, list := files(t, dir)
	if len(names) != 1 || kinds(list) != "warcinfo response request metadata" {
		t.Fatalf("%v: %s", names, kinds(list))
	}
	info, response, request, metadata := list[0], list[1], list[2], list[3]
	if info.fields["WARC-Filename"] != filepath.Base(names[0]) || !strings.Contains(string(info.block), "operator: ops@example.com\r\n") {
		t.Errorf("%v %q", info.fields, info.block)
	}
	if !tokenPattern.MatchString(filepath.Base(names[0])) || !strings.HasPrefix(filepath.Base(names[0]), "headway-20") {
		t.Errorf("name %s", names[0])
	}
	for name, want := range map[string]string{
		"WARC-Target-URI": "https://example.com/a?b=c", "WARC-Date": "2026-11-15T10:00:01.123456Z", "WARC-IP-Address": "192.0.2.1",
		"WARC-Payload-Digest": strictDigest([]byte("hello")),
	} {
		if response.fields[name] != want {
			t.Errorf("%s: %s, want %s", name, response.fields[name], want)
		}
	}
	id := response.fields["WARC-Record-ID"]
	if request.fields["WARC-Concurrent-To"] != id || metadata.fields["WARC-Concurrent-To"] != id {
		t.Error("the records do not belong together")
	}
	if !strings.HasSuffix(string(response.block), "\r\n\r\nhello") || !strings.HasPrefix(string(request.block), "GET / HTTP/1.1\r\nHost: example.com\r\n") {
		t.Errorf("%q %q", response.block, request.block)
	}
	want := "purpose: page\r\nvia: https://example.com/\r\nfound: link\r\ndepth: 1\r\nattempt: 0\r\nprotocol: HTTP/1.1\r\nfirstByteTimeMs: 1\r\nfetchTimeMs: 2\r\n"
	if string(metadata.block) != want {
		t.Errorf("%q", metadata.block)
	}
}

// TestKinds checks which records an exchange becomes.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	put := func(raw, body string, change func(*output.Exchange)) {
		t.Helper()
		x := exchange(t, raw, body)
		if change != nil {
			change(x)
		}
		check(t, w.Exchange(t.Context(), x))
	}
	put("https://example.com/1", "hello", nil)
	put("https://example.com/2", "hello", nil)
	put("https://example.com/3", "", nil)
	put("https://example.com/4", "", nil)
	put("https://example.com/5", "hello", func(x *output.Exchange) { x.Cut = output.CutTime })
	put("https://example.com/6", "", func(x *output.Exchange) {
		x.Status, x.Response = 304, []byte("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
	})
	put("https://example.com/7", "framed", func(x *output.Exchange) {
		x.Response = []byte("HTTP/1.1 200 OK\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 3\r\nX: y\r\n\r\n")
	})
	put("https://example.com/8", "framed too", func(x *output.Exchange) {
		x.Cut, x.Response = output.CutLength, []byte("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
	})
	put("https://[2001:db8::1]:8443/9", "secret", func(x *output.Exchange) {
		x.Remote, x.Hidden = netip.MustParseAddr("2001:db8::1%eth0"), []string{"Authorization", "X-Token"}
	})
	large := make([]byte, 200_000) // several deflate blocks
	for i := range large {
		large[i] = byte(i * i >> 7)
	}
	put("https://example.com/folded", string(large), func(x *output.Exchange) {
		x.Response = []byte("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n")
	})
	put("https://example.com/robots.txt", "framed", func(x *output.Exchange) { x.Purpose = output.ForRobots })
	check(t, w.Finish(t.Context(), nil))
	_, list := files(t, dir)
	byURL := map[string]strictRecord{}
	for _, r := range list {
		if r.kind() == "response" || r.kind() == "revisit" {
			byURL[strings.TrimPrefix(r.uri(), "https://")] = r
		}
	}
	tests := []struct {
		url, kind, block string
		fields           map[string]string
	}{
		{"example.com/1", "response", "\r\n\r\nhello", nil},
		{"example.com/2", "revisit", "Content-Length: 5\r\n\r\n", map[string]string{
			"WARC-Profile": profileSame, "WARC-Refers-To": byURL["example.com/1"].fields["WARC-Record-ID"], "WARC-Refers-To-Target-URI": "https://example.com/1",
			"WARC-Refers-To-Date": "2026-11-15T10:00:01.123456Z", "WARC-Truncated": "length", "WARC-Payload-Digest": strictDigest([]byte("hello")),
		}},
		{"example.com/3", "response", "\r\n\r\n", nil},
		{"example.com/4", "response", "\r\n\r\n", nil},
		{"example.com/5", "response", "\r\n\r\nhello", map[string]string{"WARC-Truncated": "time"}},
		{"example.com/6", "revisit", "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n", map[string]string{"WARC-Profile": profileNotModified, "WARC-Payload-Digest": ""}},
		{"example.com/7", "response", "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 6\r\n\r\nframed", nil},
		{"example.com/8", "response", "HTTP/1.1 200 OK\r\n\r\nframed too", map[string]string{"WARC-Truncated": "length"}},
		{"[2001:db8::1]:8443/9", "response", "secret", map[string]string{"WARC-IP-Address": "2001:db8::1", "X-Headway-Omitted": "Authorization, X-Token"}},
		{"example.com/folded", "response", "br\r\n\r\n" + string(large), nil},
		{"example.com/robots.txt", "revisit", "Content-Length: 6\r\n\r\n", map[string]string{"WARC-Refers-To-Target-URI": "https://example.com/7"}},
	}
	for _, tt := range tests {
		r := byURL[tt.url]
		if r.kind() != tt.kind || !strings.HasSuffix(string(r.block), tt.block) {
			t.Errorf("%s: %s %q", tt.url, r.kind(), r.block)
		}
		for name, want := range tt.fields {
			if r.fields[name] != want {
				t.Errorf("%s: %s %q, want %q", tt.url, name, r.fields[name], want)
			}
		}
	}
}

// TestFileRotation ends files at their size, between exchanges.
func TestFileRotation(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir, MaxSize: 20 << 10}, Create)
	for i := range 200 {
		check(t, w.Exchange(t.Context(), exchange(t, fmt.Sprintf("https://example.com/%d", i), fmt.Sprint("page ", i))))
	}
	check(t, w.Finish(t.Context(), nil))
	names, list := files(t, dir)
	if len(names) < 5 || len(list) != 600+len(names) {
		t.Errorf("%d files, %d records", len(names), len(list))
	}
	for i, name := range names {
		info, err := os.Stat(name)
		check(t, err)
		if info.Size() > 24<<10 || !strings.Contains(name, fmt.Sprintf("-%05d-", i)) {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}

// TestConcurrent archives from many goroutines while others sync and files end.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir, MaxSize: 30 << 10}, Create)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 50 {
				x := exchange(t, fmt.Sprintf("https://example.com/%d/%d", g, i), fmt.Sprint("page ", i))
				if err := w.Exchange(t.Context(), x); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := errors.Join(w.Sync(t.Context()), w.Flush()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	check(t, w.Finish(t.Context(), nil))
	_, list := files(t, dir)
	urls := map[string]int{}
	for _, r := range list {
		if r.kind() == "response" || r.kind() == "revisit" {
			urls[r.uri()]++
		}
	}
	if len(urls) != 400 {
		t.Errorf("%d URLs", len(urls))
	}
}

// TestTorn truncates the part file at any byte: complete exchanges stay, the others are gone,
// and the file is continued.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	var ends []int64
	for i := range 4 {
		check(t, w.Exchange(t.Context(), exchange(t, fmt.Sprintf("https://example.com/%d", i), fmt.Sprint("page ", i))))
		ends = append(ends, w.size)
	}
	check(t, w.Close())
	parts, err := filepath.Glob(filepath.Join(dir, "*.part"))
	check(t, err)
	text, err := os.ReadFile(parts[0])
	check(t, err)
	for name, damage := range map[string]func(int) []byte{
		"cut":   func(at int) []byte { return text[:at] },
		"zeros": func(at int) []byte { return append(slices.Clone(text[:at]), make([]byte, 300)...) },
	} {
		for at := 0; at <= len(text); at += 97 {
			dir := t.TempDir()
			left := damage(at)
			check(t, os.WriteFile(filepath.Join(dir, filepath.Base(parts[0])), left, 0o600))
			w := open(t, Config{Dir: dir}, Resume)
			check(t, w.Exchange(t.Context(), exchange(t, "https://example.com/more", "page 0")))
			check(t, w.Finish(t.Context(), nil))
			keep := 0
			for _, end := range ends {
				if int(end) <= len(left) && bytes.Equal(left[:end], text[:end]) { // a zero may be an original byte
					keep++
				}
			}
			names, list := files(t, dir)
			if len(names) != 1 || len(list) != 1+3*(keep+1) {
				t.Fatalf("%s at %d of %d: %d records, %d exchanges were whole", name, at, len(text), len(list), keep)
			}
			if last := list[len(list)-3]; (last.kind() == "revisit") != (keep > 0) {
				t.Errorf("%s at %d: the payload is a %s", name, at, last.kind())
			}
		}
	}
}

// TestResumed continues in the same file, and after a finished one in the next.
func TestResumed(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		w := open(t, Config{Dir: dir}, Resume)
		check(t, w.Exchange(t.Context(), exchange(t, fmt.Sprintf("https://example.com/%d", i), fmt.Sprint("page ", i))))
		if i%3 == 2 {
			check(t, w.Finish(t.Context(), nil))
		}
		check(t, w.Close())
	}
	names, list := files(t, dir)
	if len(names) != 2 || len(list) != 2+18 {
		t.Errorf("%v: %s", names, kinds(list))
	}
	rest, err := filepath.Glob(filepath.Join(dir, "*.part"))
	if check(t, err); len(rest) > 0 {
		t.Errorf("%v", rest)
	}
}

// TestCreateKeepsEarlierFiles keeps the files of an earlier crawl.
func TestCreateKeepsEarlierFiles(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "other.warc.gz.part"), []byte("not ours"), 0o600))
	w := open(t, Config{Dir: dir}, Create)
	check(t, w.Exchange(t.Context(), exchange(t, "https://example.com/", "page")))
	check(t, w.Close())
	w = open(t, Config{Dir: dir}, Create)
	check(t, w.Exchange(t.Context(), exchange(t, "https://example.com/", "page")))
	check(t, w.Finish(t.Context(), nil))
	names, list := files(t, dir)
	if len(names) != 2 || kinds(list) != "warcinfo response request metadata warcinfo response request metadata" {
		t.Errorf("%v: %s", names, kinds(list))
	}
	if text, err := os.ReadFile(filepath.Join(dir, "other.warc.gz.part")); err != nil || string(text) != "not ours" {
		t.Errorf("a foreign file was touched: %q, %v", text, err)
	}
}

func TestEmpty(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	check(t, errors.Join(w.Write(t.Context(), &visit.Visit{}), w.Flush(), w.Sync(t.Context()), w.Finish(t.Context(), nil), w.Close()))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestClosed(t *testing.T) {
	w := open(t, Config{Dir: t.TempDir()}, Create)
	check(t, errors.Join(w.Close(), w.Close()))
	x := exchange(t, "https://example.com/", "page")
	if w.Exchange(t.Context(), x) == nil || w.Sync(t.Context()) == nil || w.Flush() == nil || w.Finish(t.Context(), nil) == nil || w.Write(t.Context(), nil) == nil {
		t.Error("a closed writer takes more")
	}
	if _, err := Resume(Config{Dir: filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a missing folder was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w = open(t, Config{Dir: t.TempDir()}, Create)
	for range cap(w.builders) {
		<-w.builders
	}
	if err := w.Exchange(ctx, x); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cause", err)
	}
}

// TestBroken is a writer whose disk fails: it accepts nothing more, and what was written
// before is recovered.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	check(t, w.Exchange(t.Context(), exchange(t, "https://example.com/1", "page 1")))
	check(t, w.Sync(t.Context()))
	check(t, w.file.Close())
	err := w.Exchange(t.Context(), exchange(t, "https://example.com/2", "page 2"))
	if err = errors.Join(err, w.Flush()); err == nil {
		t.Fatal("a write to a closed file went well")
	}
	if w.Exchange(t.Context(), exchange(t, "https://example.com/3", "page 3")) == nil || w.Sync(t.Context()) == nil || w.Finish(t.Context(), nil) == nil {
		t.Error("a broken writer takes more")
	}
	w.Close()
	check(t, open(t, Config{Dir: dir}, Resume).Finish(t.Context(), nil))
	if _, list := files(t, dir); kinds(list) != "warcinfo response request metadata" {
		t.Errorf("%s", kinds(list))
	}
}

func TestSeenIsBounded(t *testing.T) {
	s := newSeen()
	url := strings.Repeat("x", 100_000)
	for i := range 1000 {
		s.put(digestOf(fmt.Append(nil, i)), original{url: url})
	}
	if s.size > maxSeen || len(s.byDigest) != len(s.order) || len(s.order) < 200 {
		t.Errorf("%d bytes, %d payloads", s.size, len(s.order))
	}
	if _, ok := s.byDigest[digestOf([]byte("999"))]; !ok {
		t.Error("the newest is forgotten")
	}
}

func TestSURT(t *testing.T) {
	for u, want := range map[string]string{
		"https://example.com/":                 "com,example)/",
		"https://WWW2.Example.com/A/B?z=1&a=":  "com,example)/a/b?a=&z=1",
		"http://www.example.com:8080/x":        "com,example:8080)/x",
		"http://127.0.0.1:8780/x?":             "1,0,0,127:8780)/x",
		"http://[2001:db8::1]:81/":             "[2001:db8::1]:81)/",
		"http://www/":                          "www)/",
		"http://wwwx.org/":                     "org,wwwx)/",
		"https://xn--bcher-kva.example/%C3%A9": "example,xn--bcher-kva)/%c3%a9",
	} {
		if got := surt(u); got != want {
			t.Errorf("%s: %s, want %s", u, got, want)
		}
	}
}
