package weburl

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain returns the registrable domain: the public suffix and one more label, using
// the public suffix list with its private section, so that a.github.io and b.github.io
// are two domains. It decides which worker owns the URL.
//
// An IP address is its own domain. So is a host that is itself a public suffix, such as
// github.io or localhost.
//
// The lookup takes about 300 ns, several times a Resolve, and depends only on the host
// name. Code that sees many URLs of one [URL.Host] should cache it.
func (u URL) Domain() string {
	name := u.Hostname()
	if u.isAddress() {
		return name
	}
	suffix, _ := publicsuffix.PublicSuffix(name)
	if len(suffix) >= len(name) {
		return name
	}
	end := len(name) - len(suffix) - 1 // at the dot before the suffix
	return name[strings.LastIndexByte(name[:end], '.')+1:]
}

// isAddress reports whether the host is an IP address. In canonical form a last label
// that starts with a digit can still be a name (1a), an all-digit one cannot.
func (u URL) isAddress() bool {
	if u.s == "" {
		return false
	}
	host := u.s[u.hostStart():u.hostEnd]
	if host[0] == '[' {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Trim(last, "0123456789") == ""
}
