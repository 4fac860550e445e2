package fetch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"headway/fetch/guard"
)

// Reason says why there is no usable response. The set is closed; the names are the
// reason codes of visits.
type Reason string

// The reasons. The last two mean that the host was not contacted.
const (
	DNS         Reason = "dns"
	Connect     Reason = "connect"      // no connection, or it ended before a response
	TLS         Reason = "tls"          // certificate or handshake failure
	Timeout     Reason = "timeout"      // one of the timeouts
	TooLarge    Reason = "too_large"    // header or body over its limit, as sent or decompressed
	Truncated   Reason = "truncated"    // the response ended early
	BadEncoding Reason = "bad_encoding" // an unsupported or broken content coding
	Protocol    Reason = "protocol"     // invalid HTTP

	PrivateAddress Reason = "private_address"
	BadPort        Reason = "bad_port"
)

// Skipped reports whether the reason is that the host must not be contacted.
func (r Reason) Skipped() bool { return r == PrivateAddress || r == BadPort }

// Phase is how far an exchange got.
type Phase string

// The phases in their order.
const (
	PhaseLookup  Phase = "lookup"
	PhaseConnect Phase = "connect"
	PhaseTLS     Phase = "handshake"
	PhaseHeader  Phase = "header"
	PhaseBody    Phase = "body"
	PhaseDecode  Phase = "decoding"
)

// Error reports an exchange without a usable response.
type Error struct {
	Reason Reason
	Phase  Phase
	Host   string // in the form of weburl: scheme, host, port
	// Local says that the cause may be on our side: no route, no file descriptor, no
	// name server responding.
	Local bool
	// Stale says that a kept-alive connection was dead when the request was sent on
	// it. The server has probably not seen the request, but that is not certain.
	Stale bool
	Err   error
}

// Error describes the failure in one line without control characters.
func (e *Error) Error() string {
	return fmt.Sprintf("fetch %s: %s: %s: %s", e.Host, e.Reason, e.Phase, printable(e.Err.Error()))
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// TimeoutError reports which timeout expired.
type TimeoutError struct {
	What  string
	Limit time.Duration
}

// Error names the timeout.
func (e *TimeoutError) Error() string { return e.What + " " + e.Limit.String() }

// Timeout is true; it implements net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// maxErrorText bounds how much of an underlying error is repeated.
const maxErrorText = 300

// printable makes untrusted text safe for a log or a terminal.
func printable(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// ErrOverBudget is the error behind a [TooLarge] body that exceeded only
// [Request.MaxSent].
var ErrOverBudget = fmt.Errorf("%w for the budget", errBodyTooLarge)

// Errors of reading a response.
var (
	errBodyTooLarge = errors.New("body too large")
	errRatio        = errors.New("decompressed size over limit")
	errNotHTTP      = errors.New("server switched protocols")
)

// guardError classifies an error of the guard before or while connecting, or
// returns nil if the error is not from the guard.
func guardError(err error) *Error {
	if _, ok := errors.AsType[*guard.BlockedError](err); ok {
		return &Error{Reason: PrivateAddress, Phase: PhaseLookup, Err: err}
	}
	if errors.Is(err, guard.ErrBadPort) {
		return &Error{Reason: BadPort, Phase: PhaseLookup, Err: err}
	}
	if failure, ok := errors.AsType[*guard.DNSError](err); ok {
		return &Error{Reason: DNS, Phase: PhaseLookup, Err: err, Local: failure.Kind == guard.Timeout || failure.Kind == guard.Unreachable}
	}
	return nil
}

// dialError classifies a failure before the request could be sent.
func dialError(err error, phase Phase) *Error {
	if e := guardError(err); e != nil {
		return e
	}
	e := &Error{Reason: Connect, Phase: phase, Err: err, Local: isLocal(err)}
	switch {
	case isTimeout(err):
		e.Reason = Timeout
	case phase == PhaseTLS:
		e.Reason = TLS
	}
	return e
}

// headerError classifies a failure between sending the request and the end of the
// response header. answered reports whether a byte of the response had arrived.
func headerError(err error, answered, reused bool) *Error {
	e := &Error{Reason: Protocol, Phase: PhaseHeader, Err: err}
	text := err.Error()
	switch {
	case isTimeout(err):
		e.Reason = Timeout
	case isHeaderTooLarge(text):
		e.Reason = TooLarge
	case isCut(err) || strings.Contains(text, "server closed idle connection"):
		e.Reason = Truncated
		if !answered {
			e.Reason, e.Stale = Connect, reused
		}
	case !answered && (strings.Contains(text, "GOAWAY") || strings.Contains(text, "REFUSED_STREAM")):
		// HTTP/2 server closed the connection as the request was sent.
		e.Reason, e.Stale = Connect, reused
	}
	return e
}

// isHeaderTooLarge matches the error text: net/http has no error value for this,
// neither for HTTP/1 nor for HTTP/2.
func isHeaderTooLarge(text string) bool {
	return strings.Contains(text, "server response headers exceeded") ||
		strings.Contains(text, "header list larger than advertised limit") ||
		strings.Contains(text, "header list too large")
}

// bodyError classifies a failure while the body was read.
func bodyError(err error) *Error {
	e := &Error{Reason: Protocol, Phase: PhaseBody, Err: err}
	text := err.Error()
	switch {
	case errors.Is(err, errBodyTooLarge) || isHeaderTooLarge(text):
		e.Reason = TooLarge
	case isTimeout(err):
		e.Reason = Timeout
	case isCut(err):
		e.Reason = Truncated
	case strings.HasPrefix(text, "stream error") && !strings.Contains(text, "PROTOCOL_ERROR"),
		strings.Contains(text, "GOAWAY"):
		e.Reason = Truncated // an HTTP/2 stream reset
	}
	return e
}

// isCut reports whether a connection ended early.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

// isLocal reports whether an error is caused by this machine, not the host.
func isLocal(err error) bool {
	for _, local := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.ENOBUFS,
	} {
		if errors.Is(err, local) {
			return true
		}
	}
	return false
}
