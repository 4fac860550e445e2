package lab

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// checkBroken expects an error before the end of the body.
func checkBroken(t *testing.T, _ *Lab, c *http.Client, u string) {
	resp, err := c.Get(u)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return
		}
	}
	if _, err := io.ReadAll(body); err == nil {
		t.Error("no error")
	}
}

func checkDate(skew time.Duration, layout string) func(*testing.T, *Lab, *http.Client, string) {
	return func(t *testing.T, _ *Lab, c *http.Client, u string) {
		resp, _ := get(t, c, u)
		date, err1 := http.ParseTime(resp.Header.Get("Date"))
		retry, err2 := time.Parse(layout, resp.Header.Get("Retry-After"))
		if err1 != nil || err2 != nil || retry.Sub(date) != exhibitWait || resp.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%s, Date %v, Retry-After %v: %v %v", resp.Status, date, retry, err1, err2)
		}
		if off := time.Until(date) - skew; off > 5*time.Second || off < -5*time.Second {
			t.Errorf("the clock is off by %v, want %v", time.Until(date), skew)
		}
	}
}

// checkDrip and checkHang call the handler in virtual time.
func checkDrip(t *testing.T, _ *Lab, _ *http.Client, _ string) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(1, small(nil))})
		began := time.Now()
		w := ask(l, l.Seeds()[0]+"fault/drip")
		if w.Body.Len() != 600 || time.Since(began) != 10*time.Minute {
			t.Errorf("%d bytes in %v", w.Body.Len(), time.Since(began))
		}
	})
}

func checkHang(t *testing.T, _ *Lab, c *http.Client, u string) {
	impatient := *c
	impatient.Timeout = 50 * time.Millisecond
	if resp, err := impatient.Get(u); err == nil {
		resp.Body.Close()
		t.Error("it answered")
	}
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(1, small(nil))})
		ctx, cancel := contextWithTimeout(t, time.Hour)
		defer cancel()
		began := time.Now()
		l.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, l.Seeds()[0]+"fault/hang", nil).WithContext(ctx))
		if time.Since(began) != hangFor {
			t.Error("it hung for", time.Since(began))
		}
	})
}

// checkKill expects an ordinary page, and no response from a lab that can kill its client.
func checkKill(t *testing.T, _ *Lab, c *http.Client, u string) {
	if resp, body := get(t, c, u); resp.StatusCode != http.StatusOK || !strings.Contains(body, "<title>"+KillPath+"</title>") {
		t.Errorf("%s with %.200q", resp.Status, body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := mustNew(t, Config{Hosts: Uniform(1, small(nil)), Kill: func(r *http.Request) {
		if r.UserAgent() == "victim" {
			cancel()
		}
	}})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, l.Seeds()[0]+strings.TrimPrefix(KillPath, "/"), nil)
	r.Header.Set("User-Agent", "victim")
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	if w.Body.Len() > 0 || l.Stats().Total.Unanswered != 1 {
		t.Errorf("it answered %q", w.Body)
	}
}

func checkLength(want int) func(*testing.T, *Lab, *http.Client, string) {
	return func(t *testing.T, _ *Lab, c *http.Client, u string) {
		resp, err := c.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if n != int64(want) || err != nil {
			t.Errorf("%d bytes, want %d: %v", n, want, err)
		}
	}
}

func gunzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }

func gunzipTwice(r io.Reader) (io.Reader, error) {
	once, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(once)
}

func unzstd(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// bombBytes is how much of a bomb the tests decompress; all of it would take seconds.
const bombBytes = 16 << 20

func checkBomb(open func(io.Reader) (io.Reader, error), most int) func(*testing.T, *Lab, *http.Client, string) {
	return func(t *testing.T, _ *Lab, c *http.Client, u string) {
		_, packed := get(t, c, u)
		if len(packed) > most {
			t.Errorf("%d bytes on the wire, want at most %d", len(packed), most)
		}
		r, err := open(strings.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := r.(io.Closer); ok {
			defer c.Close()
		}
		if n, err := io.CopyN(io.Discard, r, bombBytes); err != nil {
			t.Errorf("only %d bytes unfold: %v", n, err)
		}
	}
}

// TestBombsAreWhole decompresses small bombs to their end.
func TestBombsAreWhole(t *testing.T) {
	plain, err := io.ReadAll(brotli.NewReader(bytes.NewReader(brotliBomb(5))))
	if err != nil || len(plain) != 5*bombBlock || bytes.Trim(plain, "\x00") != nil && len(bytes.Trim(plain, "\x00")) != 0 {
		t.Errorf("brotli: %d bytes, %v", len(plain), err)
	}
	if n := len(brBomb()); n > 64<<10 {
		t.Errorf("the brotli bomb has %d bytes", n)
	}
	r, err := unzstd(bytes.NewReader(bytes.Repeat(zstdFrame(make([]byte, bombBlock)), 3)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.(io.Closer).Close()
	if n, err := io.Copy(io.Discard, r); n != 3*bombBlock || err != nil {
		t.Errorf("zstd: %d bytes, %v", n, err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(gzipBomb(robotsRules, ' ', 5)))
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, len(robotsRules))
	if _, err := io.ReadFull(zr, head); err != nil || string(head) != robotsRules {
		t.Errorf("the robots bomb begins with %q, %v", head, err)
	}
	if n, err := io.Copy(io.Discard, zr); n != 5*bombBlock || err != nil {
		t.Errorf("gzip: %d bytes, %v", n, err)
	}
}

func checkNested(t *testing.T, _ *Lab, c *http.Client, u string) {
	resp, body := get(t, c, u)
	codings := strings.Split(resp.Header.Get("Content-Encoding"), ", ")
	if len(codings) != 1000 {
		t.Fatalf("%d codings", len(codings))
	}
	zr := new(gzip.Reader)
	for range codings {
		if err := zr.Reset(strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(zr)
		if err != nil {
			t.Fatal(err)
		}
		body = string(plain)
	}
	if body != "<p>a thousand layers deep" {
		t.Errorf("%q", body)
	}
}

func checkHints(t *testing.T, _ *Lab, c *http.Client, u string) {
	hints := 0
	stop := errors.New("enough")
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
		if hints++; hints == 200 {
			return stop
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := c.Do(req); err == nil {
		resp.Body.Close()
		t.Error("the flood was over")
	}
	if hints < 5 {
		t.Errorf("%d hints", hints)
	}
	w := httptest.NewRecorder()
	l := mustNew(t, Config{Hosts: Uniform(1, small(nil))})
	n := 0
	l.Handler().ServeHTTP(&informed{w, &n}, httptest.NewRequest(http.MethodGet, l.Seeds()[0]+"exhibit/header/hints", nil))
	if n != hintsFlood || w.Body.String() != "<p>at last" {
		t.Errorf("%d hints, then %q", n, w.Body)
	}
}

// informed counts informational responses.
type informed struct {
	http.ResponseWriter
	n *int
}

func (w *informed) WriteHeader(status int) {
	if status < 200 {
		*w.n++
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func checkCookies(t *testing.T, _ *Lab, c *http.Client, u string) {
	resp, _ := get(t, c, u)
	if n := len(resp.Header.Values("Set-Cookie")); n != cookieFlood {
		t.Errorf("%d cookies", n)
	}
}

func checkEndless(t *testing.T, _ *Lab, c *http.Client, u string) {
	if resp, err := c.Get(u); err == nil {
		resp.Body.Close()
		t.Error("the header had an end")
	}
}

func checkGoaway(t *testing.T, l *Lab, c *http.Client, u string) {
	if resp, _ := get(t, c, u); !resp.Close {
		t.Error("the connection stays open")
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.web.hosts[0].base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /exhibit/header/goaway HTTP/1.1\r\nHost: 127.1.0.1\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error("after the answer:", err)
	}
}

func checkMillion(t *testing.T, l *Lab, c *http.Client, u string) {
	resp, err := c.Get(u)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	last := "<sitemap><loc>" + l.web.hosts[0].base + "/sitemap-999999.xml.gz</loc></sitemap>\n</sitemapindex>\n"
	if n := bytes.Count(text, []byte("<sitemap>")); n != 1_000_000 || !bytes.HasSuffix(text, []byte(last)) || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
}
