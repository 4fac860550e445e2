package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Wire is an exchange as sent over the network, for archiving.
type Wire struct {
	// Request and Response are the headers, each with its final empty line. Over
	// HTTP/1 they are the exact bytes of the connection, without interim responses
	// (1xx). Over HTTP/2 they are written as HTTP/1.1 equivalents.
	Request, Response []byte
	// Body is the body as it was sent, with its content codings and without
	// transfer framing.
	Body []byte
	// Cut says that Body was truncated at a limit; Err, that it is incomplete for
	// another reason.
	Cut bool
	Err error
	// Hidden names the fields that were removed from the headers: secrets, and
	// cookies set by a host that received secrets.
	Hidden []string
}

// cookieFields may contain what a host returns for our secrets.
var cookieFields = []string{"Set-Cookie", "Set-Cookie2"}

// heads records the request and response headers of an exchange. Response headers
// larger than net/http accepts are not kept.
type heads struct {
	mu                sync.Mutex
	request, response []byte
	asked, answered   bool // the header is complete
	max               int
	closed            bool
}

// newHeads returns heads for response headers of up to maxHeader bytes. One read may
// contain more than the header.
func newHeads(maxHeader int64) *heads { return &heads{max: 2 * int(maxHeader)} }

// reset starts over, on another connection.
func (h *heads) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.request, h.asked, h.response, h.answered = h.request[:0], false, h.response[:0], false
}

// write records bytes sent on an HTTP/1 connection.
func (h *heads) write(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.asked {
		return // requests have no body
	}
	h.request = append(h.request, p...)
	if end := headEnd(h.request); end > 0 {
		h.asked = true
		h.request = h.request[:end]
	}
}

// read records bytes received on an HTTP/1 connection.
func (h *heads) read(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.answered || len(h.response) > h.max {
		return
	}
	h.response = append(h.response, p...)
	for end := headEnd(h.response); end > 0; end = headEnd(h.response) {
		if !isInterim(h.response) {
			h.answered = true
			h.response = h.response[:end]
			return
		}
		h.response = h.response[end:]
	}
}

// exchange records the headers of an HTTP/2 exchange.
func (h *heads) exchange(req *http.Request, resp *http.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", req.Method, req.URL.RequestURI(), req.Host)
	// Writing to a bytes.Buffer does not fail.
	_ = req.Header.Write(&b)
	b.WriteString("\r\n")
	h.request, h.asked = bytes.Clone(b.Bytes()), true
	b.Reset()
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", resp.Status)
	_ = resp.Header.Write(&b)
	b.WriteString("\r\n")
	h.response, h.answered = b.Bytes(), true
}

// close stops recording and returns the result without secrets. ok is false unless
// both headers are complete.
func (h *heads) close(secrets []string) (w Wire, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	w = Wire{Request: h.request, Response: h.response}
	if len(secrets) > 0 {
		w.Request = w.without(w.Request, secrets)
		w.Response = w.without(w.Response, cookieFields)
	}
	return w, h.asked && h.answered
}

// archive passes the exchange to Request.Wire before the body is decompressed. An
// exchange that the caller cancelled is left out.
func (x *exchange) archive(err error) {
	r := x.result
	var secrets []string
	if x.req.Secrets.isFor(x.req.URL) {
		secrets = x.req.Secrets.names
	}
	w, ok := x.heads.close(secrets)
	if _, answered := errors.AsType[*Error](err); !ok || r.Status == 0 || err != nil && !answered {
		return
	}
	if r.buf != nil {
		w.Body = r.buf.data[:r.WireBytes]
	}
	w.Cut, w.Err = r.Cut, err
	if err == nil {
		w.Err = r.BodyErr
	}
	x.req.Wire(r, &w)
}

// headEnd returns the length of the header at the start of p, with its empty line, or
// 0 if it is incomplete. Lines may end without CR, as net/http allows.
func headEnd(p []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(p[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		switch rest := p[i:]; {
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return i + 2
		case bytes.HasPrefix(rest, []byte("\n")):
			return i + 1
		}
	}
}

// isInterim reports whether a head is a 1xx response; 101 is final.
func isInterim(head []byte) bool {
	_, status, ok := bytes.Cut(head, []byte(" "))
	return ok && len(status) >= 3 && status[0] == '1' && string(status[:3]) != "101"
}

// without returns a header without the named fields, including their continuation
// lines, and records those that were removed.
func (w *Wire) without(head []byte, names []string) []byte {
	var kept []byte
	dropping := false
	for line := range bytes.Lines(head) {
		if dropping && (line[0] == ' ' || line[0] == '\t') {
			continue
		}
		name, _, field := bytes.Cut(line, []byte(":"))
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, string(bytes.TrimSpace(name))) })
		if dropping = field && i >= 0; !dropping {
			kept = append(kept, line...)
		} else if !slices.Contains(w.Hidden, names[i]) {
			w.Hidden = append(w.Hidden, names[i])
		}
	}
	return kept
}
