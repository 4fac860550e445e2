package lab

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"headway/lab/temper"
)

// exchange is one request and its response. It is the ResponseWriter of all handlers, so
// that every status and every byte is counted in one place.
type exchange struct {
	http.ResponseWriter
	lab  *Lab
	req  *http.Request
	host *vhost
	path string
	kind pathKind
	page int // number of a page or orphan

	rec       *recorder
	tally     *tally // of the host
	started   time.Time
	verdict   temper.Verdict
	status    int           // of the final response; 0 until there is one
	announced time.Duration // duration of the announced Retry-After
	left      bool          // no longer counted as in flight
	gaveUp    bool          // counted as unanswered
	challenge bool          // the response is a challenge, whatever the path
	cached    cacheResult

	body body
}

// begin starts a request, counts it and applies the host's profile.
func (x *exchange) begin(l *Lab, w http.ResponseWriter, r *http.Request, h *vhost) {
	scratch := x.body
	*x = exchange{ResponseWriter: w, lab: l, req: r, host: h, path: r.URL.Path, rec: l.rec.Load(), body: scratch}
	x.kind, x.page = l.web.classify(h, x.path)
	x.tally = &x.rec.hosts[h.index]
	x.rec.begin(x)
}

// end ends the exchange and drops its references.
func (x *exchange) end() {
	x.leave()
	x.giveUp()
	scratch := x.body
	*x = exchange{body: scratch}
}

// giveUp counts a request that will get no response.
func (x *exchange) giveUp() {
	if x.status == 0 && !x.gaveUp {
		x.gaveUp = true
		x.rec.unanswered(x)
	}
}

// Unwrap gives a ResponseController access to the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader counts the response before the client can see it, so that counts are exact
// for a client that reads them next.
func (x *exchange) WriteHeader(status int) {
	if status >= http.StatusOK && x.status == 0 {
		x.status = status
		x.rec.countResponse(x)
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes, also before the client can see them.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	if x.req.Method == http.MethodHead {
		return x.ResponseWriter.Write(p) // drops it
	}
	x.tally.bytes.Add(int64(len(p)))
	n, err := x.ResponseWriter.Write(p)
	if n < len(p) {
		x.tally.bytes.Add(int64(n - len(p)))
	}
	return n, err
}

// put writes bytes; a client that disconnected does not matter.
func (x *exchange) put(p []byte) { _, _ = x.Write(p) }

// answer does what the profile decided, by default serving the path.
func (x *exchange) answer() {
	if x.verdict.Wait > 0 && x.pause(x.verdict.Wait) {
		return
	}
	if skew := x.host.rules.Skew; skew != 0 {
		x.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
	}
	switch x.verdict.Action {
	case temper.Refuse:
		x.refuse(x.verdict.Status, x.verdict.Form, x.verdict.RetryAfter)
	case temper.Reset:
		x.reset()
	case temper.Challenge:
		x.challenged(findChallenge(x.host.site.Challenge))
	default:
		gzip := x.host.site.Gzip && strings.Contains(x.req.Header.Get("Accept-Encoding"), "gzip")
		x.body.reset(gzip)
		x.serve()
	}
}

// serve writes the content of the path.
func (x *exchange) serve() {
	switch x.kind {
	case kindPage:
		x.servePage()
	case kindRedirect:
		x.Header().Set("Location", x.lab.web.paths[x.page])
		x.WriteHeader(http.StatusMovedPermanently)
	case kindOrphan, kindPrivate, kindOpen, kindNofollow, kindTrap:
		x.serveSide()
	case kindRobots:
		x.robots()
	case kindSitemap:
		x.sitemap()
	case kindExhibit:
		x.exhibit()
	default:
		if len(x.path) > len(gonePrefix) && strings.HasPrefix(x.path, gonePrefix) && len(x.path)%2 == 0 {
			x.WriteHeader(http.StatusGone)
			return
		}
		x.notFound()
	}
}

// born is the date of all unchanged pages; each change adds an hour.
var born = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (x *exchange) servePage() {
	w := x.lab.web
	version := w.version(x.host, x.page, x.lab.Epoch())
	etag := `"` + strconv.Itoa(x.host.index) + "-" + strconv.Itoa(x.page) + "-" + strconv.Itoa(version) + `"`
	modified := born.Add(time.Duration(version) * time.Hour)
	head := x.Header()
	head["Etag"] = []string{etag}
	head["Last-Modified"] = lastModified(version, modified)
	if x.host.site.Cache != "" && x.throughCache() {
		return
	}
	if notModified(x.req, etag, modified) {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	w.renderPage(&x.body, x.host, x.page, version)
	x.send(htmlType)
}

// bornDate is the Last-Modified of unchanged pages: most of them.
var bornDate = []string{born.Format(http.TimeFormat)}

func lastModified(version int, modified time.Time) []string {
	if version == 0 {
		return bornDate
	}
	return []string{modified.Format(http.TimeFormat)}
}

func notModified(r *http.Request, etag string, modified time.Time) bool {
	if match := r.Header.Get("If-None-Match"); match != "" {
		return strings.Contains(match, etag) || match == "*"
	}
	value := r.Header.Get("If-Modified-Since")
	if value == "" {
		return false
	}
	since, err := http.ParseTime(value)
	return err == nil && !modified.After(since)
}

// serveSide writes a page that is not a linked one; in a trap it links further.
func (x *exchange) serveSide() {
	if t := trapOf(x.path); t != nil {
		x.small(t.name, t.next(x.path, x.req.URL.RawQuery)...)
		return
	}
	x.small(x.path)
}

const htmlType = "text/html; charset=utf-8"

// Header values shared by all pages.
var (
	typeHTML     = []string{htmlType}
	codingGzip   = []string{"gzip"}
	varyEncoding = []string{"Accept-Encoding"}
)

// send writes the rendered body.
func (x *exchange) send(contentType string) {
	out := x.body.finish()
	head := x.Header()
	if contentType == htmlType {
		head["Content-Type"] = typeHTML
	} else {
		head["Content-Type"] = []string{contentType}
	}
	head["Content-Length"] = []string{strconv.Itoa(len(out))}
	if x.body.gzip {
		head["Content-Encoding"] = codingGzip
	}
	head["Vary"] = varyEncoding
	if len(out) > tailBytes {
		x.put(out[:len(out)-tailBytes])
		out = out[len(out)-tailBytes:]
	}
	x.leave()
	x.put(out)
}

// tailBytes is the part of a body that is sent after the request has stopped counting as
// in flight. A client that has read a response to its end may send the next request
// before the handler of the first returns; that must not count as two concurrent
// requests.
const tailBytes = 64 << 10

// leave ends the request for the host's profile and the count of concurrent requests.
func (x *exchange) leave() {
	if !x.left {
		x.left = true
		x.rec.leave(x)
	}
}

// small sends a short page with links.
func (x *exchange) small(title string, hrefs ...string) {
	x.lab.web.renderSmall(&x.body, title, hrefs...)
	x.send(htmlType)
}

// refuse sends a status without a body and, depending on form, a Retry-After.
func (x *exchange) refuse(status int, form temper.Form, wait time.Duration) {
	x.announce(time.Now().Add(x.host.rules.Skew), form, wait)
	x.WriteHeader(status)
}

// announce sets Retry-After according to a clock that shows now. A client compares a date
// with the Date header, so both come from the same time.
func (x *exchange) announce(now time.Time, form temper.Form, wait time.Duration) {
	value := form.Value(now, wait)
	if value == "" {
		return
	}
	x.Header().Set("Retry-After", value)
	x.announced = wait
	if form != temper.Seconds {
		x.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		x.announced -= now.Sub(now.Truncate(time.Second)) // dates have no fractions
	}
}

func (x *exchange) fail503() { x.refuse(http.StatusServiceUnavailable, temper.Seconds, time.Second) }

func (x *exchange) notFound() { x.WriteHeader(http.StatusNotFound) }

// pause waits, and reports whether the client disconnected or the lab closed.
func (x *exchange) pause(d time.Duration) (gone bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-x.req.Context().Done():
		return true
	case <-t.C:
		return false
	}
}

// reset cuts the connection with a TCP reset.
func (x *exchange) reset() {
	x.leave()
	x.giveUp()
	x.hijack(func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			// Makes Close send RST; without it a plain close has to do.
			_ = tcp.SetLinger(0)
		}
	})
}

// raw sends bytes that are not a valid response and closes the connection.
func (x *exchange) raw(status int, bytes string) {
	x.status = status
	x.rec.countResponse(x)
	x.leave()
	x.hijack(func(c net.Conn) {
		n, _ := c.Write([]byte(bytes)) // a client that disconnected does not matter
		x.tally.bytes.Add(int64(n))
	})
}

// hijack takes the connection from net/http, calls do with it and closes it. Over HTTP/2
// the stream is aborted instead.
func (x *exchange) hijack(do func(net.Conn)) {
	conn, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	do(conn)
	conn.Close()
}
