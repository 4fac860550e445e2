// Package fetch performs one HTTP exchange: one request to one host, and its
// response within limits.
//
// The caller has decided that a host may be contacted now. [Client.Do] sends one
// request and reports the response, when the request was sent and how long each
// phase took. It never follows a redirect: the caller treats the target as a link.
// Only [Client.Robots] follows up to five redirects, each checked like the first.
//
// Guarantees: all connections go through [headway/fetch/guard]; one call of Do sends
// at most one request, even if a kept-alive connection turns out to be dead; settings
// limit time, header size, body size (as sent and decompressed), open connections and
// the memory of all bodies together; a truncated body is an error, and its connection
// is not reused; every failure is an [*Error] with a reason from a closed set; text
// from the web is quoted in errors.
//
// Not done: cookies are not stored, proxies are not used, the User-Agent always names
// us and a contact, public hosts are not contacted without a contact, and secrets are
// sent only to the one owned host they belong to.
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

// Config configures a [Client]. Zero settings have the default stated with each
// field. The connect timeout is a setting of the guard.
type Config struct {
	// Dialer opens the connections; nil for one that blocks private addresses.
	Dialer *guard.Dialer
	// Identity is what the User-Agent says.
	Identity Identity

	// TLSTimeout limits the handshake; 10 s.
	TLSTimeout time.Duration
	// HeaderTimeout limits the time from the request to the response header; 30 s.
	HeaderTimeout time.Duration
	// IdleTimeout limits the wait for the next part of a body; 15 s.
	IdleTimeout time.Duration
	// Timeout limits the whole exchange, from dialling to the end of the body; 60 s.
	Timeout time.Duration
	// LeastRate is the minimum rate of a body in bytes per second, enforced after
	// LeastRateAfter; 1 KiB and 10 s.
	LeastRate      int64
	LeastRateAfter time.Duration

	// MaxHeader limits the response header in bytes, interim responses (1xx)
	// included; 256 KiB.
	MaxHeader int64
	// MaxBody limits a body in bytes, as sent and decompressed; 10 MiB.
	MaxBody int64
	// MaxRatio limits the compression ratio of a body, once RatioAfter bytes are
	// decompressed; 200 and 1 MiB.
	MaxRatio   int64
	RatioAfter int64
	// BodyMemory limits the memory of all bodies until their results are closed;
	// further exchanges wait; 256 MiB.
	BodyMemory int64
	// Decoders is how many bodies may be decompressed at once; the number of CPUs.
	Decoders int

	// MaxConns limits open connections over all hosts, idle ones included. The
	// connection idle for longest is closed first, plain http before https. 8,192, or
	// fewer if file descriptors are short.
	MaxConns int
	// IdleMemory limits the estimated memory of idle connections. The TLS session
	// cache scales with it. 128 MiB.
	IdleMemory int64
	// MaxConnsPerHost limits connections per host; 256.
	MaxConnsPerHost int
	// KeepAlive is how long an idle connection is kept; 60 s.
	KeepAlive time.Duration

	// DisableHTTP2 restricts the client to HTTP/1.1.
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

// validate joins all problems, each with its field name.
func (c Config) validate() error {
	var errs []error
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

// Client performs exchanges. It is safe for concurrent use; close it when done.
type Client struct {
	cfg      Config
	header   http.Header // of every request; read-only
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
	if cfg.Dialer == nil {
		var err error
		if cfg.Dialer, err = guard.New(guard.Config{}); err != nil {
			return nil, err
		}
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

// Close closes idle connections. Running exchanges end with their context.
func (c *Client) Close() { c.pool.close() }

// Sever closes all connections at once, including those in use, so that nothing
// more is sent on them. New exchanges open new connections.
func (c *Client) Sever() { c.pool.sever() }

// Do performs one exchange. The Result is never nil: without an error the caller
// must close it; with an error it is already closed and holds what is known. The
// error is an [*Error], a refusal ([*NoContactError], [*NotOwnedError]), or the cause
// of the end of ctx.
//
// Do may wait before it dials: for a lookup, body memory, a connection or a file
// descriptor. Such waits end with ctx and do not count towards timeouts; the wait for
// a descriptor ends after a minute.
func (c *Client) Do(ctx context.Context, req Request) (*Result, error) {
	x := &exchange{client: c, req: req, result: &Result{URL: req.URL}}
	err := x.run(ctx)
	c.counters.count(x.result, err)
	if err != nil {
		x.result.Close()
	}
	return x.result, err
}
