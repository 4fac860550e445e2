// Package proof verifies that a host belongs to a tenant: a token that only the
// tenant knows is published there, in a file or in a DNS record.
//
// Promises: the file is requested through the one guarded dialler, once, within
// bounds; no redirect is followed, because its target may be another host; names
// are looked up by the resolver of the service.
//
// Refusals: a token that is part of a longer line, statuses other than 200, and
// records of a name above the host's.
package proof

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"headway/fetch/guard"
	"headway/store"
	"headway/weburl"
)

// Where a token is looked for.
const (
	File   = "/.well-known/headway.txt"
	Record = "_headway." // in front of the name of the host
)

// Bounds of a check.
const (
	timeout = 10 * time.Second
	maxFile = 16 << 10 // bytes read of the file
)

// NewToken makes a token.
func NewToken() string { return "headway-" + strings.ToLower(rand.Text()) }

// Checker looks for tokens.
type Checker struct {
	dialer *guard.Dialer
	client *http.Client
}

// New returns a checker. Roots are the trusted roots for https; nil for those of the system.
func New(cfg guard.Config, roots *x509.CertPool) (*Checker, error) {
	dialer, err := guard.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("proofs of ownership: %w", err)
	}
	c := &Checker{dialer, dialer.Client(timeout)}
	if t, ok := c.client.Transport.(*http.Transport); ok {
		t.DisableKeepAlives = true
		if roots != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
	}
	return c, nil
}

// Names are where the token of a host may be: a file, and a record where the host
// has a name.
func Names(home weburl.URL) (file, record string) {
	if _, err := netip.ParseAddr(strings.Trim(home.Hostname(), "[]")); err != nil {
		record = Record + home.Hostname()
	}
	return home.Host() + File, record
}

// ByRecord looks for the token in the text records of the name.
func (c *Checker) ByRecord(ctx context.Context, home weburl.URL, token string) (store.Proof, error) {
	_, record := Names(home)
	if record == "" {
		return store.NoProof, errors.New("an IP address has no DNS record")
	}
	texts, err := c.dialer.LookupTXT(ctx, record)
	switch {
	case err != nil:
		return store.NoProof, fmt.Errorf("cannot read TXT record %s: %w", record, err)
	case !slices.Contains(texts, token):
		return store.NoProof, fmt.Errorf("TXT record %s does not contain the token", record)
	}
	return store.ByDNS, nil
}

// ByFile looks for the token on a line of the file.
func (c *Checker) ByFile(ctx context.Context, home weburl.URL, token string) (store.Proof, error) {
	file, _ := Names(home)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, file, nil)
	if err != nil {
		return store.NoProof, err
	}
	r.Header.Set("User-Agent", "Headway-Ownership")
	a, err := c.client.Do(r)
	if err != nil {
		return store.NoProof, fmt.Errorf("cannot read %s: %w", file, errors.Unwrap(err))
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return store.NoProof, fmt.Errorf("%s returned status %d", file, a.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, maxFile))
	if err != nil {
		return store.NoProof, fmt.Errorf("cannot read %s: %w", file, err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == token {
			return store.ByFile, nil
		}
	}
	return store.NoProof, fmt.Errorf("%s does not contain the token", file)
}
