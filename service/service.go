package service

import (
	"cmp"
	"context"
	"crypto/x509"
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

	"headway/fetch/guard"
	"headway/internal/archive"
	"headway/internal/config"
	"headway/service/internal/api"
	"headway/service/internal/chore"
	"headway/service/internal/export"
	"headway/service/internal/proof"
	"headway/service/internal/webhook"
	"headway/store/postgres"
)

// The default address, and the default rate limit of each key in requests per
// second.
const (
	DefaultListen = "127.0.0.1:8788"
	DefaultRate   = 50
)

// Bounds of connections and requests.
const (
	maxConns   = 2048             // concurrent; more wait in the backlog of the system
	maxHeader  = 16 << 10         // bytes
	headerTime = 5 * time.Second  // to send it
	readTime   = 30 * time.Second // to send all of a request
	writeTime  = 60 * time.Second // to read a response; streams have their own timeouts
	idleTime   = 2 * time.Minute  // between two requests
	stopTime   = 10 * time.Second // graceful shutdown: for requests in flight
	readyTime  = 2 * time.Second  // for the database to respond
	burst      = 4                // seconds' worth of a key's rate that may be sent in a burst
)

// Config is how a service runs.
type Config struct {
	Store *postgres.Store
	// Listen is an address and port of this machine; empty means DefaultListen.
	Listen string
	// NoKeys answers requests without a key. The listener must be on loopback.
	NoKeys bool
	// Settings applies the settings of a job on top of the server's.
	Settings func(config.Asked) (*config.Settings, error)
	// Rate is how many requests a second each key may send to this server; 0
	// means DefaultRate. Bursts of a few seconds' worth of requests are allowed.
	Rate float64
	// Webhooks guards the network access of webhooks. Ranges in its AllowPrivate
	// may be sent to, also over plain http.
	Webhooks guard.Config
	// Exports is where exports are written; the zero value disables them.
	Exports Exports
	// Archive is the archive of the workers, for raw responses; nil for none.
	Archive *archive.Archive
	// Observe, when not nil, is called for each request: the operation of the API,
	// the status and how long it took, 0 for a stream.
	Observe func(operation string, status int, took time.Duration)
	// Version is the version of the program, for reports.
	Version string
	Log     *slog.Logger // nil for none
	// Listening, when not nil, is called with the address once requests are accepted.
	Listening func(net.Addr)
}

// Exports is where exports are written.
type Exports struct {
	To    string         // a folder, or s3://BUCKET/PREFIX; empty for none
	Guard guard.Config   // guards the network access to S3
	Roots *x509.CertPool // trusted roots for S3; nil for those of the system
}

// Run serves the API and runs the background jobs (webhooks,
// schedules, exports, retention) until ctx ends; then it lets requests in flight
// finish.
func Run(ctx context.Context, c Config) error {
	c.Listen, c.Log = cmp.Or(c.Listen, DefaultListen), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if err := c.check(); err != nil {
		return err
	}
	workers, err := chore.Open(ctx, chore.Config{
		Store: c.Store, Archive: c.Archive, Log: c.Log,
		Webhook: webhook.Config{Guard: c.Webhooks, Log: c.Log},
		Export:  export.Config{To: c.Exports.To, Guard: c.Exports.Guard, Roots: c.Exports.Roots, Log: c.Log},
	})
	if err != nil {
		return err
	}
	defer workers.Close()
	var from net.ListenConfig
	l, err := from.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", c.Listen, err)
	}
	return serve(ctx, c, l, workers)
}

// choreRunner runs the background jobs.
type choreRunner interface {
	api.Chores
	Run(ctx context.Context) error
}

// check reports an address at which a service must not listen.
func (c *Config) check() error {
	at, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen at %q: %w", c.Listen, ErrAddress)
	}
	if c.NoKeys && !at.Addr().IsLoopback() {
		return fmt.Errorf("listen at %s without keys: %w", c.Listen, ErrOpen)
	}
	return nil
}

// ErrAddress says that the address to listen on is invalid.
var ErrAddress = errors.New("not an IP address and port")

// ErrOpen says that a service would be reachable from other machines without
// requiring a key.
var ErrOpen = errors.New("only a loopback address is allowed")

// serve answers on a listener while the background jobs run. If one of the two ends by
// itself, so does the other: a service that does half of its work would look healthy.
func serve(ctx context.Context, c Config, l net.Listener, chores choreRunner) error {
	rate := cmp.Or(c.Rate, DefaultRate)
	prover, err := proof.New(c.Webhooks, c.Exports.Roots)
	if err != nil {
		return err
	}
	var raw api.Archive
	if c.Archive != nil {
		raw = c.Archive
	}
	a := api.New(api.Config{
		Archive: raw, Store: c.Store, Chores: chores, Prover: prover, Private: c.Webhooks.AllowPrivate, Settings: c.Settings, Anonymous: c.NoKeys,
		Rate: api.Rate{PerSecond: rate, Burst: max(1, int(rate*burst))}, Observe: c.Observe, Version: c.Version, Log: c.Log,
	})
	h := &health{store: c.Store}
	server := &http.Server{
		Handler:           api.WithRequestID(h.withHealth(a.Handler())),
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	// Requests in flight outlive the order to stop; event listeners do not.
	working, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(working); err != nil {
			c.Log.ErrorContext(ctx, "event listener failed", "err", err)
		}
	})
	choresEnded := make(chan error, 1)
	wg.Go(func() { choresEnded <- chores.Run(working) })
	defer wg.Wait()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(l, maxConns)) }()
	if c.Listening != nil {
		c.Listening(l.Addr())
	}
	var failed error
	select {
	case err := <-ended:
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	case err := <-choresEnded:
		if ctx.Err() == nil {
			failed = fmt.Errorf("background jobs (webhooks, schedules, exports) stopped: %w", err)
			stop()
		}
	case <-ctx.Done():
	}
	h.stopping.Store(true)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err = server.Shutdown(last)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests in flight did not finish in time: %w", err), server.Close())
	}
	<-ended
	return errors.Join(failed, err)
}

// health answers health checks.
type health struct {
	store    *postgres.Store
	stopping atomic.Bool
}

// withHealth answers /livez and /readyz, without a key, and passes the rest to next.
func (h *health) withHealth(next http.Handler) http.Handler {
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

// ready reports why no request should be sent here.
func (h *health) ready(ctx context.Context) error {
	if h.stopping.Load() {
		return errors.New("stopping")
	}
	return Answers(ctx, h.store)
}

// LogRequestIDs returns a logger that adds request_id to each line about a request. The
// service does so with its own log; this is for the log of its store.
func LogRequestIDs(log *slog.Logger) *slog.Logger { return api.LogRequestIDs(log) }

// Answers reports an error if the database does not respond in time.
func Answers(ctx context.Context, st *postgres.Store) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if _, err := st.JobList(ctx, 0, 0); err != nil {
		return errors.New("the database is not responding")
	}
	return nil
}
