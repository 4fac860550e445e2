package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// ErrTapFull says that an exchange was larger than a tap takes.
var ErrTapFull = errors.New("exchange too large for the tap")

// tap copies the raw exchange to its writers while it happens; what they get is
// told at [Request.Tap]. It is bounded: an exchange larger than any that the
// other bounds let through ends it with ErrTapFull.
type tap struct {
	mu                sync.Mutex
	request, response io.Writer
	secret            []string // field names to leave out
	head              []byte   // of the message that is being read
	maxHead           int64
	left              int64 // bytes that may still be written
	asked, answered   bool  // the head of the request, of the response is out
	closed            bool
	err               error
}

func newTap(request, response io.Writer, secrets Secrets, cfg *Config, maxBody int64) *tap {
	if request == nil {
		request = io.Discard
	}
	if response == nil {
		response = io.Discard
	}
	// Chunk framing may at worst double what it frames; net/http refuses more.
	return &tap{
		request: request, response: response, secret: secrets.names,
		maxHead: cfg.MaxHeader, left: 2 * (cfg.MaxHeader + maxBody),
	}
}

// wrote takes bytes that went out on an HTTP/1 connection.
func (t *tap) wrote(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.asked {
		return // requests have no body
	}
	t.head = append(t.head, p...)
	if end := headEnd(t.head); end > 0 {
		t.asked = true
		t.put(t.request, withoutFields(t.head[:end], t.secret))
		t.head = t.head[:0]
	}
}

// read takes bytes that came in on an HTTP/1 connection.
func (t *tap) read(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if t.answered {
		t.put(t.response, p)
		return
	}
	t.head = append(t.head, p...)
	for end := headEnd(t.head); end > 0; end = headEnd(t.head) {
		if !isInterim(t.head) {
			t.answered = true
			t.put(t.response, t.head)
			t.head = nil
			return
		}
		t.head = t.head[end:]
	}
	if int64(len(t.head)) > t.maxHead {
		t.fail(ErrTapFull)
	}
}

// exchange writes the heads of an HTTP/2 exchange.
func (t *tap) exchange(req *http.Request, resp *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/2\r\nHost: %s\r\n", req.Method, req.URL.RequestURI(), req.Host)
	// Writing to a bytes.Buffer does not fail.
	_ = req.Header.Write(&b)
	b.WriteString("\r\n")
	t.put(t.request, withoutFields(b.Bytes(), t.secret))
	b.Reset()
	fmt.Fprintf(&b, "HTTP/2 %s\r\n", resp.Status)
	_ = resp.Header.Write(&b)
	b.WriteString("\r\n")
	t.put(t.response, b.Bytes())
}

// body takes bytes of an HTTP/2 body.
func (t *tap) body(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.put(t.response, p)
	}
}

// close ends the tapping and returns what went wrong with it.
func (t *tap) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.err
}

func (t *tap) fail(err error) { t.closed, t.err = true, err }

// put writes within the bound. t.mu is held.
func (t *tap) put(w io.Writer, p []byte) {
	if t.left -= int64(len(p)); t.left < 0 {
		t.fail(ErrTapFull)
		return
	}
	if _, err := w.Write(p); err != nil {
		t.fail(fmt.Errorf("tap: %w", err))
	}
}

// headEnd returns the length of the head at the beginning of p, with its empty
// line, or 0 if it is not whole. Lines may end without CR, as net/http has it.
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

// isInterim tells 1xx answers, of which 101 is final.
func isInterim(head []byte) bool {
	_, status, ok := bytes.Cut(head, []byte(" "))
	return ok && len(status) >= 3 && status[0] == '1' && string(status[:3]) != "101"
}

// withoutFields returns a request head without the named fields.
func withoutFields(head []byte, names []string) []byte {
	if len(names) == 0 {
		return head
	}
	var kept []byte
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, string(name)) }) {
			kept = append(kept, line...)
		}
	}
	return kept
}
