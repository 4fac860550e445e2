package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"headway/fetch/guard"
	"headway/weburl"
)

// checkURL wants something a crawl can begin with: a URL, or a host that stands
// for its home page.
func checkURL(s string) error {
	raw := s
	if !strings.Contains(s, "://") {
		raw = "https://" + s
	}
	if _, err := weburl.Parse(raw); err != nil {
		return fmt.Errorf("names %q: %w", s, err)
	}
	return nil
}

// checkHost wants a host, with a port or not, and nothing else.
func checkHost(s string) error {
	u, err := weburl.Parse("http://" + s + "/")
	if err != nil || strings.ContainsAny(s, "/?#@") || u.PathQuery() != "/" {
		return fmt.Errorf("names %q, which is no host such as example.com or example.com:8080", s)
	}
	return nil
}

// checkRange wants a range of addresses, with ports or not.
func checkRange(s string) error {
	if _, err := guard.ParseRange(s); err != nil {
		return fmt.Errorf("has a bad %w", err)
	}
	return nil
}

// checkPrefix wants a block of addresses, or the word for all public ones.
func checkPrefix(s string) error {
	if s == PublicAddresses {
		return nil
	}
	if _, err := netip.ParsePrefix(s); err != nil {
		return fmt.Errorf("names %q, which is neither a block such as 10.0.0.0/8 nor %s", s, PublicAddresses)
	}
	return nil
}

// checkServer wants the address of a name server.
func checkServer(s string) error {
	if _, err := netip.ParseAddrPort(s); err != nil {
		return fmt.Errorf("is %q, which is no address such as 127.0.0.1:53", s)
	}
	return nil
}

// checkListen wants an address to listen at.
func checkListen(s string) error {
	if _, err := netip.ParseAddrPort(s); err != nil {
		return fmt.Errorf("is %q, which is no address such as 127.0.0.1:9464", s)
	}
	return nil
}

// checkEndpoint wants the URL of a service that something is sent to.
func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("is %q, which is no URL such as http://127.0.0.1:4318", s)
	}
	return nil
}

// checkHeader wants a field of a request. The value may be a secret and is not
// repeated.
func checkHeader(s string) error {
	if name, _, ok := strings.Cut(s, ":"); !ok || strings.TrimSpace(name) == "" {
		return errors.New("has an entry that is not written as Name: value")
	}
	return nil
}

// checkUserInfo wants a name and a password, which are not repeated.
func checkUserInfo(s string) error {
	if !strings.Contains(s, ":") {
		return errors.New("is not written as user:password")
	}
	return nil
}

// taken are product tokens of browsers, tools and crawlers that we are not.
// Headway does not disguise itself.
var taken = []string{
	"applebot", "baiduspider", "bingbot", "chrome", "curl", "duckduckbot", "edge", "facebookexternalhit", "firefox", "gecko", "googlebot",
	"gptbot", "mozilla", "msie", "opera", "safari", "scrapy", "slurp", "wget", "yandexbot",
}

// checkAgent wants a product token, which robots.txt can name, and perhaps a
// version.
func checkAgent(s string) error {
	product, version, versioned := strings.Cut(s, "/")
	letters := func(s, also string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(also, r)
		})
	}
	if !letters(product, "-_") || versioned && !letters(version, "0123456789.-_+") {
		return fmt.Errorf("is %q, which is no product such as examplebot or examplebot/1.2", s)
	}
	if slices.Contains(taken, strings.ToLower(product)) {
		return fmt.Errorf("is %q, which is somebody else: headway does not disguise itself", s)
	}
	return nil
}
