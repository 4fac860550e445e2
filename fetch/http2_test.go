package fetch

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"headway/weburl"
)

// newTLS starts an https server, by default with HTTP/2.
func newTLS(t testing.TB, h http.HandlerFunc, change ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discardLog
	for _, f := range change {
		f(srv)
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestHTTP2(t *testing.T) {
	srv := newTLS(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.RequestURI, r.Host)
	})
	c := newLocal(t, Config{}, srv)
	host := strings.TrimPrefix(srv.URL, "https://")
	for i := range 2 {
		r, err := get(t, c, srv.URL+"/a/b?c=d")
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Body) != "HTTP/2.0 /a/b?c=d "+host || r.Proto != "HTTP/2.0" || r.Timing.Reused != (i > 0) {
			t.Errorf("%d: %q %s, reused %v", i, r.Body, r.Proto, r.Timing.Reused)
		}
		if r.Timing.Sent.IsZero() || r.Timing.Total <= 0 || r.Remote.String() != host || (r.Timing.TLS > 0) == r.Timing.Reused {
			t.Errorf("timing %+v, remote %s", r.Timing, r.Remote)
		}
	}
	off := newLocal(t, Config{DisableHTTP2: true}, srv)
	r, err := get(t, off, srv.URL)
	if err != nil || r.Proto != "HTTP/1.1" {
		t.Errorf("switched off: %s, %v", r.Proto, err)
	}
}

// TestHTTP2SharesAConnection sends many requests at once over one connection.
func TestHTTP2SharesAConnection(t *testing.T) {
	srv := newTLS(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat(r.URL.Path, 10_000)) })
	c := newLocal(t, Config{}, srv)
	if _, err := get(t, c, srv.URL); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			path := fmt.Sprintf("/%03d", i)
			r, err := c.Do(t.Context(), Request{URL: mustURL(srv.URL + path)})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			if string(r.Body) != strings.Repeat(path, 10_000) {
				t.Errorf("%s: a body of another", path)
			}
		})
	}
	wg.Wait()
	if layer, _ := c.pool.stats(); layer.Use != 1 {
		t.Errorf("%d connections for one host", layer.Use)
	}
}

// rawHTTP2 serves one connection frame by frame. serve is called after the first
// request was read.
func rawHTTP2(t *testing.T, serve func(f *http2.Framer, stream uint32)) (*Client, weburl.URL) {
	t.Helper()
	cert, pool := certificate(t, "site.test")
	c, _ := newPiped(t, Config{RootCAs: pool, HeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second}, func(raw net.Conn) {
		conn := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
		defer conn.Close()
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(conn, preface); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		done := make(chan struct{})
		defer func() { conn.Close(); <-done }()
		streams := make(chan uint32, 10)
		go func() { // keep reading the client's frames, or it cannot write
			defer close(done)
			defer close(streams)
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if h, ok := frame.(*http2.HeadersFrame); ok {
					streams <- h.StreamID
				}
			}
		}()
		if err := f.WriteSettings(); err != nil {
			return
		}
		if stream, ok := <-streams; ok {
			serve(f, stream)
		}
	})
	return c, parseURL(t, "https://site.test/")
}

// fields encodes header fields.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

func TestHTTP2Oddities(t *testing.T) {
	ok := fields(":status", "200")
	head := func(f *http2.Framer, s uint32, end bool, block []byte) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: block, EndHeaders: true, EndStream: end})
	}
	tests := []struct {
		name   string
		serve  func(f *http2.Framer, s uint32)
		reason Reason
		body   string
	}{
		{"a good page", func(f *http2.Framer, s uint32) {
			head(f, s, false, ok)
			f.WriteData(s, true, []byte("hello"))
		}, "", "hello"},
		{"refused stream", func(f *http2.Framer, s uint32) { f.WriteRSTStream(s, http2.ErrCodeRefusedStream) }, Connect, ""},
		{"goaway instead of an answer", func(f *http2.Framer, s uint32) {
			f.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, Connect, ""},
		{"reset before the header", func(f *http2.Framer, s uint32) { f.WriteRSTStream(s, http2.ErrCodeInternal) }, Protocol, ""},
		{"reset in the body", func(f *http2.Framer, s uint32) {
			head(f, s, false, ok)
			f.WriteData(s, false, []byte("hel"))
			f.WriteRSTStream(s, http2.ErrCodeInternal)
		}, Truncated, ""},
		{"connection ends in the body", func(f *http2.Framer, s uint32) {
			head(f, s, false, ok)
			f.WriteData(s, false, []byte("hel"))
		}, Truncated, ""},
		{"connection ends before the header", func(*http2.Framer, uint32) {}, Connect, ""},
		{"shorter than promised", func(f *http2.Framer, s uint32) {
			head(f, s, false, fields(":status", "200", "content-length", "50"))
			f.WriteData(s, true, []byte("hello"))
		}, Truncated, ""},
		{"longer than promised", func(f *http2.Framer, s uint32) {
			head(f, s, false, fields(":status", "200", "content-length", "2"))
			f.WriteData(s, true, []byte("hello"))
		}, Protocol, ""},
		{"no status", func(f *http2.Framer, s uint32) { head(f, s, true, fields("content-type", "text/html")) }, Protocol, ""},
		{"upper-case field", func(f *http2.Framer, s uint32) { head(f, s, true, fields(":status", "200", "X-Upper", "1")) }, Protocol, ""},
		{"header flood", func(f *http2.Framer, s uint32) {
			big := fields(":status", "200")
			for i := range 250 {
				big = append(big, fields(fmt.Sprintf("x-%d", i), strings.Repeat("a", 1024))...)
			}
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: big[:16000]})
			for big = big[16000:]; len(big) > 16000; big = big[16000:] {
				if f.WriteContinuation(s, false, big[:16000]) != nil {
					return
				}
			}
			f.WriteContinuation(s, true, big)
		}, TooLarge, ""},
		{"endless continuation", func(f *http2.Framer, s uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: ok})
			for f.WriteContinuation(s, false, fields("x", strings.Repeat("~", 8000))) == nil {
			}
		}, Protocol, ""},
		{"flood of interim answers", func(f *http2.Framer, s uint32) {
			for f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: fields(":status", "103", "link", strings.Repeat("~", 8000)), EndHeaders: true}) == nil {
			}
		}, TooLarge, ""},
		{"garbage", func(f *http2.Framer, s uint32) {
			f.WriteRawFrame(0x7f, 0, s, []byte("?"))
			f.WriteRawFrame(http2.FrameData, 0, 0, []byte("?"))
		}, Protocol, ""},
		{"pushed streams", func(f *http2.Framer, s uint32) {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: s, PromiseID: 2, BlockFragment: ok, EndHeaders: true})
		}, Protocol, ""},
		{"no answer", func(f *http2.Framer, s uint32) {
			for f.WritePing(false, [8]byte{}) == nil {
				time.Sleep(100 * time.Millisecond) // virtual time
			}
		}, Timeout, ""},
		{"body hangs", func(f *http2.Framer, s uint32) {
			head(f, s, false, ok)
			for f.WritePing(false, [8]byte{}) == nil {
				time.Sleep(100 * time.Millisecond) // virtual time
			}
		}, Timeout, ""},
		{"endless empty frames", func(f *http2.Framer, s uint32) {
			head(f, s, false, ok)
			for f.WriteData(s, false, nil) == nil {
				time.Sleep(time.Millisecond) // virtual time
			}
		}, Timeout, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, u := rawHTTP2(t, tt.serve)
				r, err := do(t, c, Request{URL: u})
				if reasonOf(err) != tt.reason || string(r.Body) != tt.body {
					t.Errorf("%q, %v, want reason %q", r.Body, err, tt.reason)
				}
			})
		})
	}
}

func TestTLSErrors(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }
	plain := newServer(t, page)
	old := newTLS(t, page, func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the test is about refusing it
	})
	good := newTLS(t, page)
	tests := []struct {
		name   string
		srv    *httptest.Server
		url    string
		roots  *x509.CertPool
		reason Reason
	}{
		{"good", good, good.URL, nil, ""},
		{"unknown authority", good, good.URL, x509.NewCertPool(), TLS},
		{"another name", good, strings.Replace(good.URL, "127.0.0.1", "localhost", 1), nil, TLS},
		{"too old", old, old.URL, nil, TLS},
		{"no TLS at all", plain, strings.Replace(plain.URL, "http:", "https:", 1), nil, TLS},
		{"TLS where none is expected", good, strings.Replace(good.URL, "https:", "http:", 1), nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newLocal(t, Config{RootCAs: tt.roots}, tt.srv)
			r, err := get(t, c, tt.url)
			if reasonOf(err) != tt.reason {
				t.Errorf("status %d, error %v, want %q", r.Status, err, tt.reason)
			}
			if tt.reason == TLS && !r.Timing.Sent.IsZero() {
				t.Error("a request was sent without trust")
			}
		})
	}
}

// TestFence: on a shared connection nothing is sent once the fence forbids it, and that
// is not counted as a failure of the host. An earlier request succeeds.
func TestFence(t *testing.T) {
	var asked atomic.Int64
	srv := newTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		io.WriteString(w, "here")
	})
	c := newLocal(t, Config{}, srv)
	errStopped := errors.New("the process was stopped")
	var stopped atomic.Bool
	req := Request{
		URL: mustURL(srv.URL),
		Fence: func() error {
			if stopped.Load() {
				return errStopped
			}
			return nil
		},
	}
	for range 2 {
		r, err := c.Do(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	before := asked.Load()
	req.BeforeSend = func() error { // the last check of the request itself
		stopped.Store(true)
		return nil
	}
	_, err := c.Do(t.Context(), req)
	if _, theirs := errors.AsType[*Error](err); !errors.Is(err, errStopped) || theirs {
		t.Errorf("%v", err)
	}
	stopped.Store(false)
	req.BeforeSend = nil
	r, err := c.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if r.Timing.Reused || asked.Load() != before+1 {
		t.Errorf("reused %v, %d requests came, want %d", r.Timing.Reused, asked.Load(), before+1)
	}
}

// TestSever closes idle and used connections of both kinds. The next requests get new
// ones.
func TestSever(t *testing.T) {
	for name, change := range map[string]Config{"HTTP/1": {DisableHTTP2: true}, "HTTP/2": {}} {
		t.Run(name, func(t *testing.T) {
			arrived, release := make(chan struct{}, 1), make(chan struct{})
			defer close(release)
			srv := newTLS(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					arrived <- struct{}{}
					select {
					case <-release:
					case <-r.Context().Done():
						panic(http.ErrAbortHandler)
					}
				}
				io.WriteString(w, "here")
			})
			c := newLocal(t, change, srv)
			for range 2 { // used, and idle
				ended := make(chan error, 1)
				go func() {
					r, err := c.Do(t.Context(), Request{URL: mustURL(srv.URL + "/slow")})
					r.Close()
					ended <- err
				}()
				<-arrived
				c.Sever()
				if err := <-ended; err == nil {
					t.Error("an exchange lived on")
				}
				for i := range 2 {
					r, err := get(t, c, srv.URL)
					if err != nil || r.Timing.Reused != (i > 0) {
						t.Errorf("request %d: reused %v, %v", i, r.Timing.Reused, err)
					}
				}
				c.Sever()
				if layer, idle := c.pool.stats(); layer.Use != 0 || idle != 0 {
					t.Errorf("%d connections are open, %d idle", layer.Use, idle)
				}
			}
		})
	}
}
