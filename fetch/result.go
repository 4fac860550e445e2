package fetch

import (
	"net/http"
	"net/netip"
	"time"

	"headway/weburl"
)

// Result is what came of a request. It holds memory until it is closed.
type Result struct {
	URL    weburl.URL
	Status int // 0 without an answer
	Proto  string
	Header http.Header
	// Remote is the address that was connected to.
	Remote netip.AddrPort
	// Owned tells whether the host counts as owned.
	Owned  bool
	Timing Timing

	// Body is the unfolded body. It is valid until Close.
	Body []byte
	// Cut tells that Body is only the beginning; see [Request.CutBody].
	Cut bool
	// WireBytes counts the body as it was sent: folded, without framing.
	WireBytes int64
	// BodyErr says what was wrong with the body of an answer whose status alone
	// decides, such as 404 or 429; Body is then empty.
	BodyErr error

	hold    *hold
	buf     *buffer
	buffers *buffers // where buf goes back to
}

// Timing says when things happened.
type Timing struct {
	// Sent is when the request left: never before its first byte did, so that
	// an interval counted from here is kept on the server's side too. Zero
	// means that nothing was sent.
	Sent    time.Time
	DNS     time.Duration // asking name servers
	Connect time.Duration // dialling
	TLS     time.Duration // handshake
	// Send is how long before Sent the writing began. On a busy machine the
	// answer may be there before the writer knows that it is done, so what follows
	// counts from that beginning.
	Send      time.Duration
	FirstByte time.Duration // from the beginning of the writing to the first byte of the answer
	Total     time.Duration // from the beginning of the writing to the end of the body
	Reused    bool          // the connection was open already
}

// Location returns where a redirect leads, as the server wrote it, or "".
func (r *Result) Location() string {
	if !isRedirect(r.Status) {
		return ""
	}
	return r.Header.Get("Location")
}

// isRedirect tells the statuses whose Location is another URL for the same thing.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Close gives the memory of the body back. Body must not be used afterwards.
// Closing twice does no harm.
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
