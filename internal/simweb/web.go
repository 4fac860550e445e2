// Package simweb is a simulated web for tests: the hosts and profiles of the lab, served
// with real HTTP over pipes, in virtual time.
//
// It replaces the internet. Created inside a bubble of testing/synctest it opens no socket
// and queries no name server, its clock is the bubble's, and days of waiting pass in
// milliseconds. What a host serves, how it refuses and what it counts is package lab's; the
// two share one model and differ only in transport and clock.
//
// It never waits for real time, a request arrives at the instant it is sent, the counts are
// the server's and not the client's, and after [Web.Close] no goroutine is left, so that
// the bubble can end. It serves plain HTTP on port 80 only, and knows only the names of its
// hosts.
package simweb

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"headway/lab"
)

// Web is a set of simulated hosts. Create one with [New], inside the bubble that uses it;
// its methods may be called concurrently.
type Web struct {
	lab     *lab.Lab
	names   map[string]netip.Addr
	addrs   map[netip.Addr]string
	network atomic.Uint32

	server *http.Server
	accept *accept

	mu      sync.Mutex // guards closed, so that no request begins after Close waits
	closed  bool
	serving sync.WaitGroup
}

// maxLog is how many requests [Web.Log] keeps by default: more than any simulation sends.
const maxLog = 1 << 20

// New creates the hosts that cfg describes. Its fields about sockets, certificates and name
// servers do not apply; hosts are addressed by name, on port 80.
func New(cfg lab.Config) (*Web, error) {
	cfg.Address, cfg.PublicPort = lab.Name, httpPort
	if cfg.Log == 0 {
		cfg.Log = maxLog
	}
	l, err := lab.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("simulated web: %w", err)
	}
	w := &Web{
		lab: l, names: map[string]netip.Addr{}, addrs: map[netip.Addr]string{},
		accept: &accept{conns: make(chan net.Conn), closed: make(chan struct{})},
	}
	for _, h := range l.Hosts() {
		addr, err := netip.ParseAddr(h.Addr)
		if err != nil {
			return nil, fmt.Errorf("simulated web: address of %s: %w", h.Name, err)
		}
		w.names[h.Name], w.addrs[addr] = addr, h.Name
	}
	w.server = &http.Server{
		Handler:  w.count(l.Handler()),
		ErrorLog: log.New(io.Discard, "", 0), // clients that give up are expected
	}
	w.serving.Go(func() { _ = w.server.Serve(w.accept) }) // returns http.ErrServerClosed after Close
	return w, nil
}

// count lets Close wait for requests under way, and aborts later ones.
func (w *Web) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.begin() {
			panic(http.ErrAbortHandler)
		}
		defer w.serving.Done()
		next.ServeHTTP(rw, r)
	})
}

func (w *Web) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.serving.Add(1)
	}
	return !w.closed
}

// Close closes every connection and waits until no request is under way. The counts stay
// readable.
func (w *Web) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.server.Close()
	w.serving.Wait()
	return err
}

// Stats counts the requests, as seen by the servers.
func (w *Web) Stats() lab.Stats { return w.lab.Stats() }

// Host counts the requests to one host; all zero when it had none.
func (w *Web) Host(name string) lab.HostStats {
	for _, h := range w.lab.Stats().PerHost {
		if nameOf(h.Host) == name {
			return h
		}
	}
	return lab.HostStats{}
}

// Log returns every request that was answered or given up, in the order of arrival;
// simultaneous ones by host, path and answer, so that the same requests give the same log.
func (w *Web) Log() []lab.Request {
	list := w.lab.Log()
	for i := range list {
		list[i].Host = nameOf(list[i].Host)
	}
	slices.SortStableFunc(list, func(a, b lab.Request) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Target, b.Target),
			a.Answer.Compare(b.Answer), cmp.Compare(a.Status, b.Status))
	})
	return list
}

// nameOf is the name in the base URL of a host on port 80.
func nameOf(base string) string { return strings.TrimPrefix(base, "http://") }

// NextEpoch changes a share of the pages, as their sites define.
func (w *Web) NextEpoch() { w.lab.NextEpoch() }
