package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"headway/internal/config"
	"headway/service/internal/api"
	"headway/store/postgres"
)

// Where a service listens, and how many requests a second each key may send,
// unless it is told otherwise.
const (
	DefaultListen = "127.0.0.1:8788"
	DefaultRate   = 50
)

// Bounds of connections and requests.
const (
	maxConns   = 2048             // at once; more wait in the queue of the system
	maxHeader  = 16 << 10         // bytes
	headerTime = 5 * time.Second  // to send it
	readTime   = 30 * time.Second // to send all of a request
	writeTime  = 60 * time.Second // to read an answer; streams have times of their own
	idleTime   = 2 * time.Minute  // between two requests
	stopTime   = 10 * time.Second // for requests under way when the service stops
	readyTime  = 2 * time.Second  // for the store to say that it is there
	burst      = 4                // seconds of the rate of a key that may come at once
)

// Config is how a service runs.
type Config struct {
	Store *postgres.Store
	// Listen is an address and port of this machine; empty means DefaultListen.
	Listen string
	// NoKeys answers requests without a key. The listener must be on loopback.
	NoKeys bool
	// Settings reads what a job asks for under the settings of the server.
	Settings func(config.Asked) (*config.Settings, error)
	// Rate is how many requests a second each key may send to this server; 0
	// means DefaultRate. What was not used for some seconds may come at once.
	Rate float64
	Log  *slog.Logger // nil for none
	// Listening, when not nil, is told the address once requests are taken.
	Listening func(net.Addr)
}

// Run listens and answers until ctx ends, then lets requests under way finish.
func Run(ctx context.Context, c Config) error {
	c.Listen, c.Log = cmp.Or(c.Listen, DefaultListen), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if err := c.check(); err != nil {
		return err
	}
	var from net.ListenConfig
	l, err := from.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", c.Listen, err)
	}
	return serve(ctx, c, l)
}

// check reports an address at which a service must not listen.
func (c *Config) check() error {
	at, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen at %q: not an address and port such as %s", c.Listen, DefaultListen)
	}
	if c.NoKeys && !at.Addr().IsLoopback() {
		return fmt.Errorf("listen at %s without keys: %w", c.Listen, ErrOpen)
	}
	return nil
}

// ErrOpen says that a service would listen to others than this machine and ask
// them for no key.
var ErrOpen = errors.New("only a loopback address may be listened at without keys")

// serve answers on a listener.
func serve(ctx context.Context, c Config, l net.Listener) error {
	rate := cmp.Or(c.Rate, DefaultRate)
	a := api.New(api.Config{Store: c.Store, Settings: c.Settings, Anonymous: c.NoKeys, Rate: api.Rate{PerSecond: rate, Burst: max(1, int(rate*burst))}, Log: c.Log})
	h := &health{store: c.Store}
	server := &http.Server{
		Handler:           h.beside(a.Handler()),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	// Requests outlive the order to stop; what only waits for news does not.
	following, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(following); err != nil {
			c.Log.ErrorContext(ctx, "events not followed", "err", err)
		}
	})
	defer wg.Wait()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(l, maxConns)) }()
	if c.Listening != nil {
		c.Listening(l.Addr())
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	h.stopping.Store(true)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(last)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests under way did not finish: %w", err), server.Close())
	}
	<-ended
	return err
}

// health answers whether the service lives and can work.
type health struct {
	store    *postgres.Store
	stopping atomic.Bool
}

// beside answers /livez and /readyz, without a key, and leaves the rest to next.
func (h *health) beside(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := h.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("/", next)
	return mux
}

// ready tells why no request should be sent here.
func (h *health) ready(ctx context.Context) error {
	if h.stopping.Load() {
		return errors.New("stopping")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if _, err := h.store.JobList(ctx, 0, 0); err != nil {
		return errors.New("the store does not answer")
	}
	return nil
}
