package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRequestID sends requests that fail in the server: the response and the log line
// have the same id, that of the client if it is valid.
func TestRequestID(t *testing.T) {
	var log bytes.Buffer
	a := New(Config{Anonymous: true, Log: slog.New(slog.NewJSONHandler(&log, nil))}) // without a store each request panics
	h := WithRequestID(a.Handler())
	seen := map[string]bool{}
	for _, x := range []struct {
		sent []string
		want string // empty for a new one
	}{
		{nil, ""},
		{nil, ""},
		{[]string{"3f2b8c1e-7d4a-4b7e-9a51-0c6d2f1e8b90"}, "3f2b8c1e-7d4a-4b7e-9a51-0c6d2f1e8b90"},
		{[]string{"Root=1:a_b.c/d+e"}, "Root=1:a_b.c/d+e"},
		{[]string{strings.Repeat("a", maxRequestID)}, strings.Repeat("a", maxRequestID)},
		{[]string{strings.Repeat("a", maxRequestID+1)}, ""},
		{[]string{""}, ""},
		{[]string{"a b"}, ""},
		{[]string{`a"b`}, ""},
		{[]string{"a\x1b[31m"}, ""},
		{[]string{"é"}, ""},
		{[]string{"one", "two"}, ""},
	} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/jobs", nil)
		r.Host, r.Header[requestIDHeader] = "127.0.0.1:8788", x.sent
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		id := w.Header().Get(requestIDHeader)
		if x.want != "" && id != x.want || x.want == "" && (len(id) < 16 || !isRequestID(id) || len(x.sent) > 0 && id == x.sent[0]) || seen[id] {
			t.Errorf("sent %q, got %q", x.sent, id)
		}
		seen[id] = true
		var line struct {
			Msg       string `json:"msg"`
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Msg != "request panicked" || line.RequestID != id || w.Code != http.StatusInternalServerError {
			t.Errorf("sent %q: %v, status %d, log %s", x.sent, err, w.Code, log.Bytes())
		}
	}
}
