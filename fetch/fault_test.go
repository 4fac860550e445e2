package fetch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// compress compresses with the writer that a coding needs.
func compress(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w interface {
		Write([]byte) (int, error)
		Close() error
	}
	switch name {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "br":
		w = brotli.NewWriterLevel(&buf, 5)
	case "zstd":
		z, err := zstd.NewWriter(&buf, zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		t.Fatalf("no coding %q", name)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// response writes a response with a length.
func response(fields string, body []byte) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
}

// TestFaults lists server faults and how we classify them. The server closes the
// connection after each response.
func TestFaults(t *testing.T) {
	page := []byte(strings.Repeat("<p>hello, crawler</p>\n", 100))
	zeros := make([]byte, 12<<20)
	tests := []struct {
		name   string
		say    string
		reason Reason
		phase  Phase
		status int
		body   string
	}{
		{name: "a good page", say: response("", page), status: 200, body: string(page)},
		{name: "no length, closed", say: "HTTP/1.0 200 OK\r\n\r\nhello", status: 200, body: "hello"},
		{name: "chunked", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", status: 200, body: "hello"},
		{name: "empty", say: response("", nil), status: 200},
		{name: "interim answers first", say: "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + response("", []byte("x")), status: 200, body: "x"},

		{name: "nothing", say: "", reason: Connect, phase: PhaseHeader},
		{name: "not HTTP", say: "220 mail.test ESMTP\r\n", reason: Protocol, phase: PhaseHeader},
		{name: "HTTP/0.9", say: "<html>hello</html>", reason: Protocol, phase: PhaseHeader},
		{name: "half a header", say: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", reason: Truncated, phase: PhaseHeader},
		{name: "half a field", say: "HTTP/1.1 200 OK\r\nContent-Ty", reason: Protocol, phase: PhaseHeader},
		{name: "a field without a colon", say: "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", reason: Protocol, phase: PhaseHeader},
		{name: "a status of words", say: "HTTP/1.1 OK fine\r\n\r\n", reason: Protocol, phase: PhaseHeader},
		{name: "two lengths", say: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", reason: Protocol, phase: PhaseHeader},
		{name: "a negative length", say: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", reason: Protocol, phase: PhaseHeader},
		{name: "an unknown transfer coding", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", reason: Protocol, phase: PhaseHeader},
		{name: "switching protocols", say: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", reason: Protocol, phase: PhaseHeader, status: 101},
		{name: "a header flood", say: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("v", 1000)+"\r\n", 300) + "\r\n", reason: TooLarge, phase: PhaseHeader},
		{name: "a cookie flood", say: "HTTP/1.1 200 OK\r\n" + strings.Repeat("Set-Cookie: a=b; Path=/; HttpOnly\r\n", 20000) + "\r\n", reason: TooLarge, phase: PhaseHeader},
		{name: "one endless field", say: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("v", 300<<10), reason: TooLarge, phase: PhaseHeader},
		{name: "a flood of interim answers", say: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <"+strings.Repeat("a", 1000)+">\r\n\r\n", 300) + response("", page), reason: TooLarge, phase: PhaseHeader},
		{name: "headers within the bound", say: response(strings.Repeat("X-Filler: "+strings.Repeat("v", 1000)+"\r\n", 200), page), status: 200, body: string(page)},

		{name: "shorter than promised", say: "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<p>short", reason: Truncated, phase: PhaseBody, status: 200},
		{name: "chunks without an end", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", reason: Truncated, phase: PhaseBody, status: 200},
		{name: "half a chunk", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello", reason: Truncated, phase: PhaseBody, status: 200},
		{name: "a chunk size that is none", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n<p>", reason: Protocol, phase: PhaseBody, status: 200},
		{name: "a chunk size beyond numbers", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n<p>", reason: Protocol, phase: PhaseBody, status: 200},
		{name: "chunks that are mostly framing", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\nx\r\n", 1000), reason: Protocol, phase: PhaseBody, status: 200},

		{name: "longer than allowed, announced", say: "HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n", reason: TooLarge, phase: PhaseBody, status: 200},
		{name: "longer than allowed, not announced", say: "HTTP/1.0 200 OK\r\n\r\n" + string(zeros[:11<<20]), reason: TooLarge, phase: PhaseBody, status: 200},

		{name: "gzip", say: response("Content-Encoding: gzip\r\n", compress(t, "gzip", page)), status: 200, body: string(page)},
		{name: "gzip by its old name", say: response("Content-Encoding: X-GZIP\r\n", compress(t, "gzip", page)), status: 200, body: string(page)},
		{name: "brotli", say: response("Content-Encoding: br\r\n", compress(t, "br", page)), status: 200, body: string(page)},
		{name: "zstd", say: response("Content-Encoding: zstd\r\n", compress(t, "zstd", page)), status: 200, body: string(page)},
		{name: "identity", say: response("Content-Encoding: identity\r\n", page), status: 200, body: string(page)},
		{name: "two codings", say: response("Content-Encoding: gzip, br\r\n", compress(t, "br", compress(t, "gzip", page))), status: 200, body: string(page)},
		{name: "two codings in two lines", say: response("Content-Encoding: zstd\r\nContent-Encoding: gzip\r\n", compress(t, "gzip", compress(t, "zstd", page))), status: 200, body: string(page)},
		{name: "nothing, gzipped", say: response("Content-Encoding: gzip\r\n", nil), status: 200},
		{name: "gzip with garbage behind", say: response("Content-Encoding: gzip\r\n", append(compress(t, "gzip", page), "garbage"...)), status: 200, body: string(page)},
		{name: "gzip in two members", say: response("Content-Encoding: gzip\r\n", append(compress(t, "gzip", page), compress(t, "gzip", page)...)), status: 200, body: string(page) + string(page)},

		{name: "three codings", say: response("Content-Encoding: gzip, gzip, gzip\r\n", page), reason: BadEncoding, phase: PhaseHeader, status: 200},
		{name: "a thousand codings", say: response("Content-Encoding: "+strings.Repeat("gzip,", 1000)+"\r\n", page), reason: BadEncoding, phase: PhaseHeader, status: 200},
		{name: "a thousand times identity", say: response("Content-Encoding: "+strings.Repeat("identity,", 1000)+"\r\n", page), status: 200, body: string(page)},
		{name: "an unknown coding", say: response("Content-Encoding: sdch\r\n", page), reason: BadEncoding, phase: PhaseHeader, status: 200},
		{name: "deflate, which we did not ask for", say: response("Content-Encoding: deflate\r\n", page), reason: BadEncoding, phase: PhaseHeader, status: 200},
		{name: "gzip that is none", say: response("Content-Encoding: gzip\r\n", []byte("\x1f\x8b\x08\x00 this is not deflate")), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "plain text called gzip", say: response("Content-Encoding: gzip\r\n", page), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "plain text called brotli", say: response("Content-Encoding: br\r\n", page), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "plain text called zstd", say: response("Content-Encoding: zstd\r\n", page), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "gzip cut inside", say: response("Content-Encoding: gzip\r\n", compress(t, "gzip", page)[:60]), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "gzip with a wrong checksum", say: response("Content-Encoding: gzip\r\n", flip(compress(t, "gzip", page), -8)), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "gzip in too many members", say: response("Content-Encoding: gzip\r\n", bytes.Repeat(compress(t, "gzip", nil), 5000)), reason: BadEncoding, phase: PhaseDecode, status: 200},
		{name: "zstd with a huge window", say: response("Content-Encoding: zstd\r\n", []byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00")), reason: BadEncoding, phase: PhaseDecode, status: 200},

		{name: "a gzip bomb", say: response("Content-Encoding: gzip\r\n", compress(t, "gzip", zeros)), reason: TooLarge, phase: PhaseDecode, status: 200},
		{name: "a brotli bomb", say: response("Content-Encoding: br\r\n", compress(t, "br", zeros)), reason: TooLarge, phase: PhaseDecode, status: 200},
		{name: "a zstd bomb", say: response("Content-Encoding: zstd\r\n", compress(t, "zstd", zeros)), reason: TooLarge, phase: PhaseDecode, status: 200},
		{name: "a bomb in a bomb", say: response("Content-Encoding: gzip, gzip\r\n", compress(t, "gzip", compress(t, "gzip", zeros))), reason: TooLarge, phase: PhaseDecode, status: 200},
		{name: "large within the ratio", say: response("Content-Encoding: gzip\r\n", compress(t, "gzip", zeros[:1<<20])), status: 200, body: string(zeros[:1<<20])},
		{name: "small beyond the ratio", say: response("Content-Encoding: gzip\r\n", compress(t, "gzip", zeros[:2<<20])), reason: TooLarge, phase: PhaseDecode, status: 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := newPiped(t, Config{}, once(tt.say))
				r, err := c.Do(t.Context(), Request{URL: parseURL(t, "http://site.test/")})
				if reasonOf(err) != tt.reason {
					t.Fatalf("error %v, want reason %q", err, tt.reason)
				}
				if e, ok := errors.AsType[*Error](err); ok && (e.Phase != tt.phase || e.Stale) {
					t.Errorf("phase %q, stale %v, want %q", e.Phase, e.Stale, tt.phase)
				}
				if r.Status != tt.status || string(r.Body) != tt.body {
					t.Errorf("status %d and %d bytes, want %d and %d", r.Status, len(r.Body), tt.status, len(tt.body))
				}
				if r.Timing.Sent.IsZero() {
					t.Error("the result does not say that a request was sent")
				}
				r.Close()
				if p.dialled() != 1 {
					t.Errorf("%d connections for one request", p.dialled())
				}
				if use := c.budget.layer().Use; use != 0 {
					t.Errorf("%d KiB of body memory not given back", use)
				}
			})
		})
	}
}

// flip changes one byte; negative positions count from the end.
func flip(p []byte, at int) []byte {
	if at < 0 {
		at += len(p)
	}
	p[at] ^= 1
	return p
}

// TestBrokenConnectionIsNotReused sends a second request after a failed one.
func TestBrokenConnectionIsNotReused(t *testing.T) {
	good := response("", []byte("hello"))
	tests := []struct {
		name, say string
		req       Request
		reused    bool
	}{
		{"whole", good, Request{}, true},
		{"whole, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", Request{}, true},
		{"no body", "HTTP/1.1 304 Not Modified\r\n\r\n", Request{}, true},
		{"HEAD request", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Request{Method: http.MethodHead}, true},
		{"server closes", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", Request{}, false},
		{"old version", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", Request{}, false},
		{"too large", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nhello", Request{}, false},
		{"cut by us", good, Request{MaxBody: 3, CutBody: true}, false},
		{"bad chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Request{}, false},
		{"bad coding", response("Content-Encoding: sdch\r\n", []byte("hello")), Request{}, false},
		{"bad gzip came whole", response("Content-Encoding: gzip\r\n", []byte("hello")), Request{}, true},
		{"more than it said", good + "HTTP/1.1 200 OK\r\n\r\n", Request{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := newPiped(t, Config{}, say(tt.say))
				for range 2 {
					tt.req.URL = parseURL(t, "http://site.test/")
					r, _ := c.Do(t.Context(), tt.req)
					r.Close()
					synctest.Wait()
				}
				if reused := p.dialled() == 1; reused != tt.reused {
					t.Errorf("%d connections, want reuse %v", p.dialled(), tt.reused)
				}
			})
		})
	}
}

// TestStatusDecides checks that a broken body does not hide the status.
func TestStatusDecides(t *testing.T) {
	bodies := map[string]string{
		"truncated":     "Content-Length: 5000\r\n\r\n<p>short",
		"bad gzip":      "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
		"odd coding":    "Content-Encoding: sdch\r\nContent-Length: 5\r\n\r\nhello",
		"too large":     "Content-Length: 99999999\r\n\r\n" + strings.Repeat("x", 300<<10),
		"bad chunks":    "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"a gzip bomb":   "Content-Encoding: gzip\r\n\r\n" + string(compress(t, "gzip", make([]byte, 2<<20))),
		"broken inside": "Content-Encoding: gzip\r\n\r\n" + string(compress(t, "gzip", make([]byte, 2<<20))[:100]),
	}
	for name, rest := range bodies {
		for _, status := range []int{200, 301, 404, 429, 503} {
			t.Run(fmt.Sprintf("%d %s", status, name), func(t *testing.T) {
				c, _ := newPiped(t, Config{}, once(fmt.Sprintf("HTTP/1.1 %d X\r\nRetry-After: 7\r\n%s", status, rest)))
				r, err := get(t, c, "http://site.test/")
				if r.Status != status || r.Header.Get("Retry-After") != "7" {
					t.Errorf("status %d, header %v", r.Status, r.Header)
				}
				if (err != nil) != (status == 200) {
					t.Errorf("error %v with status %d", err, status)
				}
				if status != 200 && r.BodyErr == nil && !r.Cut {
					t.Error("nothing says that the body is not whole")
				}
			})
		}
	}
}

// TestErrorsAreOneCleanLine sends control characters through every error that quotes
// the server.
func TestErrorsAreOneCleanLine(t *testing.T) {
	evil := "\x1b[2J\x1b]0;owned\x07\u202e\x9b31m"
	for name, text := range map[string]string{
		"status line": "HTTP/1.1 " + evil + "\r\n\r\n",
		"version":     evil + "\r\n\r\n",
		"field":       "HTTP/1.1 200 OK\r\n" + evil + "\r\n\r\n",
		"length":      "HTTP/1.1 200 OK\r\nContent-Length: " + evil + "\r\n\r\n",
		"transfer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + evil + "\r\n\r\n",
		"coding":      response("Content-Encoding: "+evil+"\r\n", []byte("x")),
		"chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + evil + "\r\n",
		"long":        "HTTP/1.1 200 OK\r\n" + strings.Repeat("n", 5000) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newPiped(t, Config{}, once(text))
			_, err := get(t, c, "http://site.test/")
			if err == nil {
				t.Fatal("no error")
			}
			if strings.ContainsFunc(err.Error(), unprintable) || len(err.Error()) > 600 {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestReset(t *testing.T) {
	for name, say := range map[string]string{"before an answer": "", "within a body": "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<p>short"} {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprint(conn, say)
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			})
			c := newLocal(t, Config{}, srv)
			_, err := get(t, c, srv.URL)
			want := map[bool]Reason{true: Connect, false: Truncated}[say == ""]
			if reasonOf(err) != want {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}
