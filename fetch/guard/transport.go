package guard

import (
	"net/http"
	"strings"
	"time"
)

// Transport returns an HTTP transport whose connections all go through d, without a
// proxy. Callers may set its other fields before first use, but not its dial
// functions.
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

// Client returns an HTTP client over [Dialer.Transport] for services that are not
// crawled, such as webhooks and object storage. It follows no redirects, so that the
// configured destination is final.
func (d *Dialer) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: d.Transport(),
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// proxyVariables are the environment variables that configure a proxy elsewhere.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// ProxyWarning returns a warning if getenv, such as os.Getenv, has a proxy setting, and
// "" otherwise. The value is not repeated: it may contain a password.
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
