package traces_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/internal/traces"
	"headway/visit"
	"headway/weburl"
)

// collector accepts spans, or responds with another status.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func newCollector(t *testing.T, status int) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s as %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		}
		c.mu.Lock()
		c.bodies = append(c.bodies, body)
		c.mu.Unlock()
		if status == http.StatusFound {
			w.Header().Set("Location", "http://192.0.2.1/")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

// sent is a message as in the OTLP specification.
type sent struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct{ Spans []span }
	}
}

type span struct {
	TraceID, SpanID, Name string
	Kind                  int
	StartTimeUnixNano     int64 `json:",string"`
	EndTimeUnixNano       int64 `json:",string"`
	Attributes            []attribute
	Events                []struct {
		TimeUnixNano int64 `json:",string"`
		Name         string
	}
	Status struct{ Code int }
}

type attribute struct {
	Key   string
	Value map[string]any
}

// texts makes attributes readable.
func texts(list []attribute) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		for _, v := range a.Value {
			m[a.Key] = fmt.Sprint(v)
		}
	}
	return m
}

func newTracer(t *testing.T, endpoint string, log *slog.Logger) *traces.Tracer {
	t.Helper()
	tr, err := traces.New(t.Context(), traces.Config{Endpoint: endpoint, Version: "v1", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

var at = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

func aVisit(t *testing.T) *visit.Visit {
	t.Helper()
	u, err := weburl.Parse("https://shop.example/cart?token=secret&page=2")
	if err != nil {
		t.Fatal(err)
	}
	return &visit.Visit{
		Item: visit.Item{Job: 7, URL: u, Depth: 2}, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200, WireBytes: 1234},
		Timing: visit.Timing{Sent: at, DNS: 5 * time.Millisecond, Connect: 10 * time.Millisecond, TLS: 20 * time.Millisecond, FirstByte: 40 * time.Millisecond, Total: 50 * time.Millisecond},
	}
}

// TestSpans sends a visit, one without a request, one that failed and a commit.
func TestSpans(t *testing.T) {
	c := newCollector(t, http.StatusOK)
	tr := newTracer(t, c.URL, slog.New(slog.NewTextHandler(t.Output(), nil)))
	v := aVisit(t)
	skipped, failed := *v, *v
	skipped.Timing, skipped.Outcome, skipped.Reason = visit.Timing{}, visit.Skipped, visit.RobotsDisallow
	failed.Outcome, failed.Reason = visit.Failed, visit.Timeout
	for _, x := range []*visit.Visit{v, &skipped, &failed} {
		if err := tr.Write(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	tr.Committed(at, 30*time.Millisecond, 2)
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.bodies) != 1 {
		t.Fatalf("%d messages", len(c.bodies))
	}
	var m sent
	if err := json.Unmarshal(c.bodies[0], &m); err != nil {
		t.Fatalf("%v\n%s", err, c.bodies[0])
	}
	if about := texts(m.ResourceSpans[0].Resource.Attributes); about["service.name"] != "headway" || about["service.version"] != "v1" {
		t.Errorf("sent by %v", about)
	}
	spans := m.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 3 || spans[0].Name != "visit" || spans[1].Name != "visit" || spans[2].Name != "commit" {
		t.Fatalf("spans %+v", spans)
	}
	s := spans[0]
	if s.Kind != 3 || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.Status.Code != 0 || spans[1].Status.Code != 2 {
		t.Errorf("%+v", spans)
	}
	want := map[string]string{
		"http.request.method": "GET", "url.full": visit.Redact(v.Item.URL), "server.address": "shop.example", "http.response.status_code": "200",
		"http.response.body.size": "1234", "headway.job": "7", "headway.depth": "2", "headway.attempt": "0", "headway.outcome": "fetched", "headway.reason": "",
		"headway.connection_reused": "false",
	}
	if diff := cmp.Diff(want, texts(s.Attributes)); diff != "" {
		t.Error(diff)
	}
	if bytes.Contains(c.bodies[0], []byte("secret")) {
		t.Error("a token was sent")
	}
	got := map[string]time.Duration{"start": time.Unix(0, s.StartTimeUnixNano).Sub(at), "end": time.Unix(0, s.EndTimeUnixNano).Sub(at)}
	for _, e := range s.Events {
		got[e.Name] = time.Unix(0, e.TimeUnixNano).Sub(at)
	}
	phases := map[string]time.Duration{
		"start": -35 * time.Millisecond, "name looked up": -30 * time.Millisecond, "connected": -20 * time.Millisecond, "handshake done": 0, "request sent": 0,
		"first byte": 40 * time.Millisecond, "end": 50 * time.Millisecond,
	}
	if diff := cmp.Diff(phases, got); diff != "" {
		t.Error(diff)
	}
}

// TestCollectorFails: a collector refuses, redirects, or has an address that is not
// allowed. There is one warning, and nothing else happens.
func TestCollectorFails(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint func(*testing.T) string
		want     string
	}{
		"refuses":         {func(t *testing.T) string { return newCollector(t, http.StatusServiceUnavailable).URL }, "it answered 503"},
		"leads elsewhere": {func(t *testing.T) string { return newCollector(t, http.StatusFound).URL }, "it answered 302"},
		"a private name": {func(t *testing.T) string {
			return strings.Replace(newCollector(t, 200).URL, "127.0.0.1", "localhost", 1)
		}, "is blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			tr := newTracer(t, tc.endpoint(t), slog.New(slog.NewTextHandler(&said, nil)))
			for range 1000 { // two messages
				if err := tr.Write(t.Context(), aVisit(t)); err != nil {
					t.Fatal(err)
				}
			}
			if err := tr.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), tc.want) {
				t.Errorf("said %q, want one line with %q", said.String(), tc.want)
			}
		})
	}
}
