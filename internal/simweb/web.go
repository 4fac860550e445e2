// Package simweb is a simulated web for tests: the hosts and tempers of the
// lab, served with real HTTP over pipes, in virtual time.
//
// It stands where the internet stands on the journey of a URL. Made inside a
// bubble of testing/synctest it opens no socket and asks no name server, its
// clock is the bubble's, and days of politeness pass in milliseconds. What a
// host holds, how it refuses and what it counts is package lab's; the two share
// one model and differ in transport and clock only.
//
// It promises that nothing waits for real time, that a request arrives at the
// instant it is sent, that the counts are the server's and not the client's,
// and that after [Web.Close] no goroutine of it is left, so that the bubble can
// end. It serves plain HTTP on port 80 only, and knows no name but its hosts'.
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

// Web is a web of simulated hosts. Make one with [New], inside the bubble that
// uses it; its methods may be called concurrently.
type Web struct {
	lab     *lab.Lab
	names   map[string]netip.Addr
	addrs   map[netip.Addr]string
	network atomic.Uint32

	server *http.Server
	accept *accept

	mu      sync.Mutex // guards closed, so that nothing begins after Close waits
	closed  bool
	serving sync.WaitGroup
}

// maxLog is how many requests [Web.Log] keeps unless the Config says how many:
// more than any simulation sends.
const maxLog = 1 << 20

// New makes a web of the hosts that cfg describes. The fields about sockets,
// certificates and name servers do not apply; hosts are named by name, on
// port 80.
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
	w.serving.Go(func() { _ = w.server.Serve(w.accept) }) // ends with Close, which it says
	return w, nil
}

// count lets Close wait for requests under way, and cuts those that come later.
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

// Close cuts every connection and waits until no request is under way. The
// counts stay readable.
func (w *Web) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.server.Close()
	w.serving.Wait()
	return err
}

// Stats counts what was asked for, from the servers' side.
func (w *Web) Stats() lab.Stats { return w.lab.Stats() }

// Host counts what one host was asked for; all zero when it had no request.
func (w *Web) Host(name string) lab.HostStats {
	for _, h := range w.lab.Stats().PerHost {
		if nameOf(h.Host) == name {
			return h
		}
	}
	return lab.HostStats{}
}

// Log is every request that has been answered or given up, in the order of
// arrival; those of one instant by host, path and answer, so that the same
// requests give the same log.
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

// NextEpoch lets a share of the pages change, as their sites say.
func (w *Web) NextEpoch() { w.lab.NextEpoch() }
