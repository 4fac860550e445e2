package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
)

// requestIDHeader names a request, in the request and in the response.
const requestIDHeader = "X-Request-Id"

// maxRequestID is how long the id of a client may be.
const maxRequestID = 128

// requestIDKey is where a context has the id of its request.
type requestIDKey struct{}

// WithRequestID gives each request an id: the valid one that the client sent, or a new
// one. The response has it in a header, and log lines about the request have it if the
// logger comes from [LogRequestIDs].
func WithRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id string
		if sent := r.Header.Values(requestIDHeader); len(sent) == 1 && isRequestID(sent[0]) {
			id = sent[0]
		} else {
			id = rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// isRequestID reports whether an id of a client is accepted. It ends up in logs, so its
// length and characters are limited.
func isRequestID(s string) bool {
	other := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.:/+=", c))
	}
	return s != "" && len(s) <= maxRequestID && strings.IndexFunc(s, other) < 0
}

// LogRequestIDs returns a logger that adds request_id to each line about a request.
func LogRequestIDs(log *slog.Logger) *slog.Logger { return slog.New(requestLog{log.Handler()}) }

// requestLog adds the id of the request in the context to each record.
type requestLog struct{ slog.Handler }

// Handle implements [slog.Handler].
func (l requestLog) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("request_id", id))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l requestLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestLog{l.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (l requestLog) WithGroup(name string) slog.Handler {
	return requestLog{l.Handler.WithGroup(name)}
}
