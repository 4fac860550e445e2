package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"headway/fetch/guard"
)

// exchange is one request in progress. Its steps run in the caller's goroutine;
// fields guarded by mu are also used by the goroutines of the connection.
type exchange struct {
	client  *Client
	req     Request
	result  *Result
	target  guard.Target
	watch   *watch
	stall   *stallDetector
	heads   *heads   // set if the exchange is archived
	codings []coding // of the body, in the order they were applied

	mu      sync.Mutex
	over    bool      // no more bytes of the request may be sent
	started bool      // bytes may have been sent
	refused error     // why nothing may be sent
	begun   time.Time // when writing started
	sent    time.Time
	first   time.Time // of the first byte of the response
}

// run performs the exchange and fills the result.
func (x *exchange) run(ctx context.Context) error {
	if err := x.req.validate(); err != nil {
		return err
	}
	ctx, x.stall = newStallDetector(ctx, x.req.Slow)
	defer x.stall.end()
	if err := x.admit(ctx); err != nil {
		return err
	}
	x.stall.progress()
	x.result.hold = x.client.budget.open()
	// Most bodies never need more, so most waiting for memory happens here, before
	// a server is involved.
	if err := x.result.hold.grow(ctx, leastBuffer, x.stall.pause, x.stall.resume); err != nil {
		return x.stopped(err)
	}
	if x.req.Wire != nil {
		x.heads = newHeads(x.client.cfg.MaxHeader)
	}
	err := x.roundTrip(ctx)
	x.stall.stop()
	if x.heads != nil {
		x.archive(err)
	}
	if err != nil {
		return err
	}
	if err := x.decode(ctx); err != nil {
		return x.failed(ctx, err)
	}
	x.result.Body = x.result.buf.data
	return nil
}

// admit decides whether the host may be contacted at all.
func (x *exchange) admit(ctx context.Context) error {
	u, c := x.req.URL, x.client
	if x.req.Looking != nil {
		ctx = guard.WatchLookup(ctx, x.req.Looking)
	}
	target, err := c.cfg.Dialer.Resolve(ctx, u.Hostname(), u.Port())
	if err != nil {
		if e := guardError(err); e != nil {
			return x.failed(ctx, e)
		}
		return x.stopped(err)
	}
	x.target = target
	x.result.Timing.DNS = target.Lookup()
	x.result.Owned = x.req.Owned || target.Private()
	if !x.result.Owned && c.cfg.Identity.Contact == "" {
		return &NoContactError{Host: u.Host()}
	}
	if !x.result.Owned && x.req.Secrets.isFor(u) {
		return &NotOwnedError{Host: u.Host()}
	}
	return nil
}

// stopped returns the error of an exchange that the caller cancelled.
func (x *exchange) stopped(err error) error {
	return fmt.Errorf("fetch %s: %w", x.req.URL.Host(), err)
}

// failed completes an *Error, unless the caller has cancelled the exchange. Other
// errors are returned as they are.
func (x *exchange) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return x.stopped(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Host = x.req.URL.Host()
	}
	return err
}

// maxBody is the body size limit of this exchange.
func (x *exchange) maxBody() int64 {
	if x.req.MaxBody > 0 {
		return x.req.MaxBody
	}
	return x.client.cfg.MaxBody
}

// roundTrip sends the request and reads the undecoded body, on a connection that works.
func (x *exchange) roundTrip(ctx context.Context) error {
	var scarce guard.DescriptorWait
	for {
		x.stall.pause()
		conn, err := x.client.pool.take(ctx, x.req.URL.Host())
		x.stall.resume()
		if err != nil {
			return x.stopped(err)
		}
		err = x.roundTripOn(ctx, conn)
		if err == nil {
			return nil
		}
		if scarce.Again(ctx, err) { // no socket available; nothing was sent
			x.client.pool.closeOldestIdle()
			continue
		}
		if why := conn.shared.refusal(); why != nil {
			return x.stopped(why)
		}
		// A kept-alive connection died before a byte was written, so nothing was sent:
		// retry. Each try removes one dead connection from the pool.
		e, ok := errors.AsType[*Error](err)
		if !ok || !x.result.Timing.Reused || !x.result.Timing.Sent.IsZero() || e.Reason == Timeout || ctx.Err() != nil {
			return x.failed(ctx, err)
		}
	}
}

// roundTripOn performs the exchange on one connection, which it returns to the pool.
func (x *exchange) roundTripOn(ctx context.Context, conn *conn) error {
	pool, timing := x.client.pool, &x.result.Timing
	reusable := false
	defer func() { pool.give(conn, reusable) }()

	limit := x.client.cfg.Timeout
	if x.req.Timeout > 0 {
		limit = x.req.Timeout
	}
	ctx, x.watch = newWatch(ctx, &x.client.cfg, limit)
	defer x.watch.stop()

	timing.Reused = conn.cc != nil
	if !timing.Reused {
		e := pool.dial(ctx, conn, x.req.URL, x.target)
		timing.Connect, timing.TLS = conn.info.connect, conn.info.tls
		if e != nil {
			return e
		}
	}
	x.result.Remote = conn.info.remote
	if conn.shared != nil {
		conn.shared.fence.Store(&x.req.Fence)
	}

	if ctx.Err() != nil { // net/http checks only after sending
		conn.cc.Release()
		return &Error{Reason: Timeout, Phase: PhaseConnect, Err: context.Cause(ctx)}
	}
	if x.req.BeforeSend != nil {
		if err := x.req.BeforeSend(); err != nil {
			conn.cc.Release()
			reusable = conn.cc.Err() == nil
			return x.notSent(err)
		}
	}
	x.prepareSend(conn.wire == nil)
	if conn.wire != nil {
		conn.wire.seen.Store(x)
		defer conn.wire.seen.Store(nil)
	}
	resp, err := x.sendRequest(ctx, conn)
	if err != nil {
		return err
	}
	// Reading the body to its end frees the connection; otherwise closing the body
	// closes the connection too.
	defer resp.Body.Close()
	err = x.readResponse(ctx, resp)
	timing.Total = timing.Send + time.Since(timing.Sent)
	if err != nil && !x.statusDecides(err) {
		return err
	}
	whole := err == nil && !x.result.Cut
	reusable = whole && conn.cc.Err() == nil && (conn.wire == nil || !resp.Close && conn.cc.Available() > 0)
	return nil
}

// sendRequest sends the request and waits for the response header.
func (x *exchange) sendRequest(ctx context.Context, conn *conn) (*http.Response, error) {
	http2 := conn.wire == nil
	if http2 {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteHeaderField:     func(string, []string) { x.mark(&x.begun) }, // the first field is encoded right before everything is written
			WroteHeaders:         x.requestSent,
			GotFirstResponseByte: x.answered,
		})
	}
	x.watch.enter(PhaseHeader)
	x.stall.progress()
	req := x.client.httpRequest(ctx, &x.req)
	resp, err := conn.cc.RoundTrip(req)
	answered, refused := x.endSending()
	if refused != nil {
		return nil, x.notSent(refused)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, headerError(err, answered, x.result.Timing.Reused)
	}
	if http2 && x.heads != nil {
		x.heads.exchange(req, resp)
	}
	return resp, nil
}

// readResponse copies the header into the result and reads the body.
func (x *exchange) readResponse(ctx context.Context, resp *http.Response) error {
	r := x.result
	r.Status, r.Proto, r.Header = resp.StatusCode, resp.Proto, resp.Header
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return &Error{Reason: Protocol, Phase: PhaseHeader, Err: errNotHTTP}
	}
	r.buf, r.buffers = x.client.buffers.get(leastBuffer), x.client.buffers
	hasBody := resp.Body != http.NoBody && x.req.method() != http.MethodHead
	if !hasBody {
		return nil
	}
	var err error
	if x.codings, err = readCodings(resp.Header["Content-Encoding"]); err != nil {
		return &Error{Reason: BadEncoding, Phase: PhaseHeader, Err: err}
	}
	x.watch.enter(PhaseBody)
	x.stall.progress()
	err = x.readBody(ctx, resp)
	r.WireBytes = int64(len(r.buf.data))
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return bodyError(err)
}

// errorPage limits the body of a response whose status alone decides.
const errorPage = 256 << 10

// decisive reports whether the status alone decides. An oversized or broken body
// must not hide it: a 429 stays a refusal.
func (r *Result) decisive() bool {
	return r.Status >= 300 && r.Status != http.StatusSwitchingProtocols
}

// statusDecides stores a body error in the result if the status alone decides.
func (x *exchange) statusDecides(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !x.result.decisive() {
		return false
	}
	e.Host = x.req.URL.Host()
	x.result.BodyErr = e
	x.result.buf.data = x.result.buf.data[:0]
	return true
}

// prepareSend prepares the exchange for sending. HTTP/2 does not call mayWrite: after a
// failure there, the request may always have been sent.
func (x *exchange) prepareSend(http2 bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over, x.started, x.refused, x.begun = false, http2, nil, time.Time{}
	if x.heads != nil {
		x.heads.reset()
	}
}

// notSent is the error of a request that BeforeSend stopped.
func (x *exchange) notSent(err error) error { return x.stopped(fmt.Errorf("not sent: %w", err)) }

// confirm calls BeforeSend again, right before the first byte on an HTTP/1
// connection.
func (x *exchange) confirm() {
	x.mu.Lock()
	first := !x.started && !x.over
	x.mu.Unlock()
	if !first || x.req.BeforeSend == nil {
		return
	}
	if err := x.req.BeforeSend(); err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.over, x.refused = true, err
	}
}

// mayWrite reports whether bytes may be written to an HTTP/1 connection.
func (x *exchange) mayWrite(p []byte) bool {
	x.confirm()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over && !x.started {
		x.started, x.begun = true, time.Now()
	}
	if !x.over && x.heads != nil {
		x.heads.write(p) // now: the response may arrive before the write is recorded
	}
	return !x.over
}

// read is called with bytes received on an HTTP/1 connection.
func (x *exchange) read(p []byte) {
	x.answered()
	if x.heads != nil {
		x.heads.read(p)
	}
}

// requestSent records that the request was sent, and calls Sent.
func (x *exchange) requestSent() {
	if at, first := x.mark(&x.sent); first && x.req.Sent != nil {
		x.req.Sent(at)
	}
}

// answered records the first byte of the response.
func (x *exchange) answered() {
	if at, first := x.mark(&x.first); first && x.req.Answered != nil {
		x.req.Answered(at)
	}
}

// mark sets t to now if it is not set yet.
func (x *exchange) mark(t *time.Time) (at time.Time, first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if first = t.IsZero(); first {
		*t = time.Now()
	}
	return *t, first
}

// endSending ends the sending phase and copies the times into the result. It reports
// whether a byte of the response has arrived, and why the request was stopped. The
// response or an error may have arrived before the sending was recorded.
func (x *exchange) endSending() (answered bool, refused error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	answered = !x.first.IsZero()
	if x.sent.IsZero() && x.started {
		x.sent = time.Now()
		if answered {
			x.sent = x.first
		}
	}
	timing := &x.result.Timing
	timing.Sent = x.sent
	if begun := cmp.Or(x.begun, x.sent); !x.sent.IsZero() {
		timing.Send = x.sent.Sub(begun)
		if answered {
			timing.FirstByte = max(x.first.Sub(begun), 1)
		}
	}
	return answered, x.refused
}
