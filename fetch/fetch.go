// Package fetch makes one HTTP exchange: a request to one address and no
// other, and its answer within every bound.
//
// It is the fifth stop of a URL's journey. The caller has decided that a host
// may be asked now; [Client.Do] asks, once, and reports what came back, when
// the request left and how long everything took. It never follows a redirect:
// the target is a link and begins its own journey. Only [Client.Robots] follows
// up to five, each guarded like the first.
//
// Promises: connections go through [headway/fetch/guard] and nowhere else; one
// call of Do puts at most one request on the wire, also when a kept connection
// turns out to be dead; time, header size, body size (as sent and unfolded),
// open connections and the memory of all bodies together are bounded by named
// settings; a body that was cut short is an error, and its connection is not
// used again; whatever fails is an [*Error] with a reason from a closed set;
// text from the web is quoted before it stands in an error.
//
// Refusals: no cookies are kept, no proxy is used, the User-Agent names us and
// a contact and cannot be replaced, public hosts are not asked without that
// contact, and secrets go to the one owned host they are for.
package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"headway/fetch/guard"
)

// Config sets up a [Client]. Every zero setting has the default named beside
// it. The timeout for connecting is the guard's.
type Config struct {
	// Dialer opens the connections. It is required.
	Dialer *guard.Dialer
	// Identity is who we say we are.
	Identity Identity

	// TLSTimeout bounds the handshake; 10 s.
	TLSTimeout time.Duration
	// HeaderTimeout bounds the wait for the answer's header, from the request
	// on; 30 s.
	HeaderTimeout time.Duration
	// IdleTimeout bounds the wait for the next piece of a body; 15 s.
	IdleTimeout time.Duration
	// Timeout bounds the whole exchange from dialling to the body's end; 60 s.
	Timeout time.Duration
	// LeastRate is the slowest body in bytes per second that is read for
	// longer than LeastRateAfter; 1 KiB and 10 s.
	LeastRate      int64
	LeastRateAfter time.Duration

	// MaxHeader bounds the answer's header in bytes, interim answers (1xx)
	// included; 256 KiB.
	MaxHeader int64
	// MaxBody bounds a body in bytes, as sent and unfolded; 10 MiB.
	MaxBody int64
	// MaxRatio bounds how far a body may unfold, once it has unfolded to
	// RatioAfter bytes; 200 and 1 MiB.
	MaxRatio   int64
	RatioAfter int64
	// BodyMemory bounds the bodies of all exchanges together, until their
	// results are closed; further ones wait; 256 MiB.
	BodyMemory int64
	// Decoders is how many bodies may be unfolded at once; the number of CPUs.
	Decoders int

	// MaxConns bounds open connections, idle ones included, over all hosts;
	// the one that idles longest makes room, plain http first. 8,192, or as many
	// as there are descriptors for.
	MaxConns int
	// IdleMemory bounds what idle connections hold, each taken at what its kind
	// is known to need. TLS sessions follow it. 128 MiB.
	IdleMemory int64
	// MaxConnsPerHost bounds them for one host; 256.
	MaxConnsPerHost int
	// KeepAlive is how long an idle connection is kept; 60 s.
	KeepAlive time.Duration

	// DisableHTTP2 keeps to HTTP/1.1.
	DisableHTTP2 bool
	// RootCAs are the authorities that certificates are checked against; nil
	// means the system's.
	RootCAs *x509.CertPool
}

// withDefaults returns a copy in which every zero setting has its default.
func (c Config) withDefaults() Config {
	c.Identity = c.Identity.withDefaults()
	c.TLSTimeout = cmp.Or(c.TLSTimeout, 10*time.Second)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 15*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 60*time.Second)
	c.LeastRate = cmp.Or(c.LeastRate, 1<<10)
	c.LeastRateAfter = cmp.Or(c.LeastRateAfter, 10*time.Second)
	c.MaxHeader = cmp.Or(c.MaxHeader, 256<<10)
	c.MaxBody = cmp.Or(c.MaxBody, 10<<20)
	c.MaxRatio = cmp.Or(c.MaxRatio, 200)
	c.RatioAfter = cmp.Or(c.RatioAfter, 1<<20)
	c.BodyMemory = cmp.Or(c.BodyMemory, 256<<20)
	c.Decoders = cmp.Or(c.Decoders, runtime.GOMAXPROCS(0))
	c.MaxConns = cmp.Or(c.MaxConns, 8192)
	c.IdleMemory = cmp.Or(c.IdleMemory, 128<<20)
	c.MaxConnsPerHost = cmp.Or(c.MaxConnsPerHost, 256)
	c.KeepAlive = cmp.Or(c.KeepAlive, time.Minute)
	return c
}

// validate joins all problems and names their fields.
func (c Config) validate() error {
	var errs []error
	if c.Dialer == nil {
		errs = append(errs, errors.New("a Dialer is missing"))
	}
	if err := c.Identity.validate(); err != nil {
		errs = append(errs, err)
	}
	for name, v := range map[string]int64{
		"TLSTimeout": int64(c.TLSTimeout), "HeaderTimeout": int64(c.HeaderTimeout), "IdleTimeout": int64(c.IdleTimeout),
		"Timeout": int64(c.Timeout), "LeastRate": c.LeastRate, "LeastRateAfter": int64(c.LeastRateAfter), "MaxHeader": c.MaxHeader,
		"MaxBody": c.MaxBody, "MaxRatio": c.MaxRatio, "RatioAfter": c.RatioAfter, "BodyMemory": c.BodyMemory, "Decoders": int64(c.Decoders),
		"MaxConns": int64(c.MaxConns), "MaxConnsPerHost": int64(c.MaxConnsPerHost), "KeepAlive": int64(c.KeepAlive), "IdleMemory": c.IdleMemory,
	} {
		if v < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative", name))
		}
	}
	return errors.Join(errs...)
}

// Client makes exchanges. It is safe for concurrent use; close it when done.
type Client struct {
	cfg      Config
	header   http.Header // what every request says; never changed
	pool     *pool
	budget   *budget
	buffers  *buffers
	decoders *decoders
	counters counters
}

// New returns a Client for cfg.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("fetch config: %w", err)
	}
	return &Client{
		cfg:      cfg,
		header:   baseHeader(cfg.Identity),
		pool:     newPool(cfg),
		budget:   newBudget(cfg.BodyMemory),
		buffers:  &buffers{},
		decoders: newDecoders(cfg.Decoders),
	}, nil
}

// Close closes the idle connections. Exchanges under way end by their context.
func (c *Client) Close() { c.pool.close() }

// Sever closes all connections at once, also those in use: whatever was about to
// leave on one of them does not. New exchanges dial anew.
func (c *Client) Sever() { c.pool.sever() }

// Do makes one exchange. The Result is never nil: without an error it must be
// closed, beside one it is closed already and holds what was learned before.
// The error is an [*Error], a refusal ([*NoContactError], [*NotOwnedError]), or
// the cause of ctx's end.
//
// Do may wait for a place before it dials: for a lookup, for body memory, for
// a connection, for a descriptor. Such waits end with ctx and count against no
// timeout; that for a descriptor ends after a minute.
func (c *Client) Do(ctx context.Context, req Request) (*Result, error) {
	x := &exchange{client: c, req: req, result: &Result{URL: req.URL}}
	err := x.run(ctx)
	c.counters.count(x.result, err)
	if err != nil {
		x.result.Close()
	}
	return x.result, err
}
