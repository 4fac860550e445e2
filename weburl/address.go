package weburl

import (
	"fmt"
	"net/netip"
	"strings"
)

// rewriteAddress writes an IP address in canonical form: four decimal numbers, or
// lower-case compressed IPv6 in brackets. A name whose last label is a number must be
// an IPv4 address, because a resolver would read it as one.
func rewriteAddress(p *parts) (string, *refusal) {
	var address, reason string
	switch {
	case p.host[0] == '[':
		var ok bool
		if address, ok = parseIPv6(p.host); !ok {
			return "", &refusal{BadHost, "the host is not a valid IPv6 address"}
		}
		reason = "IPv6 address compressed"
	case endsInNumber(p.host):
		var ok bool
		if address, ok = parseIPv4(p.host); !ok {
			return "", &refusal{BadHost, "the host ends in a number and is not a valid IPv4 address"}
		}
		reason = "IPv4 address written in dotted decimal form"
	default:
		return "", nil
	}
	if address == p.host {
		return "", nil
	}
	p.host = address
	return reason, nil
}

// parseIPv6 reads an address in brackets. Zones are refused: they are only meaningful
// on one machine.
func parseIPv6(host string) (string, bool) {
	inner, ok := strings.CutSuffix(host[1:], "]")
	if !ok || strings.IndexByte(inner, '%') >= 0 {
		return "", false
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() {
		return "", false
	}
	if addr.Is4In6() {
		a := addr.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint16(a[12])<<8|uint16(a[13]), uint16(a[14])<<8|uint16(a[15])), true
	}
	return "[" + addr.String() + "]", true
}

// endsInNumber reports whether the last label of a name is a number, so that the name
// must be an address.
func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := ipv4Number(last)
	return ok
}

// parseIPv4 reads one to four numbers; the last one fills the remaining bytes.
func parseIPv4(name string) (string, bool) {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(labels) > 4 {
		return "", false
	}
	var sum uint64
	for i, label := range labels {
		n, ok := ipv4Number(label)
		if !ok {
			return "", false
		}
		if i < len(labels)-1 {
			if n > 255 {
				return "", false
			}
			sum |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return "", false
		}
		sum |= n
	}
	addr := netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return addr.String(), true
}

// ipv4Number reads a decimal, octal (0…) or hexadecimal (0x…) number. Values above 32
// bits saturate.
func ipv4Number(label string) (n uint64, ok bool) {
	if label == "" {
		return 0, false
	}
	base := uint64(10)
	switch {
	case len(label) >= 2 && label[0] == '0' && label[1]|0x20 == 'x':
		label, base = label[2:], 16
	case len(label) >= 2 && label[0] == '0':
		label, base = label[1:], 8
	}
	for i := range len(label) {
		if !is(label[i], hexDigit) {
			return 0, false
		}
		digit := uint64(unhex(label[i]))
		if digit >= base {
			return 0, false
		}
		n = min(n*base+digit, 1<<32)
	}
	return n, true
}
