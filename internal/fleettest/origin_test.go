package fleettest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/lab"
)

// request is a request, with the kernel's time of its first byte.
type request struct {
	at     time.Time
	host   string // base URL
	target string // path and query
}

// origin serves a lab and records when requests arrived. A busy machine, on which the
// lab handles requests late, does not change these times.
type origin struct {
	*lab.Lab
	port int

	mu       sync.Mutex
	requests []request
	unknown  int // requests without a kernel timestamp
}

// connKey is where a request finds its connection.
type connKey struct{}

// serveOrigin serves a lab until the test ends.
func serveOrigin(t *testing.T, cfg lab.Config) *origin {
	t.Helper()
	ln, err := listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{port: ln.Addr().(*net.TCPAddr).Port}
	cfg.PublicPort, cfg.Log = o.port, -1
	if o.Lab, err = lab.New(cfg); err != nil {
		t.Fatal(err)
	}
	pages := o.Handler()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.note(r)
			pages.ServeHTTP(w, r)
		}),
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // clients are killed here
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return o
}

// note records a request before it is answered.
func (o *origin) note(r *http.Request) {
	at := r.Context().Value(connKey{}).(*stampedConn).arrived()
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.IsZero() {
		o.unknown++
		return
	}
	o.requests = append(o.requests, request{at, "http://" + r.Host, r.RequestURI})
}

// arrivals are the requests so far in order of arrival, over all connections.
func (f *fleet) arrivals() []request {
	f.Helper()
	o := f.lab
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unknown > 0 {
		f.Fatalf("the kernel did not say when %d requests arrived", o.unknown)
	}
	list := slices.Clone(o.requests)
	slices.SortStableFunc(list, func(a, b request) int { return a.at.Compare(b.at) })
	return list
}

// forRobots reports whether a request is for robots.txt, which has no pace.
func (r request) forRobots() bool { return strings.HasPrefix(r.target, "/robots.txt") }
