package fetch

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headway/fetch/guard"
	"headway/weburl"
)

func TestMain(m *testing.M) {
	if os.Getenv(labChild) != "" {
		runLab()
		return
	}
	goleak.VerifyTestMain(m)
}

// discardLog hides what servers log about broken clients.
var discardLog = log.New(io.Discard, "", 0)

// contact lets clients of tests contact public hosts.
var contact = Identity{Version: "test", Contact: "ops@example.com"}

// parseURL fails the test on a bad URL.
func parseURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// piped is a network without sockets: every name is public, and every connection is a
// pipe to serve. It works in real and in virtual time.
type piped struct {
	serve func(net.Conn)
	wrap  func(net.Conn) net.Conn // wraps our end; nil for none
	wg    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // server ends
	dials int
}

// newPiped returns a client on such a network. Both end with the test, so it must be
// called inside a synctest bubble to be used there.
func newPiped(t testing.TB, cfg Config, serve func(net.Conn)) (*Client, *piped) {
	t.Helper()
	p := &piped{serve: serve}
	d, err := guard.New(guard.Config{
		Lookup: func(context.Context, string) (guard.Answer, error) {
			return guard.Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.215.14")}, TTL: time.Hour}, nil
		},
		Connect: p.connect,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dialer = d
	if cfg.Identity == (Identity{}) {
		cfg.Identity = contact
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		p.mu.Lock()
		for _, conn := range p.conns {
			conn.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return c, p
}

func (p *piped) connect(context.Context, netip.AddrPort) (net.Conn, error) {
	near, far := net.Pipe()
	p.mu.Lock()
	p.conns = append(p.conns, far)
	p.dials++
	p.mu.Unlock()
	p.wg.Go(func() {
		defer far.Close()
		p.serve(far)
	})
	if p.wrap != nil {
		near = p.wrap(near)
	}
	return near, nil
}

func (p *piped) dialled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// say answers each request on a connection with the same bytes, and closes it if the
// response says so or has no framing.
func say(response string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			req.Body.Close()
			if _, err := io.WriteString(c, response); err != nil {
				return
			}
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(response)), req)
			if err != nil || resp.Close {
				return
			}
		}
	}
}

// once reads one request, writes the response, and closes.
func once(response string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, response)
		}
	}
}

// newLocal returns a client that may connect to the servers of a test.
func newLocal(t testing.TB, cfg Config, servers ...*httptest.Server) *Client {
	t.Helper()
	gc := guard.Config{}
	for _, s := range servers {
		addr := netip.MustParseAddrPort(s.Listener.Addr().String())
		gc.AllowPrivate = append(gc.AllowPrivate, guard.Range{
			Prefix: netip.PrefixFrom(addr.Addr(), addr.Addr().BitLen()), Ports: []uint16{addr.Port()},
		})
		if cert := s.Certificate(); cert != nil && cfg.RootCAs == nil {
			cfg.RootCAs = x509.NewCertPool()
			cfg.RootCAs.AddCert(cert)
		}
	}
	d, err := guard.New(gc)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dialer = d
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get fetches a URL and closes the result when the test ends.
func get(t testing.TB, c *Client, url string) (*Result, error) {
	t.Helper()
	return do(t, c, Request{URL: parseURL(t, url)})
}

func do(t testing.TB, c *Client, req Request) (*Result, error) {
	t.Helper()
	r, err := c.Do(t.Context(), req)
	if r == nil {
		t.Fatalf("no result beside %v", err)
	}
	t.Cleanup(r.Close)
	return r, err
}

// reasonOf returns the reason of an *Error, "" for none, and the text of any
// other error.
func reasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Reason(err.Error())
}

// certificate creates a certificate for names, also valid in virtual time.
func certificate(t testing.TB, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// newServer starts an HTTP server for the test.
func newServer(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = discardLog
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}
