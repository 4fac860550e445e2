package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"headway/fetch/guard"
	"headway/store"
)

// TestSignOfStandard reproduces the signature printed in the standard.
func TestSignOfStandard(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := sign([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed %s, the standard has %s", got, want)
	}
}

// verify checks a delivery with the reference library of the standard.
func verify(t *testing.T, secret []byte, body []byte, h http.Header) error {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(FormatSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return wh.Verify(body, h)
}

// TestVerified checks deliveries, and deliveries tampered with, with the reference
// library of the standard.
func TestVerified(t *testing.T) {
	now, old, fresh := time.Now(), NewSecret(), NewSecret()
	body := []byte(`{"type":"job.complete"}`)
	e := store.Endpoint{Secret: fresh, OldSecret: old, OldEnds: now.Add(time.Minute)}
	headers := func(secrets [][]byte, at time.Time) http.Header {
		h := http.Header{}
		h.Set("Webhook-Id", "msg_1")
		h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		h.Set("Webhook-Signature", sign(secrets, "msg_1", at, body))
		return h
	}
	moved := headers([][]byte{fresh}, now.Add(-time.Hour))
	moved.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	renamed := headers([][]byte{fresh}, now)
	renamed.Set("Webhook-Id", "msg_2")
	for _, c := range []struct {
		name   string
		secret []byte
		body   string
		h      http.Header
		want   error
	}{
		{"the new secret", fresh, string(body), headers(e.Secrets(now), now), nil},
		{"the old secret while it is rotated", old, string(body), headers(e.Secrets(now), now), nil},
		{"the old secret later", old, string(body), headers(e.Secrets(now.Add(time.Hour)), now), standardwebhooks.ErrNoMatchingSignature},
		{"another key", NewSecret(), string(body), headers(e.Secrets(now), now), standardwebhooks.ErrNoMatchingSignature},
		{"another body", fresh, `{"type":"job.failed"}`, headers(e.Secrets(now), now), standardwebhooks.ErrNoMatchingSignature},
		{"sent again an hour later", fresh, string(body), headers(e.Secrets(now), now.Add(-time.Hour)), standardwebhooks.ErrMessageTooOld},
		{"sent again with a new time", fresh, string(body), moved, standardwebhooks.ErrNoMatchingSignature},
		{"sent again with a new id", fresh, string(body), renamed, standardwebhooks.ErrNoMatchingSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := verify(t, c.secret, []byte(c.body), c.h); !errors.Is(err, c.want) {
				t.Errorf("the library says %v, want %v", err, c.want)
			}
		})
	}
}

func TestNewEndpoint(t *testing.T) {
	a, b := NewEndpoint("acme", "https://example.com/", nil), NewEndpoint("acme", "https://example.com/", nil)
	if err := a.Check(); err != nil || a.ID == b.ID || bytes.Equal(a.Secret, b.Secret) {
		t.Errorf("%v: %s and %s", err, a.ID, b.ID)
	}
	if text := FormatSecret(a.Secret); !strings.HasPrefix(text, "whsec_") || len(text) != len("whsec_")+44 {
		t.Errorf("secret %q", text)
	}
}

func TestCheckURL(t *testing.T) {
	private := []guard.Range{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}}
	for address, ok := range map[string]bool{
		"https://example.com/hook?token=1": true,
		"https://10.0.0.5/hook":            true, // the guard decides
		"http://10.0.0.5:8080/hook":        true,
		"http://example.com/hook":          false,
		"http://192.168.0.1/":              false,
		"http://10.0.0.5.example.com/":     false,
		"http://localhost/":                false,
		"https://user:pass@example.com/":   false,
		"https://example.com/#part":        false,
		"https:example.com":                false,
		"https:///hook":                    false,
		"ftp://example.com/":               false,
		"/hook":                            false,
		"":                                 false,
		"https://exa mple.com/":            false,
	} {
		if err := CheckURL(address, private); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestMessage checks the body that a receiver reads.
func TestMessage(t *testing.T) {
	e := store.Event{Number: 7, At: time.Date(2026, 11, 15, 12, 0, 0, 5e6, time.FixedZone("", 3600)), Job: 3, Kind: "job.partial", Body: []byte(`{"state":"partial","reason":"max_pages"}`)}
	body, err := bodyOf(&e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"job.partial","timestamp":"2026-11-15T11:00:00.005Z","data":{"state":"partial","reason":"max_pages","event":7,"job":3}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
	ids := map[string]bool{idOf(&e, "a"): true, idOf(&e, "b"): true}
	later := e
	later.At = later.At.Add(time.Millisecond)
	ids[idOf(&later, "a")] = true
	next := e
	next.Number++
	ids[idOf(&next, "a")] = true
	if len(ids) != 4 {
		t.Errorf("ids are not apart: %v", ids)
	}
}

// TestRetryDelays compares the retry delays with the standard: the first attempt at
// once, the last after three days, each with jitter.
func TestRetryDelays(t *testing.T) {
	s := &Sender{retries: Retries}
	var least time.Duration
	for attempt := 1; attempt <= len(Retries); attempt++ {
		base := Retries[attempt-1]
		least += base
		spread := map[time.Duration]bool{}
		for range 200 {
			w := s.waitAfter(attempt)
			if w < base || w > base+time.Duration(jitter*float64(base)) {
				t.Fatalf("after attempt %d: %s", attempt, w)
			}
			spread[w] = true
		}
		if len(spread) < 100 {
			t.Errorf("after attempt %d: %d different waits of 200", attempt, len(spread))
		}
	}
	if least < 72*time.Hour || least > 80*time.Hour {
		t.Errorf("the last attempt comes %s after the first", least)
	}
}

// TestLanes sends many deliveries to fast, slow and very slow receivers. Concurrency
// stays within the width of the lane, the lane is hardly ever idle, few deliveries
// come back too early, and few wait in memory once the receiver is known to be slow.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		name       string
		took       time.Duration
		deliveries int
		waiting    int64 // in memory, once its speed is known
	}{
		{"quick", 2 * time.Millisecond, 4000, 4000},
		{"slow", 200 * time.Millisecond, 1000, 40},
		{"very slow", 15 * time.Second, 400, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testLane(t, c.took, c.deliveries, c.waiting) })
		})
	}
}

func testLane(t *testing.T, took time.Duration, deliveries int, waiting int64) {
	l, begun := newLanes(), time.Now()
	var in, busy, most, asked, done, ended atomic.Int64
	for range deliveries {
		go func() {
			for {
				asked.Add(1)
				in.Add(1)
				turn := l.enter(t.Context(), "it")
				in.Add(-1)
				if turn == 0 {
					break
				}
				time.Sleep(turn)
			}
			if n := busy.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(took)
			busy.Add(-1)
			done.Add(1)
			l.leave("it", took)
			ended.Store(int64(time.Since(begun)))
		}()
	}
	if turn := l.enter(t.Context(), "another"); turn != 0 || time.Since(begun) != 0 {
		t.Errorf("another endpoint waits %s, then %s", time.Since(begun), turn)
	}
	ideal := time.Duration(deliveries) * took / laneWidth
	if known := 2*maxWait + 4*took; known < ideal {
		time.Sleep(known)
		synctest.Wait() // one that has left and one that takes its place count once
		if n := in.Load(); n > waiting {
			t.Errorf("%d wait in memory after %s, at most %d", n, known, waiting)
		}
	}
	time.Sleep(2*ideal + maxTurn)
	synctest.Wait()
	if most.Load() != laneWidth || done.Load() != int64(deliveries) {
		t.Errorf("%d at once, %d of %d done", most.Load(), done.Load(), deliveries)
	}
	// Before the speed is known, some deliveries are postponed for too long.
	if end := time.Duration(ended.Load()); end > ideal+ideal/4+maxTurn {
		t.Errorf("the last was done after %s, at best after %s", end, ideal)
	}
	// At worst each is postponed by maxTurn until its turn.
	if most := int64(deliveries) * int64(4+ideal/maxTurn); asked.Load() > most {
		t.Errorf("tried %d times, at most %d", asked.Load(), most)
	}
	t.Logf("the last was done after %s, at best after %s; tried %d times", time.Duration(ended.Load()), ideal, asked.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.lane["it"]; ok {
		t.Error("a lane that is not used is kept")
	}
}

// TestPost makes single attempts at all kinds of receivers.
func TestPost(t *testing.T) {
	var led atomic.Int64
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			w.WriteHeader(http.StatusNoContent)
		case "/moved":
			http.Redirect(w, r, "/target", http.StatusTemporaryRedirect)
		case "/target":
			led.Add(1)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/silent":
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice the disconnect
			<-r.Context().Done()
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(handle))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(handle))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	open := guard.Config{AllowPrivate: []guard.Range{loopback(t, plain), loopback(t, secure)}}
	cases := []struct {
		name, url string
		cfg       Config
		status    int
		err       string
	}{
		{"plain to an address that was opened", plain.URL + "/ok", Config{Guard: open}, 204, ""},
		{"encrypted", secure.URL + "/ok", Config{Guard: open, Roots: roots}, 204, ""},
		{"encrypted by a stranger", secure.URL + "/ok", Config{Guard: open}, 0, "certificate"},
		{"a redirect", plain.URL + "/moved", Config{Guard: open}, 307, ""},
		{"gone", plain.URL + "/gone", Config{Guard: open}, 410, ""},
		{"an endless answer", plain.URL + "/endless", Config{Guard: open}, 200, ""},
		{"no answer", plain.URL + "/silent", Config{Guard: open}, 0, "Timeout"},
		{"an address inside", secure.URL + "/ok", Config{Roots: roots, Guard: guard.Config{ExtraPorts: open.AllowPrivate[1].Ports}}, 0, "is blocked: 127.0.0.1 is loopback"},
		{"plain to an address inside", plain.URL + "/ok", Config{}, 0, "is not https"},
		{"plain to the public", "http://example.com/ok", Config{Guard: open}, 0, "is not https"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(c.cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(c.url, "/silent") { // all others answer, however busy the machine is
				s.client.Timeout = 2 * time.Second
			}
			defer s.client.CloseIdleConnections()
			e := store.Endpoint{URL: c.url, Secret: NewSecret()}
			status, err := s.post(context.Background(), &e, &delivery{ID: "msg_1", Body: json.RawMessage(`{}`)})
			if status != c.status || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("status %d, %v; want %d, %q", status, err, c.status, c.err)
			}
			if err != nil && strings.Contains(err.Error(), "/ok") && !strings.Contains(err.Error(), "https") {
				t.Errorf("the address is in %q", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := led.Load(); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
	})
}

// loopback allows the address of a test server.
func loopback(t *testing.T, s *httptest.Server) guard.Range {
	t.Helper()
	a := s.Listener.Addr().(*net.TCPAddr).AddrPort()
	return guard.Range{Prefix: netip.PrefixFrom(a.Addr(), a.Addr().BitLen()), Ports: []uint16{a.Port()}}
}
