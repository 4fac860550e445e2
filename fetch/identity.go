package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Identity is how requests identify us.
type Identity struct {
	// Product is the token that robots.txt groups name; "headway".
	Product string
	// Version of the product, or "".
	Version string
	// Contact is where site owners can reach the operator: an email address or a URL.
	// Without one only owned hosts are contacted.
	Contact string
}

func (id Identity) withDefaults() Identity {
	id.Product = cmp.Or(id.Product, "headway")
	return id
}

// UserAgent returns the field value, as in "headway/1.2 (+https://example.com/bot)".
func (id Identity) UserAgent() string {
	s := id.Product
	if id.Version != "" {
		s += "/" + id.Version
	}
	if id.Contact != "" {
		s += " (+" + id.Contact + ")"
	}
	return s
}

func (id Identity) validate() error {
	var errs []error
	if !isToken(id.Product) {
		errs = append(errs, fmt.Errorf("Identity.Product: %q is not a product token", id.Product))
	}
	if id.Version != "" && !isToken(id.Version) {
		errs = append(errs, fmt.Errorf("Identity.Version: %q is not a version token", id.Version))
	}
	if id.Contact != "" && !isContact(id.Contact) {
		errs = append(errs, fmt.Errorf("Identity.Contact: %q is not an email address or a web page URL", id.Contact))
	}
	return errors.Join(errs...)
}

// isContact accepts an email address or a URL.
func isContact(s string) bool {
	for _, r := range s {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`()\"<>`, r) {
			return false
		}
	}
	name, domain, ok := strings.Cut(s, "@")
	if ok && name != "" && strings.Contains(domain, ".") {
		return true
	}
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	return ok && rest != ""
}

// isToken reports whether s is a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// acceptCodings are the content codings we can decode.
const acceptCodings = "gzip, br, zstd"

// baseHeader returns the header of every request; it is shared and read-only.
func baseHeader(id Identity) http.Header {
	return http.Header{
		"User-Agent":      {id.UserAgent()},
		"Accept":          {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		"Accept-Encoding": {acceptCodings},
	}
}

// NoContactError reports a public host that is not contacted without a contact.
type NoContactError struct{ Host string }

// Error names the host.
func (e *NoContactError) Error() string {
	return fmt.Sprintf("fetch %s: a contact is required for public hosts", e.Host)
}

// Hint says what to do about it.
func (e *NoContactError) Hint() string {
	return "set a contact where site owners can reach you, for example you@example.com"
}
