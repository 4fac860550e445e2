package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"headway/weburl"
)

// tapped makes an exchange with a tap.
func tapped(t *testing.T, c *Client, req Request) (request, answer string, r *Result) {
	t.Helper()
	var in, out bytes.Buffer
	req.Tap = func(u weburl.URL) (io.Writer, io.Writer) {
		if u != req.URL {
			t.Errorf("tap for %s", u)
		}
		return &out, &in
	}
	r, err := do(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), in.String(), r
}

func TestTapHTTP1(t *testing.T) {
	body := fold(t, "gzip", []byte("hello"))
	chunked := fmt.Sprintf("HTTP/1.1 200 Fine\r\nX-odd-Case:  1\r\ncontent-encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", len(body), body)
	tests := []struct{ name, say, want string }{
		{"with a length", response("X: y\r\n", []byte("hello")), response("X: y\r\n", []byte("hello"))},
		{"chunked and gzipped", chunked, chunked},
		{"interim answers are left out", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + chunked, chunked},
		{"bare line ends", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"},
		{"no body", "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newPiped(t, Config{}, say(tt.say))
			for range 2 { // on a fresh and on a kept connection
				out, in, r := tapped(t, c, Request{URL: parseURL(t, "http://site.test/a?b=c")})
				if in != tt.want || r.TapErr != nil {
					t.Errorf("response %q, want %q (%v)", in, tt.want, r.TapErr)
				}
				want := "GET /a?b=c HTTP/1.1\r\nHost: site.test\r\nUser-Agent: headway/test (+ops@example.com)\r\n"
				if !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\r\n\r\n") {
					t.Errorf("request %q", out)
				}
			}
		})
	}
}

func TestTapHTTP2(t *testing.T) {
	body := fold(t, "gzip", bytes.Repeat([]byte("hello "), 50_000))
	srv := newTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Date", "Sun, 15 Nov 2026 10:00:00 GMT")
		w.Write(body)
	})
	c := newLocal(t, Config{}, srv)
	u := parseURL(t, srv.URL+"/a")
	out, in, _ := tapped(t, c, Request{URL: u, Secrets: secretsFor(t, srv.URL)})
	if !strings.HasPrefix(out, "GET /a HTTP/2\r\nHost: 127.0.0.1:") || leaks(out) || strings.Contains(out, "Authorization") {
		t.Errorf("request %q", out)
	}
	head, rest, _ := strings.Cut(in, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/2 200 OK\r\n") || !strings.Contains(head, "Content-Encoding: gzip") || rest != string(body) {
		t.Errorf("response head %q and %d bytes, want %d", head, len(rest), len(body))
	}
}

func TestTapHidesSecrets(t *testing.T) {
	c, _ := newPiped(t, Config{}, say(response("", nil)))
	out, _, _ := tapped(t, c, Request{URL: parseURL(t, "http://site.test/"), Owned: true, Secrets: secretsFor(t, "http://site.test/")})
	if leaks(out) || strings.Contains(strings.ToLower(out), "x-token") || !strings.Contains(out, "Host: site.test") {
		t.Errorf("request %q", out)
	}
}

type failingWriter struct{ left int }

var errDiskFull = errors.New("disk full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errDiskFull
	}
	return len(p), nil
}

// TestTapFailsAlone: whatever happens to the tap, the exchange goes on.
func TestTapFailsAlone(t *testing.T) {
	page := strings.Repeat("x", 100_000)
	c, _ := newPiped(t, Config{}, say(response("", []byte(page))))
	for name, want := range map[string]error{"full": errDiskFull, "nowhere": nil} {
		r, err := do(t, c, Request{URL: parseURL(t, "http://site.test/"), Tap: func(weburl.URL) (io.Writer, io.Writer) {
			if want == nil {
				return nil, nil
			}
			return nil, &failingWriter{left: 50_000}
		}})
		if err != nil || string(r.Body) != page || !errors.Is(r.TapErr, want) {
			t.Errorf("%s: %d bytes, %v, tap %v", name, len(r.Body), err, r.TapErr)
		}
	}
}

func TestTapIsBounded(t *testing.T) {
	var w bytes.Buffer
	tap := newTap(nil, &w, Secrets{}, &Config{MaxHeader: 1000}, 1000)
	tap.read([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	for range 100 {
		tap.read(bytes.Repeat([]byte("x"), 100))
	}
	if err := tap.close(); !errors.Is(err, ErrTapFull) || w.Len() > 4000 {
		t.Errorf("%d bytes, %v", w.Len(), err)
	}
	tap = newTap(nil, &w, Secrets{}, &Config{MaxHeader: 1000}, 1000)
	for range 100 {
		tap.read([]byte("HTTP/1.1 200 OK and a head that does not end"))
	}
	if err := tap.close(); !errors.Is(err, ErrTapFull) || len(tap.head) > 2000 {
		t.Errorf("%d bytes of head, %v", len(tap.head), err)
	}
}
