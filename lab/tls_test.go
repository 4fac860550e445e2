package lab

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// trusting makes a client trust the lab's CA.
func trusting(t *testing.T, l *Lab, c *http.Client, http2 bool) {
	t.Helper()
	pem, err := l.CertificatePEM()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	tr := c.Transport.(*http.Transport)
	tr.TLSClientConfig = &tls.Config{RootCAs: pool}
	tr.ForceAttemptHTTP2 = http2
}

func TestCertificates(t *testing.T) {
	specs, err := Select("plain", "expired", "wrong-name", "self-signed")
	if err != nil {
		t.Fatal(err)
	}
	good, future := small(func(t *Temper) { t.Cert = GoodCert }), small(func(t *Temper) { t.Cert = FutureCert })
	specs = append(specs, HostSpec{Name: "good", Temper: good}, HostSpec{Name: "future", Temper: future})
	l, c := start(t, Config{Hosts: specs})
	trusting(t, l, c, true)
	invalid := func(reason x509.InvalidReason) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[x509.CertificateInvalidError](err)
			return ok && e.Reason == reason
		}
	}
	want := map[string]func(error) bool{
		"plain.alder.test": nil,
		"good.lab.test":    nil,
		"expired.test":     invalid(x509.Expired),
		"future.lab.test":  invalid(x509.Expired),
		"wrong-name.test": func(err error) bool {
			_, ok := errors.AsType[x509.HostnameError](err)
			return ok
		},
		"self-signed.test": func(err error) bool {
			_, ok := errors.AsType[x509.UnknownAuthorityError](err)
			return ok
		},
	}
	for _, h := range l.Hosts() {
		if secure := h.Name != "plain.alder.test"; strings.HasPrefix(h.URL, "https://") != secure {
			t.Errorf("%s: %s", h.Name, h.URL)
		}
		resp, err := c.Get(h.URL)
		if err == nil {
			resp.Body.Close()
		}
		switch expect := want[h.Name]; {
		case expect == nil && err != nil:
			t.Errorf("%s: %v", h.Name, err)
		case expect != nil && (err == nil || !expect(err)):
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}

func TestTLSForAll(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		l, c := start(t, Config{TLS: true, NoHTTP2: !http2, Hosts: Uniform(3, small(nil))})
		trusting(t, l, c, true)
		for _, seed := range l.Seeds() {
			resp, _ := get(t, c, seed)
			if resp.StatusCode != http.StatusOK || (resp.ProtoMajor == 2) != http2 {
				t.Errorf("%s: %s %s", seed, resp.Proto, resp.Status)
			}
		}
		// Over HTTP/2 the stream is reset instead of the connection.
		if resp, err := c.Get(l.Seeds()[0] + "fault/reset"); err == nil {
			resp.Body.Close()
			t.Error("a reset was answered")
		}
		if resp, _ := get(t, c, l.Seeds()[0]); resp.StatusCode != http.StatusOK {
			t.Error("after a reset:", resp.Status)
		}
		if st := l.Stats(); st.Total.Unanswered == 0 || st.Total.InFlight != 0 {
			t.Errorf("%+v", st.Total)
		}
	}
}

// TestListenTLSFollowsListen keeps labs on different ports from using the same port for
// https.
func TestListenTLSFollowsListen(t *testing.T) {
	for listen, want := range map[string]string{
		"": "0.0.0.0:8743", "0.0.0.0:8780": "0.0.0.0:8743", "127.0.0.1:8780": "127.0.0.1:8743", ":21210": ":21211", "127.0.0.1:8790": "127.0.0.1:8791",
		"[::1]:9000": "[::1]:9001", "0.0.0.0:0": "0.0.0.0:0", "0.0.0.0:65535": "0.0.0.0:65534",
	} {
		if got := (Config{Listen: listen}).withDefaults().ListenTLS; got != want {
			t.Errorf("%q: https at %q, want %q", listen, got, want)
		}
	}
	if got := (Config{Listen: ":21210", ListenTLS: ":443"}).withDefaults().ListenTLS; got != ":443" {
		t.Errorf("the given address became %q", got)
	}
	if err := (Config{Listen: "nowhere"}).Validate(); err == nil {
		t.Error("an invalid address was accepted")
	}
}
