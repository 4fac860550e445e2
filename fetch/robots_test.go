package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/weburl"
)

func TestRobots(t *testing.T) {
	rules := "User-agent: *\nDisallow: /private/\n"
	long := strings.Repeat("Disallow: /a\n", 60_000)
	bomb := compress(t, "gzip", append([]byte(rules), bytes.Repeat([]byte(" "), 4<<20)...))
	other := newServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Disallow: /other") })
	srv := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/down/"))
		switch {
		case err == nil && n > 0:
			http.Redirect(w, r, fmt.Sprintf("/down/%d", n-1), http.StatusMovedPermanently)
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/bad":
			w.Header().Set("Location", "http://[::bad")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/inside":
			w.Header().Set("Location", "http://10.0.0.1/robots.txt")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/other":
			w.Header().Set("Location", other.URL+"/robots.txt")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/missing":
			http.NotFound(w, r)
		case r.URL.Path == "/long":
			fmt.Fprint(w, long)
		case r.URL.Path == "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb)
		case r.URL.Path == "/cut":
			w.Header().Set("Content-Length", "5000")
			fmt.Fprint(w, rules)
		default:
			fmt.Fprint(w, rules)
		}
	})
	tests := []struct {
		path   string
		status int
		hops   int
		body   string // prefix
		size   int
		cut    bool
		err    error
		reason Reason
	}{
		{path: "/robots.txt", status: 200, hops: 1, body: rules, size: len(rules)},
		{path: "/down/5", status: 200, hops: 6, body: rules, size: len(rules)},
		{path: "/down/6", status: 301, hops: 6, err: ErrTooManyRedirects},
		{path: "/loop", status: 302, hops: 6, err: ErrTooManyRedirects},
		{path: "/nowhere", status: 302, hops: 1, err: ErrNoLocation},
		{path: "/bad", status: 302, hops: 1, reason: Protocol},
		{path: "/file", status: 302, hops: 1, reason: Protocol},
		{path: "/other", status: 200, hops: 2, body: "Disallow: /other", size: 16},
		{path: "/missing", status: 404, hops: 1, body: "404", size: 19},
		{path: "/long", status: 200, hops: 1, body: "Disallow", size: 512_001, cut: true},
		{path: "/bomb", status: 200, hops: 1, body: rules, size: 512_001, cut: true},
		{path: "/cut", status: 200, hops: 1, reason: Truncated},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			c := newLocal(t, Config{}, srv, other)
			r, hops, err := c.Robots(t.Context(), Request{URL: parseURL(t, srv.URL+tt.path)})
			switch {
			case tt.err != nil:
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
			case reasonOf(err) != tt.reason:
				t.Errorf("error %v, want reason %q", err, tt.reason)
			}
			if r.Status != tt.status || len(hops) != tt.hops {
				t.Errorf("status %d after %d requests, want %d after %d", r.Status, len(hops), tt.status, tt.hops)
			}
			if err == nil {
				if len(r.Body) != tt.size || !strings.HasPrefix(string(r.Body), tt.body) || r.Cut != tt.cut {
					t.Errorf("%d bytes, cut %v, want %d", len(r.Body), r.Cut, tt.size)
				}
				r.Close()
			}
			if use := c.budget.layer().Use; use != 0 {
				t.Errorf("%d KiB of body memory not given back", use)
			}
		})
	}
}

// TestRefusedHop checks that the refused hop is named; the one before it was sent.
func TestRefusedHop(t *testing.T) {
	for to, why := range map[string]string{"http://10.0.0.1/robots.txt": "10.0.0.1 is private", "http://127.0.0.1:9/robots.txt": `port "9" not allowed`} {
		srv := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		at := parseURL(t, srv.URL+"/robots.txt")
		r, hops, err := newLocal(t, Config{}, srv).Robots(t.Context(), Request{URL: at})
		refused, ok := errors.AsType[*RefusedHopError](err)
		if !ok || refused.From != at || refused.To != parseURL(t, to) || !strings.Contains(err.Error(), why) {
			t.Errorf("to %s: %v", to, err)
		}
		if r.Status != http.StatusFound || r.Timing.Sent.IsZero() || len(hops) != 1 {
			t.Errorf("to %s: status %d after %d requests, the last sent %v", to, r.Status, len(hops), r.Timing.Sent)
		}
	}
}

func TestRobotsTakesTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newPiped(t, Config{}, func(net.Conn) { time.Sleep(time.Hour) })
		start := time.Now()
		_, _, err := c.Robots(t.Context(), Request{URL: parseURL(t, "http://site.test/robots.txt")})
		if took := time.Since(start); reasonOf(err) != Timeout || took != 10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestRobotsFollow asks before each redirect, and stops where it is refused.
func TestRobotsFollow(t *testing.T) {
	srv, seen := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
		}
	})
	c := newLocal(t, Config{}, srv)
	errFull := errors.New("no more")
	for most := range 4 {
		before, asked := len(seen()), 0
		r, hops, err := c.Robots(t.Context(), Request{URL: parseURL(t, srv.URL+"/2"), Follow: func(context.Context) error {
			if asked++; asked > most {
				return errFull
			}
			return nil
		}})
		sent, stopped := min(most, 2)+1, most < 2
		if len(hops) != sent || len(seen())-before != sent || errors.Is(err, errFull) != stopped || err != nil && !stopped || r.Timing.Sent.IsZero() {
			t.Errorf("%d of 2 redirects allowed: %d hops, %d requests: %v", most, len(hops), len(seen())-before, err)
		}
	}
}

// TestPageRedirectIsNotFollowed: the target is treated as a link.
func TestPageRedirectIsNotFollowed(t *testing.T) {
	srv, seen := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/next", http.StatusMovedPermanently)
	})
	c := newLocal(t, Config{}, srv)
	r, err := get(t, c, srv.URL)
	if err != nil || r.Status != http.StatusMovedPermanently || r.Location() != "/next" || len(seen()) != 1 {
		t.Errorf("status %d to %q after %d requests: %v", r.Status, r.Location(), len(seen()), err)
	}
}

func TestBadRequests(t *testing.T) {
	c, p := newPiped(t, Config{}, say(response("", nil)))
	for name, req := range map[string]Request{
		"no URL":           {},
		"a method":         {URL: mustURL("http://site.test/"), Method: http.MethodPost},
		"negative body":    {URL: mustURL("http://site.test/"), MaxBody: -1},
		"negative timeout": {URL: mustURL("http://site.test/"), Timeout: -1},
	} {
		if _, err := do(t, c, req); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if p.dialled() != 0 {
		t.Error("a bad request was sent")
	}
	_, err := New(Config{Identity: Identity{Product: "a b", Version: "/", Contact: "x"}, MaxBody: -1, KeepAlive: -1})
	for _, field := range []string{"Product", "Version", "Contact", "MaxBody", "KeepAlive"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}

// TestRequestLine: the path is sent as weburl wrote it.
func TestRequestLine(t *testing.T) {
	got := make(chan string, 1)
	c, _ := newPiped(t, Config{}, func(conn net.Conn) {
		buf := make([]byte, 4096)
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		line, rest, _ := strings.Cut(string(buf[:n]), "\r\n")
		host, _, _ := strings.Cut(rest, "\r\n")
		got <- line + "|" + host
		conn.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
	})
	for raw, want := range map[string]string{
		"http://site.test":                  "GET / HTTP/1.1|Host: site.test",
		"http://site.test/a%2Fb?c=%20&d#e":  "GET /a%2Fb?c=%20&d HTTP/1.1|Host: site.test",
		"http://site.test/%zz?%zz":          "GET /%zz?%zz HTTP/1.1|Host: site.test",
		"http://site.test//double//slash":   "GET http://site.test//double//slash HTTP/1.1|Host: site.test",
		"http://site.test//double?q=//x":    "GET http://site.test//double?q=//x HTTP/1.1|Host: site.test",
		"http://site.test/a'b(c)d;e=f,g!$*": "GET /a'b(c)d;e=f,g!$* HTTP/1.1|Host: site.test",
	} {
		if _, err := get(t, c, raw); err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if line := <-got; line != want {
			t.Errorf("%s sent as %q, want %q", raw, line, want)
		}
	}
}

func TestHeadRequest(t *testing.T) {
	srv := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", "12345")
		if r.Method != http.MethodHead {
			t.Errorf("method %s", r.Method)
		}
	})
	r, err := do(t, newLocal(t, Config{}, srv), Request{URL: parseURL(t, srv.URL), Method: http.MethodHead})
	if err != nil || r.Status != 200 || len(r.Body) != 0 || r.Header.Get("Content-Length") != "12345" {
		t.Errorf("%+v, %v", r, err)
	}
	var zero weburl.URL
	if r.URL == zero {
		t.Error("no URL in the result")
	}
}
