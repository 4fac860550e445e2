// Package lab is a synthetic web: many hosts with different behaviour (profiles, see
// [Temper]), served by one process on loopback, which counts on the server's side what a
// crawler did. `headway lab` runs it, tests crawl it and benchmarks measure against it.
//
// A host has a name, its own address (127.1.x.y), a [Site] that defines its content and
// [temper.Rules] that define how it treats requests. A thousand equal hosts and the
// default lab with one host of every profile differ only in the list of hosts.
//
// The same [Config] serves the same bytes, counts are exact, and a page takes microseconds
// to generate, so that a measurement measures the crawler. Clients must be on this
// machine or in [Config.Clients].
package lab

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Lab is a synthetic web. Create it with [New]; its methods are safe for concurrent use,
// except that [Lab.Listen] must be called before serving.
type Lab struct {
	cfg       Config
	web       *web
	dir       *directory
	rec       atomic.Pointer[recorder]
	epoch     atomic.Int64
	exchanges sync.Pool
	authority func() (*authority, error) // created with the first certificate
	sockets   *sockets                   // nil until Listen
}

// New creates a lab. Nothing listens before [Lab.Listen] or [Lab.Run]; until then links
// contain the ports of the Config.
func New(cfg Config) (*Lab, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Lab{cfg: cfg}
	l.web, l.dir = makeWeb(&l.cfg)
	l.web.filler = sync.OnceValue(func() *filler { return fillerOf(cfg.Seed) })
	l.authority = sync.OnceValues(newAuthority)
	l.exchanges.New = func() any { return new(exchange) }
	l.web.setBases(&l.cfg, cfg.port(cfg.Listen), cfg.port(cfg.ListenTLS))
	l.Reset()
	return l, nil
}

// Handler serves the lab over any transport. Links name the hosts as Config.Address says,
// with Config.PublicPort or the port of Config.Listen.
func (l *Lab) Handler() http.Handler { return http.HandlerFunc(l.serve) }

// Hosts describes the hosts in order.
func (l *Lab) Hosts() []Host {
	list := make([]Host, len(l.web.hosts))
	for i := range list {
		h := &l.web.hosts[i]
		list[i] = Host{
			Name: h.name, Addr: hostAddr(i).String(), URL: h.base + "/",
			Temper: h.temper.Name, About: h.temper.About, Pages: h.site.Pages,
		}
	}
	return list
}

// Seeds returns the front page of each host. Every page of the lab is reachable from the
// first one.
func (l *Lab) Seeds() []string {
	list := make([]string, len(l.web.hosts))
	for i := range list {
		list[i] = l.web.hosts[i].base + "/"
	}
	return list
}

// Stats returns the counts since the lab was created or reset.
func (l *Lab) Stats() Stats {
	st := l.rec.Load().report(l.web)
	st.Epoch = l.Epoch()
	return st
}

// Log returns the last completed requests, oldest first, at most Config.Log.
func (l *Lab) Log() []Request { return l.rec.Load().log.list() }

// Reset clears all counts and the state of the hosts. Requests in flight are counted
// neither before nor after.
func (l *Lab) Reset() { l.rec.Store(newRecorder(&l.cfg)) }

// NextEpoch changes a share of the pages, see Site.ChangeRate, and returns the number of
// the epoch.
func (l *Lab) NextEpoch() int { return int(l.epoch.Add(1)) }

// Epoch is the current epoch: how often pages had a chance to change.
func (l *Lab) Epoch() int { return int(l.epoch.Load()) }

// serve handles one request to any host.
func (l *Lab) serve(w http.ResponseWriter, r *http.Request) {
	if isControl(r.URL.Path) {
		l.control(w, r)
		return
	}
	n, ok := l.dir.find(r.Host)
	if !ok {
		http.Error(w, "no such virtual host", http.StatusMisdirectedRequest)
		return
	}
	x := l.exchanges.Get().(*exchange)
	defer l.exchanges.Put(x)
	x.begin(l, w, r, &l.web.hosts[n])
	defer x.end()
	x.answer()
}

// countConnections is a ConnState hook.
func (l *Lab) countConnections(_ net.Conn, s http.ConnState) {
	if s == http.StateNew {
		l.rec.Load().connections.Add(1)
	}
}
