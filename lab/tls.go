package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Cert is the kind of a host's certificate. A host with one serves https even if the rest
// of the lab serves http.
type Cert string

// The kinds. All but SelfSigned are signed by the lab's CA, see [Lab.CertificatePEM].
const (
	GoodCert      Cert = "good"
	ExpiredCert   Cert = "expired"     // expired a day ago
	FutureCert    Cert = "future"      // valid in a year
	WrongNameCert Cert = "wrong-name"  // for another host
	SelfSigned    Cert = "self-signed" // by an unknown key
)

func (c Cert) validate() error {
	switch c {
	case "", GoodCert, ExpiredCert, FutureCert, WrongNameCert, SelfSigned:
		return nil
	default:
		return fmt.Errorf("unknown Cert %q", string(c))
	}
}

// CertificatePEM is the certificate of the CA that signs for all hosts: a client that
// trusts it trusts the good certificates.
func (l *Lab) CertificatePEM() ([]byte, error) {
	a, err := l.authority()
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), nil
}

// authority signs certificates, one per host when first needed. All hosts share one key.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate

	mu     sync.Mutex
	leaves map[int]*tls.Certificate // by host
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the lab's key: %w", err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "headway lab"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the lab's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the lab's certificate: %w", err)
	}
	return &authority{key: key, cert: cert, leaves: map[int]*tls.Certificate{}}, nil
}

// leaf returns the certificate of a host.
func (a *authority) leaf(h *vhost, extra netip.Addr) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.leaves[h.index]; ok {
		return c, nil
	}
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(int64(h.index) + 2), Subject: pkix.Name{CommonName: h.name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{h.name}, IPAddresses: []net.IP{hostAddr(h.index).AsSlice()},
	}
	if extra.IsValid() {
		tmpl.IPAddresses = append(tmpl.IPAddresses, extra.AsSlice())
	}
	parent := a.cert
	switch h.temper.Cert {
	case ExpiredCert:
		tmpl.NotBefore, tmpl.NotAfter = now.AddDate(-1, 0, 0), now.AddDate(0, 0, -1)
	case FutureCert:
		tmpl.NotBefore, tmpl.NotAfter = now.AddDate(1, 0, 0), now.AddDate(2, 0, 0)
	case WrongNameCert:
		tmpl.DNSNames, tmpl.IPAddresses = []string{"another-host.test"}, nil
	case SelfSigned:
		parent = tmpl
	}
	key := a.key
	if parent == tmpl {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, fmt.Errorf("make a key for %s: %w", h.name, err)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", h.name, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.leaves[h.index] = c
	return c, nil
}

// tlsConfig selects a certificate by the server name of the client or, since clients send
// no addresses, by the address connected to.
func (l *Lab) tlsConfig() *tls.Config {
	choose := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		n, ok := l.dir.find(hello.ServerName)
		if !ok && hello.ServerName == "" {
			n, ok = l.dir.find(hello.Conn.LocalAddr().String())
		}
		if !ok {
			n = 0 // unknown names get the certificate of the first host
		}
		a, err := l.authority()
		if err != nil {
			return nil, err
		}
		return a.leaf(&l.web.hosts[n], l.cfg.Addr)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: choose}
}
