//go:build linux

package doctest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// The names that resolve on a stage. No others do.
const (
	shopName   = "example.com"
	socialName = "social.example"
)

// shop is example.com as in the guides, with its name server.
type shop struct {
	server *http.Server // the shop
	bucket *http.Server // without TLS
	names  net.PacketConn
	roots  string // file with its root certificate
	done   sync.WaitGroup

	mu     sync.Mutex
	cached map[string]bool // pages in the cache
}

// page is a page of the shop: its title and links.
type page struct {
	title string
	links []string
}

// pages of the shop. Links to anything else are dead.
var pages = map[string]page{
	"/":                     {"Example: tools for small gardens", []string{"/shop/", "/about", "/docs/", "/blog/", "/cart", "/start"}},
	"/shop/":                {"Shop", []string{"/", "/shop/spade", "/shop/rake", "/shop/watering-can", "/old-price-list"}},
	"/shop/spade":           {"Spade", []string{"/shop/", "/cart"}},
	"/shop/rake":            {"Rake", []string{"/shop/", "/cart"}},
	"/shop/watering-can":    {"Watering can", []string{"/shop/", "/cart"}},
	"/about":                {"About us", []string{"/", "https://" + socialName + "/example", "https://blog.exmaple.org/"}},
	"/docs/":                {"How to", []string{"/", "/docs/sharpen-a-spade", "/docs/old/index-2019"}},
	"/docs/sharpen-a-spade": {"Sharpen a spade", []string{"/docs/", "/shop/spade"}},
	"/docs/old/index-2019":  {"How to, 2019", []string{"/docs/"}},
	"/blog/":                {"Blog", []string{"/", "/blog/first-frost"}},
	"/blog/first-frost":     {"First frost", []string{"/blog/"}},
	"/cart":                 {"Your cart", []string{"/shop/"}},
}

// openShop serves it on a stage until close.
func openShop(ctx context.Context, dir string) (*shop, error) {
	s := &shop{roots: filepath.Join(dir, ".authority.pem"), cached: map[string]bool{}}
	cert, authority, err := certificate()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.roots, authority, 0o600); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	if s.names, err = lc.ListenPacket(ctx, "udp4", ":53"); err != nil {
		return nil, err
	}
	ln, err := lc.Listen(ctx, "tcp", netip.AddrPortFrom(shopAddr, 443).String())
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0) // clients that were killed
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	}
	// A separate server: one that serves without TLS first would offer HTTP/2 with TLS
	// but not support it.
	s.bucket = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	plain, err := lc.Listen(ctx, "tcp", net.JoinHostPort(bucketAddr, bucketPort))
	if err != nil {
		return nil, err
	}
	s.done.Go(func() { _ = s.server.ServeTLS(ln, "", "") }) // until it is closed
	s.done.Go(func() { _ = s.bucket.Serve(plain) })
	s.done.Go(s.name)
	return s, nil
}

func (s *shop) close() {
	_ = s.server.Close() // the process ends
	_ = s.bucket.Close()
	_ = s.names.Close()
	s.done.Wait()
}

// env makes a document's commands use the shop.
func (s *shop) env() []string {
	return append(bucketEnv(), "SSL_CERT_FILE="+s.roots, "HEADWAY_RESOLVER="+netip.AddrPortFrom(shopAddr, 53).String())
}

// ServeHTTP implements [http.Handler].
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name := strings.TrimSuffix(r.Host, ":"+bucketPort); {
	case name == bucketAddr || strings.HasSuffix(name, bucketName):
		bucket(w, r)
		return
	case name == socialName:
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not now", http.StatusTooManyRequests)
		return
	}
	p, ok := pages[r.URL.Path]
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprintf(w, "User-agent: *\nDisallow: /cart\nSitemap: https://%s/sitemap.xml\n", shopName)
	case r.URL.Path == "/sitemap.xml":
		s.sitemap(w)
	case r.URL.Path == "/start":
		http.Redirect(w, r, "/", http.StatusMovedPermanently)
	case !ok:
		http.NotFound(w, r)
	default:
		s.page(w, r, p)
	}
}

// originTime is the response time of a cache miss.
const originTime = 60 * time.Millisecond

// page responds as a shop behind a cache does.
func (s *shop) page(w http.ResponseWriter, r *http.Request, p page) {
	var body bytes.Buffer
	fmt.Fprintf(&body, "<!doctype html><html lang=en><title>%s</title><h1>%[1]s</h1>\n", p.title)
	for _, to := range p.links {
		fmt.Fprintf(&body, "<p><a href=%q>%s</a>\n", to, to)
	}
	s.mu.Lock()
	had := s.cached[r.URL.Path]
	s.cached[r.URL.Path] = r.URL.Path != "/about"
	s.mu.Unlock()
	cache := "HIT"
	if !had {
		cache = "MISS"
		time.Sleep(originTime) // the response time of a real server, which the page shows
	}
	w.Header().Set("X-Cache", cache)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	if r.URL.Path == "/about" {
		w.Header().Set("Cache-Control", "private")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(body.Bytes()))[:16]))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body.Bytes()))
}

func (s *shop) sitemap(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	var paths []string
	for path := range pages {
		if path != "/cart" && !strings.HasPrefix(path, "/docs/old/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintf(w, "<url><loc>https://%s%s</loc></url>", shopName, path)
	}
	fmt.Fprint(w, "</urlset>")
}

// name answers DNS queries until it is closed.
func (s *shop) name() {
	buf := make([]byte, 512)
	for {
		n, from, err := s.names.ReadFrom(buf)
		if err != nil {
			return
		}
		answer, err := nameAnswer(buf[:n])
		if err != nil {
			continue // not a query
		}
		_, _ = s.names.WriteTo(answer, from) // the client retries if it is lost
	}
}

func nameAnswer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
		switch {
		case name != shopName && name != socialName && !strings.HasSuffix(name, bucketName):
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 300},
				Body:   &dnsmessage.AResource{A: shopAddr.As4()},
			})
		}
	}
	return m.Pack()
}

// certificate makes a certificate for the names of the stage, and its root.
func certificate() (cert tls.Certificate, authority []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stage"}, DNSNames: []string{shopName, socialName, bucketName, "*." + bucketName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return cert, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
