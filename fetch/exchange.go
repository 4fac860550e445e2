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

// exchange is one request on its way. Its steps run in the caller's goroutine;
// what is guarded by mu is also used by those of the connection.
type exchange struct {
	client  *Client
	req     Request
	result  *Result
	target  guard.Target
	watch   *watch
	pulse   *pulse
	heads   *heads   // if the exchange is archived
	codings []coding // of the body, in the order they were applied

	mu      sync.Mutex
	over    bool      // no byte of the request may leave any more
	started bool      // one may have left
	refused error     // why none may
	begun   time.Time // the writing
	sent    time.Time
	first   time.Time // of the first byte of the answer
}

// run makes the exchange and fills the result.
func (x *exchange) run(ctx context.Context) error {
	if err := x.req.validate(); err != nil {
		return err
	}
	ctx, x.pulse = newPulse(ctx, x.req.Slow)
	defer x.pulse.end()
	if err := x.admit(ctx); err != nil {
		return err
	}
	x.pulse.beat()
	x.result.hold = x.client.budget.open()
	// Most bodies never need more, so that most waiting is done here, where no
	// server waits with us.
	if err := x.result.hold.grow(ctx, leastBuffer, x.pulse.pause, x.pulse.resume); err != nil {
		return x.stopped(err)
	}
	if x.req.Wire != nil {
		x.heads = newHeads(x.client.cfg.MaxHeader)
	}
	err := x.talk(ctx)
	x.pulse.stop()
	if x.heads != nil {
		x.hand(err)
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

// admit decides whether the host may be asked at all.
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

// stopped is the error of an exchange that the caller ended.
func (x *exchange) stopped(err error) error {
	return fmt.Errorf("fetch %s: %w", x.req.URL.Host(), err)
}

// failed completes an *Error, unless the caller ended the exchange meanwhile.
// Other errors are the caller's own.
func (x *exchange) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return x.stopped(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Host = x.req.URL.Host()
	}
	return err
}

// maxBody is the bound of this exchange's body.
func (x *exchange) maxBody() int64 {
	if x.req.MaxBody > 0 {
		return x.req.MaxBody
	}
	return x.client.cfg.MaxBody
}

// talk sends the request and reads the body as it was sent, on a connection
// that works.
func (x *exchange) talk(ctx context.Context) error {
	var scarce guard.Scarce
	for {
		x.pulse.pause()
		conn, err := x.client.pool.take(ctx, x.req.URL.Host())
		x.pulse.resume()
		if err != nil {
			return x.stopped(err)
		}
		err = x.talkOn(ctx, conn)
		if err == nil {
			return nil
		}
		if scarce.Again(ctx, err) { // nothing was sent: there was no socket
			x.client.pool.relieve()
			continue
		}
		if why := conn.shared.refusal(); why != nil {
			return x.stopped(why)
		}
		// A kept connection that died before a byte was written is nobody's
		// fault and nobody's request; each try uses one such connection up.
		e, ok := errors.AsType[*Error](err)
		if !ok || !x.result.Timing.Reused || !x.result.Timing.Sent.IsZero() || e.Reason == Timeout || ctx.Err() != nil {
			return x.failed(ctx, err)
		}
	}
}

// talkOn uses one connection, which it gives back.
func (x *exchange) talkOn(ctx context.Context, conn *conn) error {
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

	if ctx.Err() != nil { // net/http would look only after it has sent
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
	x.expect(conn.wire == nil)
	if conn.wire != nil {
		conn.wire.seen.Store(x)
		defer conn.wire.seen.Store(nil)
	}
	resp, err := x.ask(ctx, conn)
	if err != nil {
		return err
	}
	// Reading the body to its end frees the connection; without that, closing
	// the body closes the connection too.
	defer resp.Body.Close()
	err = x.answer(ctx, resp)
	timing.Total = timing.Send + time.Since(timing.Sent)
	if err != nil && !x.statusDecides(err) {
		return err
	}
	whole := err == nil && !x.result.Cut
	reusable = whole && conn.cc.Err() == nil && (conn.wire == nil || !resp.Close && conn.cc.Available() > 0)
	return nil
}

// ask sends the request and waits for the header of the answer.
func (x *exchange) ask(ctx context.Context, conn *conn) (*http.Response, error) {
	http2 := conn.wire == nil
	if http2 {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteHeaderField:     func(string, []string) { x.mark(&x.begun) }, // the first is encoded right before all are written
			WroteHeaders:         x.left,
			GotFirstResponseByte: x.answered,
		})
	}
	x.watch.enter(PhaseHeader)
	x.pulse.beat()
	req := x.client.httpRequest(ctx, &x.req)
	resp, err := conn.cc.RoundTrip(req)
	answered, refused := x.asked()
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

// answer takes the header into the result and reads the body.
func (x *exchange) answer(ctx context.Context, resp *http.Response) error {
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
	x.pulse.beat()
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

// errorPage bounds the body of an answer whose status alone decides.
const errorPage = 256 << 10

// decisive reports whether the status says it all, so that a body too long or
// broken does not hide it: a refusal is a refusal.
func (r *Result) decisive() bool {
	return r.Status >= 300 && r.Status != http.StatusSwitchingProtocols
}

// statusDecides keeps the error beside an answer whose status says it all.
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

// expect makes the exchange ready to send. HTTP/2 does not ask begin: what
// goes wrong there may always have been sent.
func (x *exchange) expect(http2 bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over, x.started, x.refused, x.begun = false, http2, nil, time.Time{}
	if x.heads != nil {
		x.heads.reset()
	}
}

// notSent is the error of a request that its caller called back.
func (x *exchange) notSent(err error) error { return x.stopped(fmt.Errorf("not sent: %w", err)) }

// confirm asks the caller for the last time, before the first byte on an HTTP/1
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

// begin is asked before bytes leave on an HTTP/1 connection.
func (x *exchange) begin(p []byte) bool {
	x.confirm()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over && !x.started {
		x.started, x.begun = true, time.Now()
	}
	if !x.over && x.heads != nil {
		x.heads.write(p) // now, because the answer may overtake the word that they left
	}
	return !x.over
}

// read is told what has come on an HTTP/1 connection.
func (x *exchange) read(p []byte) {
	x.answered()
	if x.heads != nil {
		x.heads.read(p)
	}
}

// left notes that the request has left, and tells whoever asked to know.
func (x *exchange) left() {
	if at, first := x.mark(&x.sent); first && x.req.Sent != nil {
		x.req.Sent(at)
	}
}

// answered notes that an answer has begun.
func (x *exchange) answered() {
	if at, first := x.mark(&x.first); first && x.req.Answered != nil {
		x.req.Answered(at)
	}
}

// mark sets a time if it is not set yet.
func (x *exchange) mark(t *time.Time) (at time.Time, first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if first = t.IsZero(); first {
		*t = time.Now()
	}
	return *t, first
}

// asked ends the sending, takes the marks into the result and tells whether a
// byte of the answer has come, and whether the caller called the request back. The
// answer, or the end, may have overtaken the word that the request has left.
func (x *exchange) asked() (answered bool, refused error) {
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
