// Package lab is a synthetic web: many hosts of every temper, served from one
// process on the loopback, that counts from the server's side what a crawler
// did. `headway lab` runs it, tests crawl it and benchmarks measure against it.
//
// A host has a name, an address of its own (127.1.x.y), a [Site] that says
// what it holds and [temper.Rules] that say how it treats requests. A farm of
// a thousand equal hosts and the default lab of one host of every temper are
// the same mechanism with different lists of hosts.
//
// It promises that the same [Config] serves the same bytes, that its counts
// are exact, and that a page costs microseconds to make, so that a measurement
// measures the crawler. It refuses clients that are neither on this machine
// nor in [Config.Clients].
package lab

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Lab is a synthetic web. Make one with [New]; its methods may be called
// concurrently, except that [Lab.Listen] must come before serving.
type Lab struct {
	cfg       Config
	web       *web
	dir       *directory
	rec       atomic.Pointer[recorder]
	epoch     atomic.Int64
	exchanges sync.Pool
	authority func() (*authority, error) // made when the first certificate is asked for
	sockets   *sockets                   // nil until Listen
}

// New builds a lab. Nothing listens before [Lab.Listen] or [Lab.Run]; until
// then links name the ports that the Config asks for.
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

// Handler serves the lab over any transport. Links name the hosts as
// Config.Address says, with Config.PublicPort or the port of Config.Listen.
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

// Seeds gives the front page of each host. Every page of the lab can be
// reached from the first of them alone.
func (l *Lab) Seeds() []string {
	list := make([]string, len(l.web.hosts))
	for i := range list {
		list[i] = l.web.hosts[i].base + "/"
	}
	return list
}

// Stats counts what was asked for since the lab was made or reset.
func (l *Lab) Stats() Stats {
	st := l.rec.Load().report(l.web)
	st.Epoch = l.Epoch()
	return st
}

// Log is the last requests that were answered, oldest first, at most
// Config.Log of them.
func (l *Lab) Log() []Request { return l.rec.Load().log.list() }

// Reset forgets all counts and what the hosts remember of their clients.
// Requests in flight are counted in neither the old nor the new numbers.
func (l *Lab) Reset() { l.rec.Store(newRecorder(&l.cfg)) }

// NextEpoch lets a share of the pages change, as Site.ChangeRate says, and
// gives the number of the epoch.
func (l *Lab) NextEpoch() int { return int(l.epoch.Add(1)) }

// Epoch is how often the pages had a chance to change.
func (l *Lab) Epoch() int { return int(l.epoch.Load()) }

// serve answers one request of any host.
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
