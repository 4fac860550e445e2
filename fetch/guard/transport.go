package guard

import (
	"net/http"
	"strings"
	"time"
)

// Transport returns an HTTP transport whose connections all go through d. It
// knows no proxy. Callers may set its other fields before the first use, but
// not its dial functions.
func (d *Dialer) Transport() *http.Transport {
	return &http.Transport{
		Proxy:               nil, // a proxy would dial for us, unguarded
		DialContext:         d.DialContext,
		TLSHandshakeTimeout: d.cfg.DialTimeout,
		IdleConnTimeout:     time.Minute,
		MaxIdleConns:        100,
		ForceAttemptHTTP2:   true,
	}
}

// Client returns an HTTP client over [Dialer.Transport] for services that are
// not crawled, such as webhooks and object storage. It follows no redirect:
// whoever is told where to send something decides that once.
func (d *Dialer) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: d.Transport(),
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// proxyVariables are the environment variables other programs take a proxy from.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// ProxyWarning returns the sentence to show when getenv, such as os.Getenv,
// knows of a proxy, and "" when it does not. The value is not repeated: it may
// hold a password.
func ProxyWarning(getenv func(string) string) string {
	var set []string
	for _, name := range proxyVariables {
		if getenv(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return strings.Join(set, ", ") + " ignored: a proxy would defeat the address guard"
}
