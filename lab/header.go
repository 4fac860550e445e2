package lab

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"headway/lab/temper"
)

const (
	hintsFlood   = 1000     // informational responses before the real one
	cookieFlood  = 3000     // Set-Cookie headers of about 200 bytes
	endlessBytes = 64 << 20 // of headers, before the lab gives up
)

// headerExhibits are responses with an unusual header.
var headerExhibits = []Exhibit{
	{Path: "/exhibit/header/hints", About: "1,000 responses of 103 Early Hints before the final one", serve: func(x *exchange) {
		x.Header().Set("Link", "</style.css>; rel=preload")
		for range hintsFlood {
			x.WriteHeader(http.StatusEarlyHints)
		}
		x.page200(htmlType, "<p>at last")
	}},
	{Path: "/exhibit/header/cookies", About: "3,000 cookies, 600 KB of headers", serve: func(x *exchange) {
		for i := range cookieFlood {
			x.Header().Add("Set-Cookie", fmt.Sprintf("c%d=%s; Path=/", i, strings.Repeat("v", 180)))
		}
		x.page200(htmlType, "<p>sweet")
	}},
	{Path: "/exhibit/header/endless", About: "a header that never ends (64 MiB)", serve: (*exchange).endlessHeader},
	{Path: "/exhibit/header/lengths", About: "two different Content-Lengths", serve: func(x *exchange) {
		x.raw(http.StatusOK, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n<p>ab")
	}},
	{Path: "/exhibit/header/refresh", About: "a Refresh header that points to the front page", serve: func(x *exchange) {
		x.Header().Set("Refresh", "0; url=/")
		x.page200(htmlType, "<p>wait")
	}},
	{Path: "/exhibit/header/goaway", About: "closes the connection after the response (HTTP/2: GOAWAY)", serve: func(x *exchange) {
		x.Header().Set("Connection", "close")
		x.page200(htmlType, "<p>bye")
	}},
}

// endlessHeader sends header lines until the client disconnects.
func (x *exchange) endlessHeader() {
	x.status = http.StatusOK
	x.rec.countResponse(x)
	x.hijack(func(c net.Conn) {
		out := []byte("HTTP/1.1 200 OK\r\n")
		for sent := 0; sent < endlessBytes; sent += len(out) {
			if _, err := c.Write(out); err != nil {
				return
			}
			out = out[:0]
			for i := range 256 {
				out = append(out, "X-Endless-"...)
				out = strconv.AppendInt(out, int64(i), 10)
				out = append(out, ": and on and on and on and on and on and on\r\n"...)
			}
		}
	})
}

const exhibitWait = 2 * time.Second // of the Retry-After exhibits

// retryExhibits respond 429 with Retry-After in many forms.
var retryExhibits = []Exhibit{
	retryAfter("seconds", "Retry-After: 2", temper.Seconds, 0),
	retryAfter("imf", "a date two seconds ahead, in the current format (RFC 9110)", temper.IMFDate, 0),
	retryAfter("rfc850", "the same in RFC 850 format", temper.RFC850Date, 0),
	retryAfter("asctime", "the same in asctime format", temper.ANSICDate, 0),
	retryAfter("ahead", "a date two seconds ahead, by a clock one hour fast", temper.IMFDate, time.Hour),
	retryAfter("behind", "a date two seconds ahead, by a clock one hour slow", temper.IMFDate, -time.Hour),
	retryValue("zero", "Retry-After: 0", "0"),
	retryValue("past", "a date in 1994", "Sun, 06 Nov 1994 08:49:37 GMT"),
	retryValue("fraction", "Retry-After: 1.5, an invalid value", "1.5"),
	retryValue("word", "Retry-After: soon", "soon"),
	retryValue("empty", "an empty Retry-After", ""),
	retryValue("overflow", "more seconds than fit into an integer; not linked, because it would put the host on hold for ever", "99999999999999999999999").hidden(),
	retryValue("year", "one year; not linked, because it would put the host on hold", "31536000").hidden(),
}

func retryAfter(name, about string, form temper.Form, skew time.Duration) Exhibit {
	return Exhibit{Path: "/exhibit/retry-after/" + name, About: about, serve: func(x *exchange) {
		x.announce(time.Now().Add(skew), form, exhibitWait)
		x.WriteHeader(http.StatusTooManyRequests)
	}}
}

func retryValue(name, about, value string) Exhibit {
	return Exhibit{Path: "/exhibit/retry-after/" + name, About: about, serve: func(x *exchange) {
		x.Header().Set("Retry-After", value)
		x.WriteHeader(http.StatusTooManyRequests)
	}}
}
