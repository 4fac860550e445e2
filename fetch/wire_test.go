package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// tapped performs an exchange and returns what Wire was called with, or nil.
func tapped(t *testing.T, c *Client, req Request) (*Wire, *Result, error) {
	t.Helper()
	var got *Wire
	req.Wire = func(r *Result, w *Wire) {
		if got != nil {
			t.Error("Wire called twice")
		}
		if r.Status == 0 || r.Timing.Sent.IsZero() || r.Header == nil {
			t.Errorf("Wire called with %+v", r)
		}
		got = &Wire{bytes.Clone(w.Request), bytes.Clone(w.Response), bytes.Clone(w.Body), w.Cut, w.Err, w.Hidden}
	}
	r, err := c.Do(t.Context(), req)
	t.Cleanup(r.Close)
	return got, r, err
}

func TestWireHTTP1(t *testing.T) {
	body := compress(t, "gzip", []byte("hello"))
	head := "HTTP/1.1 200 Fine\r\nX-odd-Case:  1\r\ncontent-encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunked := fmt.Sprintf("%s%x;ext=1\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", head, len(body), body)
	plain := response("X: y\r\n", []byte("hello"))
	tests := []struct{ name, say, head, body string }{
		{"with a length", plain, strings.TrimSuffix(plain, "hello"), "hello"},
		{"chunked and gzipped", chunked, head, string(body)},
		{"interim answers are left out", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + chunked, head, string(body)},
		{"bare line ends", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "HTTP/1.1 200 OK\nContent-Length: 5\n\n", "hello"},
		{"no body", "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", ""},
		{"a cookie without secrets stays", response("Set-Cookie: a=b\r\n", nil), response("Set-Cookie: a=b\r\n", nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newPiped(t, Config{}, say(tt.say))
			for range 2 { // on a new and on a kept-alive connection
				w, r, err := tapped(t, c, Request{URL: parseURL(t, "http://site.test/a?b=c")})
				if err != nil || w == nil {
					t.Fatal(err)
				}
				if string(w.Response) != tt.head || string(w.Body) != tt.body || w.Cut || w.Err != nil || w.Hidden != nil {
					t.Errorf("response %q %q, want %q %q", w.Response, w.Body, tt.head, tt.body)
				}
				if tt.body != "" && string(r.Body) != "hello" {
					t.Errorf("the body is %q then", r.Body)
				}
				want := "GET /a?b=c HTTP/1.1\r\nHost: site.test\r\nUser-Agent: headway/test (+ops@example.com)\r\n"
				if out := string(w.Request); !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\r\n\r\n") {
					t.Errorf("request %q", out)
				}
			}
		})
	}
}

func TestWireHTTP2(t *testing.T) {
	body := compress(t, "gzip", bytes.Repeat([]byte("hello "), 50_000))
	srv := newTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Set-Cookie", "session=1")
		w.Write(body)
	})
	c := newLocal(t, Config{}, srv)
	w, _, err := tapped(t, c, Request{URL: parseURL(t, srv.URL+"/a"), Secrets: secretsFor(t, srv.URL)})
	if err != nil {
		t.Fatal(err)
	}
	out := string(w.Request)
	if !strings.HasPrefix(out, "GET /a HTTP/1.1\r\nHost: 127.0.0.1:") || leaks(out) || strings.Contains(out, "Authorization") {
		t.Errorf("request %q", out)
	}
	in := string(w.Response)
	if !strings.HasPrefix(in, "HTTP/1.1 200 OK\r\n") || !strings.Contains(in, "Content-Encoding: gzip") || strings.Contains(in, "session") || !bytes.Equal(w.Body, body) {
		t.Errorf("response head %q and %d bytes, want %d", in, len(w.Body), len(body))
	}
	if !slices.Contains(w.Hidden, "Authorization") || !slices.Contains(w.Hidden, "Set-Cookie") {
		t.Errorf("hidden %q", w.Hidden)
	}
}

func TestWireHidesSecrets(t *testing.T) {
	say := say(response("Set-Cookie: session=1;\r\n folded=2\r\nset-cookie: other=3\r\nX: y\r\n", nil))
	c, _ := newPiped(t, Config{}, say)
	w, _, err := tapped(t, c, Request{URL: parseURL(t, "http://site.test/"), Owned: true, Secrets: secretsFor(t, "http://site.test/")})
	if err != nil {
		t.Fatal(err)
	}
	if out := string(w.Request); leaks(out) || strings.Contains(strings.ToLower(out), "x-token") || !strings.Contains(out, "Host: site.test") {
		t.Errorf("request %q", out)
	}
	if in := string(w.Response); strings.ContainsAny(in, "=;") || !strings.Contains(in, "X: y\r\n") {
		t.Errorf("response %q", in)
	}
	if !slices.Contains(w.Hidden, "Authorization") || !slices.Contains(w.Hidden, "X-Token") || !slices.Contains(w.Hidden, "Set-Cookie") {
		t.Errorf("hidden %q", w.Hidden)
	}
}

// TestWireOfFailures: Wire is called with a partial response too, but not without a
// response or when the caller cancelled.
func TestWireOfFailures(t *testing.T) {
	large := strings.Repeat("x", 3000)
	tests := []struct {
		name, say string
		cfg       Config
		req       Request
		told      bool
		body      int
		cut       bool
		reason    Reason
	}{
		{name: "cut off", say: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", told: true, body: 5, reason: Truncated},
		{name: "too large", say: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + large, cfg: Config{MaxBody: 1000}, told: true, body: 1000, reason: TooLarge},
		{name: "cut as asked", say: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + large, req: Request{MaxBody: 1000, CutBody: true}, told: true, body: 1000, cut: true},
		{name: "strange coding", say: response("Content-Encoding: odd\r\n", []byte("hello")), told: true, reason: BadEncoding},
		{name: "broken coding", say: response("Content-Encoding: gzip\r\n", []byte("hello")), told: true, body: 5},
		{name: "refusal cut off", say: "HTTP/1.1 429 No\r\nContent-Length: 10\r\n\r\nhello", told: true, body: 5, reason: Truncated},
		{name: "not HTTP", say: "hello\r\n\r\n"},
		{name: "head too long", say: "HTTP/1.1 200 OK\r\nX: " + large + large + "\r\n\r\n", cfg: Config{MaxHeader: 1000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := newPiped(t, tt.cfg, once(tt.say))
			tt.req.URL = parseURL(t, "http://site.test/")
			w, _, err := tapped(t, c, tt.req)
			if (w != nil) != tt.told {
				t.Fatalf("Wire called: %v, %v", w != nil, err)
			}
			if w == nil {
				return
			}
			e, _ := errors.AsType[*Error](w.Err)
			if len(w.Body) != tt.body || w.Cut != tt.cut || (e != nil) != (tt.reason != "") || e != nil && e.Reason != tt.reason {
				t.Errorf("%d bytes, cut %v, %v", len(w.Body), w.Cut, w.Err)
			}
		})
	}
}

// TestWireOfRobots checks that Wire is called for each hop.
func TestWireOfRobots(t *testing.T) {
	srv := newTLS(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/other", http.StatusFound)
		}
	})
	c := newLocal(t, Config{}, srv)
	var seen []string
	r, _, err := c.Robots(t.Context(), Request{URL: parseURL(t, srv.URL+"/robots.txt"), Timeout: time.Minute, Wire: func(r *Result, w *Wire) {
		seen = append(seen, fmt.Sprint(r.URL.Path(), " ", r.Status, " ", len(w.Body) > 0))
	}})
	r.Close()
	if err != nil || !slices.Equal(seen, []string{"/robots.txt 302 true", "/other 200 false"}) {
		t.Errorf("%q, %v", seen, err)
	}
}

func TestHeadsAreBounded(t *testing.T) {
	h := newHeads(1000)
	for range 100 {
		h.read([]byte("HTTP/1.1 200 OK and a head that does not end"))
	}
	if len(h.response) > 2100 {
		t.Errorf("%d bytes of head", len(h.response))
	}
	if _, ok := h.close(nil); ok {
		t.Error("Wire called with half a header")
	}
}
