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

// checkURL accepts a URL, or a host, which means its home page.
func checkURL(s string) error {
	raw := s
	if !strings.Contains(s, "://") {
		raw = "https://" + s
	}
	if _, err := weburl.Parse(raw); err != nil {
		return &valueError{kind: "URL", text: s, hint: "give a URL or a host, for example https://example.com", cause: err}
	}
	return nil
}

// checkHost accepts a host with or without a port.
func checkHost(s string) error {
	u, err := weburl.Parse("http://" + s + "/")
	if err != nil || strings.ContainsAny(s, "/?#@") || u.PathQuery() != "/" {
		return &valueError{kind: "host", text: s, hint: "give a host without scheme or path, for example example.com or example.com:8080"}
	}
	return nil
}

// checkRange accepts a range of addresses, with or without ports.
func checkRange(s string) error {
	if _, err := guard.ParseRange(s); err != nil {
		return &valueError{kind: "address range", text: s, hint: "write CIDR[:PORT,…] within a private block, for example 127.0.0.0/8:8780", cause: errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("range %q: ", s)))}
	}
	return nil
}

// checkPrefix accepts a block of addresses, or [PublicAddresses].
func checkPrefix(s string) error {
	if s == PublicAddresses {
		return nil
	}
	if _, err := netip.ParsePrefix(s); err != nil {
		return &valueError{kind: "address block", text: s, hint: "give a block such as 10.0.0.0/8, or " + PublicAddresses}
	}
	return nil
}

// checkServer accepts the address of a name server.
func checkServer(s string) error {
	if _, err := netip.ParseAddrPort(s); err != nil {
		return &valueError{kind: "address", text: s, hint: "write IP:PORT, for example 127.0.0.1:53"}
	}
	return nil
}

// checkListen accepts an address to listen on.
func checkListen(s string) error {
	if _, err := netip.ParseAddrPort(s); err != nil {
		return &valueError{kind: "address", text: s, hint: "write IP:PORT, for example 127.0.0.1:9464"}
	}
	return nil
}

// checkEndpoint accepts the URL of a service.
func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &valueError{kind: "URL", text: s, hint: "give an http or https URL without user or query, for example http://127.0.0.1:4318"}
	}
	return nil
}

// checkHeader accepts a header field of a request. Errors do not contain the value,
// which may be secret.
func checkHeader(s string) error {
	if name, _, ok := strings.Cut(s, ":"); !ok || strings.TrimSpace(name) == "" {
		return &valueError{kind: "header", hint: "write it as Name: value"}
	}
	return nil
}

// checkUserInfo accepts a name and a password. Errors do not contain them.
func checkUserInfo(s string) error {
	if !strings.Contains(s, ":") {
		return &valueError{kind: "credentials", hint: "write them as user:password"}
	}
	return nil
}

// otherAgents are product tokens of browsers, tools and other crawlers. Headway does
// not disguise itself.
var otherAgents = []string{
	"applebot", "baiduspider", "bingbot", "chrome", "curl", "duckduckbot", "edge", "facebookexternalhit", "firefox", "gecko", "googlebot",
	"gptbot", "mozilla", "msie", "opera", "safari", "scrapy", "slurp", "wget", "yandexbot",
}

// checkAgent accepts a product token, which robots.txt can name, with or without a
// version.
func checkAgent(s string) error {
	product, version, versioned := strings.Cut(s, "/")
	letters := func(s, also string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(also, r)
		})
	}
	if !letters(product, "-_") || versioned && !letters(version, "0123456789.-_+") {
		return &valueError{kind: "product name", text: s, hint: "use letters, - and _, with an optional version, for example examplebot/1.2"}
	}
	if slices.Contains(otherAgents, strings.ToLower(product)) {
		return &valueError{kind: "product name", text: s, hint: "choose a name of your own", cause: errors.New("it belongs to another program, and headway does not disguise itself")}
	}
	return nil
}
