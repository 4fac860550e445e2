package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"headway/output"
	"headway/weburl"
)

// FuzzRecords: whatever a server sends and whatever our identity, an exchange becomes its
// three records with exactly the sent bytes.
func FuzzRecords(f *testing.F) {
	f.Add("https://example.com/a b", "X: y\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n", "body", "agent", 200)
	f.Add("https://example.com/\r\nWARC-Type: request", "Content-Type: a\rb\nc\r\n", "\r\n\r\nWARC/1.1\r\n", "a\r\nrobots: ignore", 304)
	f.Add("http://example.com/", "Content-Encoding: gzip\r\n", strings.Repeat("folded", 20_000), "", 200)
	f.Add("http://[::1]/", "transfer-encoding: chunked\n folded\nContent-Length: 7\n\n", "\x1f\x8b\x08\x00", "\xff\x00", 999)
	f.Add("https://exa\"`{}.example/{?{", "", "", "", 304) // such a host exists with wildcard DNS
	f.Fuzz(func(t *testing.T, raw, head, body, agent string, status int) {
		u, err := weburl.Parse(raw)
		if err != nil {
			return
		}
		x := exchange(t, "https://example.com/", body)
		x.Item.URL, x.Item.Via, x.Status, x.Protocol = u, u, status, agent
		x.Response = []byte("HTTP/1.1 200 OK\r\n" + head + "\r\n\r\n")
		x.Hidden = []string{agent}
		w := &Writer{cfg: Config{Operator: agent, UserAgent: agent, Software: agent}, seen: newSeen()}
		p := newRecordBuilder()
		if err := p.info(&w.cfg, agent, agent+"x", x.Timing.Sent); err != nil {
			t.Fatal(err)
		}
		made, err := w.buildRecords(p, x)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		r := &reader{in: &countingReader{r: bufio.NewReader(bytes.NewReader(p.out.Bytes()))}}
		for {
			h, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, h.kind)
			if again, err := weburl.Parse(h.url); h.kind != typeInfo && (err != nil || again.String() != u.String()) {
				t.Errorf("URL %q, want %q", h.url, u)
			}
		}
		want := "warcinfo response request metadata"
		if status == 304 {
			want = "warcinfo revisit request metadata"
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("records %s, want %s", got, want)
		}
		checkFrames(t, p.out.Bytes(), x)
		line, err := made.capture.line("f.warc.gz")
		if err != nil || strings.Count(line, "\n") != 1 || strings.Count(strings.SplitN(line, "{", 2)[0], " ") != 2 && !strings.Contains(u.String(), "{") {
			t.Errorf("index line %q, %v", line, err)
		}
	})
}

// checkFrames parses the built records by the grammar.
func checkFrames(t *testing.T, out []byte, x *output.Exchange) {
	t.Helper()
	for _, text := range members(t, out) {
		r, err := frameStrict(text)
		if err != nil {
			t.Fatalf("%v\n%q", err, text)
		}
		if r.kind() != typeResponse {
			continue
		}
		head, payload, _ := bytes.Cut(r.block, []byte("\r\n\r\n"))
		if !bytes.Equal(payload, x.Body) || bytes.Contains(bytes.ToLower(head), []byte("\ntransfer-encoding:")) {
			t.Errorf("head %q and %d bytes, want %d", head, len(payload), len(x.Body))
		}
	}
}

// FuzzScan: no content on disk makes a writer fail or read beyond the last complete record.
func FuzzScan(f *testing.F) {
	p := newRecordBuilder()
	at := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	var more fields
	more.add("WARC-Target-URI", "https://example.com/")
	for i, r := range []struct{ kind, block string }{
		{typeInfo, "software: headway\r\n"}, {typeResponse, "HTTP/1.1 200 OK\r\n\r\nhello"}, {typeRequest, "GET / HTTP/1.1\r\n\r\n"}, {typeMetadata, "depth: 1\r\n"},
	} {
		// The same in every fuzzing process.
		if err := p.record(r.kind, fmt.Sprintf("<urn:uuid:%d>", i), at, typeFields, &more, block{head: []byte(r.block)}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(p.out.Bytes())
	f.Add(append(bytes.Clone(p.out.Bytes()), p.out.Bytes()...))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &Writer{seen: newSeen()}
		if err := w.scan(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if w.size > int64(len(data)) {
			t.Fatalf("whole up to %d of %d bytes", w.size, len(data))
		}
		again := &Writer{seen: newSeen()}
		if err := again.scan(bytes.NewReader(data[:w.size])); err != nil || again.size != w.size || len(again.lines) != len(w.lines) {
			t.Errorf("read again: %d of %d bytes, %v", again.size, w.size, err)
		}
	})
}
