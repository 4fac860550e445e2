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

// Request is what to ask for.
type Request struct {
	URL weburl.URL
	// Method is GET or HEAD; empty means GET.
	Method string

	// ETag and LastModified are those of a copy we have, as the server gave
	// them; the answer may then be 304.
	ETag, LastModified string

	// Owned says that the operator vouches for the host. Hosts inside the
	// guard's allowed ranges count as owned without it.
	Owned bool
	// Secrets are sent if URL is on the host they are for. Having them for a
	// host that is not owned is an error.
	Secrets Secrets

	// MaxBody replaces the client's bound if it is not 0.
	MaxBody int64
	// MaxSent bounds a body as it is sent, where that is less than MaxBody and not
	// 0: what is left of a budget. A longer body fails with [ErrOverBudget].
	MaxSent int64
	// CutBody keeps the first MaxBody bytes of a longer body instead of
	// failing; [Result.Cut] tells.
	CutBody bool
	// Timeout replaces the client's bound of the whole exchange if it is not 0.
	Timeout time.Duration

	// BeforeSend is called last before the request is handed to a connection, and
	// on HTTP/1 once more right before its first byte: the process may have been
	// stopped in between. It must not block. An error ends the exchange with nothing
	// sent, and is returned wrapped.
	BeforeSend func() error
	// Fence is asked before bytes leave on a connection that requests share, as
	// HTTP/2 does, that of the request which came there last, whosever the bytes are:
	// there the last word before the first byte of a request cannot be its own. It
	// must not block. An error closes the connection and ends all exchanges on it;
	// they may have been sent, and return it wrapped.
	Fence func() error
	// Sent is called once, at the moment that becomes [Timing.Sent], while the
	// exchange goes on; it must not block. It may be overtaken by the end of
	// [Client.Do], and is not called for a request that was never seen to leave.
	Sent func(at time.Time)
	// Answered is called once per exchange, when the first byte of its answer has
	// come; it must not block.
	Answered func(at time.Time)
	// Slow is called when the exchange has made no progress for a second: no
	// address, no connection, no header, hardly any body. It is called at most once
	// per exchange, which goes on meanwhile; it may block. An error ends the
	// exchange, and is returned wrapped.
	Slow func() error
	// Looking is called with true when the host's name must be looked up first,
	// and with false when that has ended. The exchange waits for it to return.
	Looking func(looking bool)
	// Wire is called with each exchange that brought the head of an answer, after
	// the body was read and before it is unfolded, also when the exchange failed
	// there; not when the caller ended it. The result holds what is known so far.
	// Neither it nor what the Wire holds may be used after the call, for which
	// the exchange waits; the connection is free by then.
	Wire func(r *Result, w *Wire)
}

// validate refuses what no caller should ask.
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

// dialAddr is the host and port to connect to.
func dialAddr(u weburl.URL) string {
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(u.Port())))
}

// httpRequest builds the request in the form of net/http. The path goes out
// byte for byte: weburl has decided how it is written.
func (c *Client) httpRequest(ctx context.Context, r *Request) *http.Request {
	u := r.URL
	host := strings.TrimPrefix(u.Host(), u.Scheme()+"://")
	target := &url.URL{Scheme: u.Scheme(), Host: dialAddr(u), Opaque: u.Path(), RawQuery: u.Query()}
	if strings.HasPrefix(target.Opaque, "//") {
		// net/http would take the path for a host; the absolute form says the same.
		target.Opaque = "//" + host + target.Opaque
	}
	header := c.header
	if r.ETag != "" || r.LastModified != "" || r.Secrets.isFor(u) {
		header = maps.Clone(header)
	}
	// Validators come from servers: one that cannot be sent back is not sent.
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
