package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"headway/weburl"
)

// Result is the outcome of a request. It holds memory until it is closed.
type Result struct {
	URL    weburl.URL
	Status int // 0 without a response
	Proto  string
	Header http.Header
	// Remote is the address that was connected to.
	Remote netip.AddrPort
	// Owned reports whether the host counts as owned.
	Owned  bool
	Timing Timing

	// Body is the decompressed body. It is valid until Close.
	Body []byte
	// Cut says that Body was truncated; see [Request.CutBody].
	Cut bool
	// WireBytes counts the body as sent: compressed, without framing.
	WireBytes int64
	// BodyErr says what was wrong with the body of a response whose status alone
	// decides, such as 404 or 429; Body is then empty.
	BodyErr error

	hold    *hold
	buf     *buffer
	buffers *buffers // where buf goes back to
}

// Timing says when things happened.
type Timing struct {
	// Sent is when the request was sent, never earlier than its first byte, so that
	// an interval counted from here also holds on the server's side. Zero means that
	// nothing was sent.
	Sent    time.Time
	DNS     time.Duration // lookup
	Connect time.Duration // dialling
	TLS     time.Duration // handshake
	// Send is how long before Sent the writing started. On a busy machine the
	// response may arrive before the write returns, so the times below count from
	// the start of the writing.
	Send      time.Duration
	FirstByte time.Duration // from the start of the writing to the first byte of the response
	Total     time.Duration // from the start of the writing to the end of the body
	Reused    bool          // on a kept-alive connection
}

// Location returns the redirect target as the server wrote it, or "".
func (r *Result) Location() string {
	if !isRedirect(r.Status) {
		return ""
	}
	return r.Header.Get("Location")
}

// isRedirect reports whether the status has a Location to the same resource.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Close releases the memory of the body; Body must not be used afterwards. Closing
// twice is allowed.
func (r *Result) Close() {
	r.Body = nil
	if r.buf != nil {
		r.buffers.put(r.buf)
		r.buf = nil
	}
	if r.hold != nil {
		r.hold.release()
		r.hold = nil
	}
}
