package weburl

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The limits of DNS, and the longest decoded host that is processed. The conversion to
// ASCII is quadratic in the length of a label, and no name of maxName bytes needs more.
const (
	maxName     = 253 // without the root dot
	maxLabel    = 63
	maxHostText = 4 * maxName
)

// domainToASCII is UTS #46 as the URL Standard requires: mapped for lookup, not
// transitional, with our own checks for hyphens and ASCII punctuation.
var domainToASCII = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.BidiRule(),
	idna.VerifyDNSLength(false),
)

// decodeHost decodes escapes in a host name.
func decodeHost(p *parts) (string, *refusal) {
	if p.host == "" {
		return "", &refusal{BadHost, "missing host"}
	}
	if p.host[0] == '[' || strings.IndexByte(p.host, '%') < 0 {
		return "", nil
	}
	b := make([]byte, 0, len(p.host))
	for i := 0; i < len(p.host); i++ {
		c, ok := unescape(p.host[i:])
		if !ok {
			b = append(b, p.host[i])
			continue
		}
		b = append(b, c)
		i += 2
	}
	if len(b) == len(p.host) {
		return "", nil
	}
	if b[0] == '[' {
		return "", &refusal{BadHost, "the host contains a forbidden character"} // not an address in brackets
	}
	p.host = string(b)
	return "percent-encoding in the host decoded", nil
}

// hostToASCII converts a host name to lower-case ASCII.
func hostToASCII(p *parts) (string, *refusal) {
	if p.host[0] == '[' {
		return "", nil
	}
	if len(p.host) > maxHostText {
		return "", &refusal{BadHost, "the host name is too long"}
	}
	ascii, reason := strings.ToLower(p.host), "host lower-cased"
	if needsIDNA(p.host) {
		var err error
		if ascii, err = toASCII(p.host); err != nil {
			return "", &refusal{BadHost, "the host is not a valid internationalised domain name"}
		}
		if !strings.EqualFold(ascii, p.host) {
			reason = "internationalised host written in Punycode"
		}
	}
	if ascii == "" {
		return "", &refusal{BadHost, "missing host"} // all characters were ignorable
	}
	if hasForbidden(ascii) {
		return "", &refusal{BadHost, "the host contains a forbidden character"}
	}
	if ascii == p.host {
		return "", nil
	}
	p.host = ascii
	return reason, nil
}

// needsIDNA reports whether a name has non-ASCII characters or labels in Punycode.
func needsIDNA(name string) bool {
	if !isASCII(name) {
		return true
	}
	for label := range strings.SplitSeq(name, ".") {
		if hasACE(label) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasACE reports whether a label starts with "xn--", ignoring case.
func hasACE(label string) bool {
	return len(label) >= 4 && strings.EqualFold(label[:4], "xn--")
}

// toASCII converts an international name, and refuses what the library wrongly accepts:
// half encoded labels, a last label "xn--" that it drops, and names that would convert
// to yet another name the next time.
func toASCII(name string) (string, error) {
	for label := range strings.SplitSeq(name, ".") {
		if hasACE(label) && !isASCII(label) {
			return "", errUnstable
		}
	}
	ascii, err := domainToASCII.ToASCII(name)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(ascii, ".") {
		// After a true root dot one more letter is a separate label.
		if longer, err := domainToASCII.ToASCII(name + "a"); err != nil || longer != ascii+"a" {
			return "", errUnstable
		}
	}
	again, err := domainToASCII.ToASCII(ascii)
	if err != nil {
		return "", err
	}
	if again != ascii {
		return "", errUnstable
	}
	return ascii, nil
}

// errUnstable means that a converted name decodes to a different host.
var errUnstable = errors.New("the Punycode form decodes to a different name")

// hasForbidden reports whether a name has a byte that no domain name may
// contain.
func hasForbidden(name string) bool {
	for i := range len(name) {
		if is(name[i], forbidden) {
			return true
		}
	}
	return false
}

// dropRootDot removes one trailing dot: with and without it, a name is the same host
// and must have the same pace.
func dropRootDot(p *parts) (string, *refusal) {
	name, ok := strings.CutSuffix(p.host, ".")
	if !ok {
		return "", nil
	}
	p.host = name
	return "trailing dot removed from the host", nil
}

// checkName checks a host name against the limits of DNS.
func checkName(p *parts) (string, *refusal) {
	if p.host != "" && p.host[0] == '[' {
		return "", nil
	}
	if len(p.host) > maxName {
		return "", &refusal{BadHost, "the host is longer than 253 bytes"}
	}
	for label := range strings.SplitSeq(p.host, ".") {
		switch {
		case label == "":
			return "", &refusal{BadHost, "the host has an empty label"}
		case len(label) > maxLabel:
			return "", &refusal{BadHost, "a label of the host is longer than 63 bytes"}
		}
	}
	return "", nil
}
