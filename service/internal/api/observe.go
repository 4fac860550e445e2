package api

import (
	"net/http"
	"time"
)

// Observer is called for each request that was answered: the operation, or none, the
// status, and how long it took; 0 for a stream.
type Observer func(operation string, status int, took time.Duration)

// noOperation stands for a request that matches no operation.
const noOperation = "none"

// observed reports requests to the observer.
func (a *API) observed(next http.Handler) http.Handler {
	if a.observe == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			operation, took := noOperation, time.Since(began)
			if _, pattern := a.mux.Handler(r); a.operations[pattern] != "" {
				operation = a.operations[pattern]
			}
			if w.Header().Get("Content-Type") == eventStream {
				took = 0 // a stream lasts as long as the client stays
			}
			a.observe(operation, out.status, took)
		}()
		next.ServeHTTP(out, r)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
