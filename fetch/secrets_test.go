package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"headway/weburl"
)

const (
	password = "p4ssw0rd-of-a-test"
	token    = "t0ken-of-a-test"
)

func secretsFor(t testing.TB, url string) Secrets {
	t.Helper()
	s, err := NewSecrets(parseURL(t, url), http.Header{"x-token": {token}}, "user", password)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaks reports whether a text contains a secret, plain or in base64 as in basic
// authentication.
func leaks(s string) bool {
	return strings.Contains(s, password) || strings.Contains(s, token) || strings.Contains(s, "dXNlcjpwNHNz")
}

// recorder is a server that records request headers.
func recorder(t *testing.T, answer http.HandlerFunc) (*httptest.Server, func() []http.Header) {
	t.Helper()
	var mu sync.Mutex
	var seen []http.Header
	srv := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Clone())
		mu.Unlock()
		answer(w, r)
	})
	return srv, func() []http.Header {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func TestSecretsGoToTheirHostOnly(t *testing.T) {
	other, seenByOther := recorder(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *") })
	own, seenByOwn := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/moved.txt", http.StatusFound)
		case "/moved.txt":
			http.Redirect(w, r, other.URL+"/robots.txt", http.StatusFound)
		}
	})
	c := newLocal(t, Config{}, own, other)
	secrets := secretsFor(t, own.URL)

	// A page on the host, a page elsewhere with the same secrets, and a robots.txt
	// that redirects elsewhere.
	for _, url := range []string{own.URL + "/page", other.URL + "/page"} {
		if _, err := do(t, c, Request{URL: parseURL(t, url), Secrets: secrets}); err != nil {
			t.Fatal(err)
		}
	}
	r, hops, err := c.Robots(t.Context(), Request{URL: parseURL(t, own.URL+"/robots.txt"), Secrets: secrets})
	if err != nil || len(hops) != 3 {
		t.Fatalf("%v, %v", hops, err)
	}
	r.Close()
	for _, h := range seenByOwn() {
		if user, pass, ok := (&http.Request{Header: h}).BasicAuth(); !ok || user != "user" || pass != password || h.Get("X-Token") != token {
			t.Errorf("the own host got %v", h)
		}
	}
	if len(seenByOwn()) != 3 || len(seenByOther()) != 2 {
		t.Errorf("%d and %d requests", len(seenByOwn()), len(seenByOther()))
	}
	for _, h := range seenByOther() {
		if leaks(fmt.Sprint(h)) || h.Get("Authorization") != "" {
			t.Errorf("the other host got %v", h)
		}
	}
}

func TestSecretsNeedAnOwnedHost(t *testing.T) {
	c, p := newPiped(t, Config{}, say(response("", nil)))
	req := Request{URL: parseURL(t, "http://site.test/"), Secrets: secretsFor(t, "http://site.test/")}
	_, err := do(t, c, req)
	if _, ok := errors.AsType[*NotOwnedError](err); !ok || p.dialled() != 0 || leaks(err.Error()) {
		t.Errorf("error %v after %d connections", err, p.dialled())
	}
	req.Owned = true
	if _, err := do(t, c, req); err != nil {
		t.Error(err)
	}
}

// TestSecretsAreNeverShown prints them in every way.
func TestSecretsAreNeverShown(t *testing.T) {
	s := secretsFor(t, "https://site.test/")
	req := Request{URL: parseURL(t, "https://site.test/"), Secrets: s}
	var texts []string
	for _, v := range []any{s, &s, req, &req, []Secrets{s}, map[string]any{"a": s}, struct{ inner Secrets }{s}, struct{ inner *Secrets }{&s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
	}
	data, err := json.Marshal(map[string]any{"secrets": s})
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, string(data))
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secrets", s, "request", fmt.Sprint(req))
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secrets", s)
	texts = append(texts, log.String())
	for _, text := range texts {
		if leaks(text) || strings.Contains(text, fmt.Sprintf("%x", password)) {
			t.Errorf("shown in %s", text)
		}
	}
	if got, want := s.String(), "for https://site.test: Authorization, X-Token (values hidden)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNewSecretsRefuses(t *testing.T) {
	u := parseURL(t, "https://site.test/")
	for name, h := range map[string]http.Header{
		"who we are":   {"user-agent": {"Mozilla/5.0"}},
		"framing":      {"Content-Length": {"5"}},
		"the host":     {"Host": {"other.test"}},
		"codings":      {"Accept-Encoding": {"identity"}},
		"a bad name":   {"X Token": {"1"}},
		"a line break": {"X-Token": {"1\r\nHost: other.test"}},
	} {
		if _, err := NewSecrets(u, h, "", ""); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := NewSecrets(u, nil, "a:b", "c"); err == nil {
		t.Error("a user name with a colon was accepted")
	}
	if _, err := NewSecrets(weburl.URL{}, nil, "a", "c"); err == nil {
		t.Error("secrets for no host were accepted")
	}
}

func TestIdentity(t *testing.T) {
	srv, seen := recorder(t, func(http.ResponseWriter, *http.Request) {})
	c := newLocal(t, Config{Identity: Identity{Version: "1.2", Contact: "https://example.com/bot"}}, srv)
	if _, err := get(t, c, srv.URL); err != nil {
		t.Fatal(err)
	}
	h := seen()[0]
	if got, want := h.Get("User-Agent"), "headway/1.2 (+https://example.com/bot)"; got != want {
		t.Errorf("User-Agent %q, want %q", got, want)
	}
	if h.Get("Cookie") != "" || h.Get("Accept-Encoding") != "gzip, br, zstd" {
		t.Errorf("header %v", h)
	}
	for contact, ok := range map[string]bool{
		"ops@example.com": true, "https://example.com/": true, "http://example.com/bot": true,
		"nobody": false, "@example.com": false, "ops@localhost": false, "https://": false, "a@b.c) evil (": false, "a@b.c\r\nX: y": false, "ftp://example.com": false,
	} {
		if err := (Identity{Product: "headway", Contact: contact}).validate(); (err == nil) != ok {
			t.Errorf("contact %q: %v", contact, err)
		}
	}
}

func TestPublicHostsNeedAContact(t *testing.T) {
	c, p := newPiped(t, Config{Identity: Identity{Product: "headway"}}, say(response("", nil)))
	req := Request{URL: parseURL(t, "http://site.test/")}
	_, err := do(t, c, req)
	if e, ok := errors.AsType[*NoContactError](err); !ok || e.Hint() == "" || p.dialled() != 0 {
		t.Errorf("error %v after %d connections", err, p.dialled())
	}
	req.Owned = true
	if _, err := do(t, c, req); err != nil {
		t.Errorf("owned: %v", err)
	}
	srv, _ := recorder(t, func(http.ResponseWriter, *http.Request) {})
	if r, err := get(t, newLocal(t, Config{}, srv), srv.URL); err != nil || !r.Owned {
		t.Errorf("an allowed private host: owned %v, %v", r.Owned, err)
	}
}

// TestNoCookies sends a second request after a cookie was set.
func TestNoCookies(t *testing.T) {
	srv, seen := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		io.WriteString(w, "hello")
	})
	c := newLocal(t, Config{}, srv)
	for range 2 {
		if _, err := get(t, c, srv.URL); err != nil {
			t.Fatal(err)
		}
	}
	if got := seen()[1].Get("Cookie"); got != "" {
		t.Errorf("cookie %q", got)
	}
}

func TestConditional(t *testing.T) {
	srv, seen := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, "hello")
	})
	c := newLocal(t, Config{}, srv)
	u := parseURL(t, srv.URL)
	r, err := do(t, c, Request{URL: u, ETag: `"v1"`, LastModified: "Sun, 15 Nov 2026 10:00:00 GMT"})
	if err != nil || r.Status != http.StatusNotModified || len(r.Body) != 0 {
		t.Errorf("%d, %q, %v", r.Status, r.Body, err)
	}
	if got := seen()[0].Get("If-Modified-Since"); got != "Sun, 15 Nov 2026 10:00:00 GMT" {
		t.Errorf("If-Modified-Since %q", got)
	}
	// An invalid validator is omitted.
	r, err = do(t, c, Request{URL: u, ETag: "\"v1\"\r\nX-Evil: 1"})
	if err != nil || r.Status != http.StatusOK || seen()[1].Get("X-Evil") != "" {
		t.Errorf("%d, %v, %v", r.Status, seen()[1], err)
	}
	if r, err := get(t, c, srv.URL); err != nil || !r.Timing.Reused {
		t.Errorf("304 left the connection unusable: %v", err)
	}
}
