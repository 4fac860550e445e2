package fetch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"headway/weburl"
)

// Request describes one request.
type Request struct {
	URL weburl.URL
	// Method is GET or HEAD; empty means GET.
	Method string

	// ETag and LastModified are the validators of a stored copy, as the server sent
	// them; the response may then be 304.
	ETag, LastModified string

	// Owned says that the operator declared the host as owned. Hosts in the guard's
	// allowed ranges count as owned without it.
	Owned bool
	// Secrets are sent if URL is on the host they belong to. Secrets for a host that
	// is not owned are an error.
	Secrets Secrets

	// MaxBody replaces the client's limit if it is not 0.
	MaxBody int64
	// MaxSent limits the body as sent, if it is less than MaxBody and not 0; it is
	// the rest of a byte budget. A longer body fails with [ErrOverBudget].
	MaxSent int64
	// CutBody keeps the first MaxBody bytes of a longer body instead of failing and
	// sets [Result.Cut].
	CutBody bool
	// Timeout replaces the client's timeout for the whole exchange if it is not 0.
	Timeout time.Duration

	// BeforeSend is called right before the request is passed to a connection, and
	// on HTTP/1 again right before its first byte, because the process may have been
	// suspended in between. It must not block. An error ends the exchange with nothing
	// sent, and is returned wrapped.
	BeforeSend func() error
	// Follow is called by [Client.Robots] before each redirect that it follows. It may
	// block. An error ends the chain and is returned wrapped.
	Follow func(ctx context.Context) error
	// Fence is called before bytes are written to a shared (HTTP/2) connection. The
	// Fence of the latest request on the connection is called for all bytes, because
	// bytes there cannot be attributed to one request. It must not block. An error
	// closes the connection and ends all exchanges on it; their requests may have been
	// sent, and they return the error wrapped.
	Fence func() error
	// Sent is called once, at the time that becomes [Timing.Sent], while the exchange
	// continues; it must not block. It may be called after [Client.Do] returns, and is
	// not called for a request that was not seen to be sent.
	Sent func(at time.Time)
	// Answered is called once per exchange, when the first byte of the response
	// arrives; it must not block.
	Answered func(at time.Time)
	// Slow is called when the exchange has made no progress for a second: no address,
	// no connection, no header, hardly any body. It is called at most once per
	// exchange, which continues meanwhile; it may block. An error ends the exchange,
	// and is returned wrapped.
	Slow func() error
	// Looking is called with true before a DNS lookup of the host and with false after
	// it. The exchange waits for it to return.
	Looking func(looking bool)
	// Wire is called with each exchange that received a response header, after the
	// body was read and before it is decompressed, also if the exchange failed there,
	// but not if the caller cancelled it. The result holds what is known so far. The
	// exchange waits for the call; the result and the Wire must not be used after it.
	// The connection is already free.
	Wire func(r *Result, w *Wire)
}

// validate rejects invalid requests.
func (r *Request) validate() error {
	if r.URL.IsZero() {
		return errors.New("fetch: request without a URL")
	}
	if r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return fmt.Errorf("fetch %s: method %q is neither GET nor HEAD", r.URL.Host(), r.Method)
	}
	if r.MaxBody < 0 || r.MaxSent < 0 || r.Timeout < 0 {
		return fmt.Errorf("fetch %s: MaxBody, MaxSent and Timeout must not be negative", r.URL.Host())
	}
	return nil
}

// dialAddr returns the host:port to connect to.
func dialAddr(u weburl.URL) string {
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(u.Port())))
}

// httpRequest builds the net/http request. The path is sent byte for byte as weburl
// wrote it.
func (c *Client) httpRequest(ctx context.Context, r *Request) *http.Request {
	u := r.URL
	host := strings.TrimPrefix(u.Host(), u.Scheme()+"://")
	target := &url.URL{Scheme: u.Scheme(), Host: dialAddr(u), Opaque: u.Path(), RawQuery: u.Query()}
	if strings.HasPrefix(target.Opaque, "//") {
		// net/http would read this path as a host; the absolute form avoids that.
		target.Opaque = "//" + host + target.Opaque
	}
	header := c.header
	if r.ETag != "" || r.LastModified != "" || r.Secrets.isFor(u) {
		header = maps.Clone(header)
	}
	// Validators come from servers: omit one that is not a valid field value.
	if r.ETag != "" && isFieldValue(r.ETag) {
		header["If-None-Match"] = []string{r.ETag}
	}
	if r.LastModified != "" && isFieldValue(r.LastModified) {
		header["If-Modified-Since"] = []string{r.LastModified}
	}
	if r.Secrets.isFor(u) {
		r.Secrets.add(header)
	}
	req := &http.Request{
		Method: r.method(), URL: target, Host: host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return req.WithContext(ctx)
}

func (r *Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}
