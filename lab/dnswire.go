package lab

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
)

const (
	dnsHeader   = 12
	dnsClassIN  = 1
	dnsUDPBytes = 512 // a longer reply over UDP is truncated
)

// Supported record types.
const (
	typeA     = 1
	typeCNAME = 5
	typeAAAA  = 28
)

// RCode is the outcome of a DNS query.
type RCode uint8

// The outcomes the lab supports.
const (
	NoError  RCode = 0
	ServFail RCode = 2
	NXDomain RCode = 3
	Refused  RCode = 5
)

// question is the one question of a query.
type question struct {
	name  string // lower case, without a final dot
	qtype uint16
	end   int // where it ends in the query
}

// parseQuery reads a query with one question.
func parseQuery(q []byte) (question, bool) {
	if len(q) < dnsHeader || binary.BigEndian.Uint16(q[4:]) != 1 || q[2]&0x80 != 0 {
		return question{}, false
	}
	var name strings.Builder
	i := dnsHeader
	for i < len(q) && q[i] != 0 {
		end := i + 1 + int(q[i])
		if q[i] > 63 || end >= len(q) || bytes.IndexByte(q[i+1:end], '.') >= 0 {
			return question{}, false // a dot inside a label would look like two labels
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.Write(q[i+1 : end])
		i = end
	}
	i += 1 + 4 // root label, type, class
	if i > len(q) || i > dnsHeader+255+4 {
		return question{}, false
	}
	return question{name: strings.ToLower(name.String()), qtype: binary.BigEndian.Uint16(q[i-4:]), end: i}, true
}

// reply is the reply to send.
type reply struct {
	rcode     RCode
	cname     string       // the queried name is an alias of this one
	addrs     []netip.Addr // of the name, or of the alias
	ttl       uint32       // seconds
	truncated bool
}

// appendReply writes the reply to a parsed query. A limit above zero truncates a longer
// reply.
func appendReply(dst, query []byte, q question, r reply, limit int) []byte {
	start := len(dst)
	dst = append(dst, query[:q.end]...)
	head := dst[start:]
	head[2], head[3] = 0x84|query[2]&1, byte(r.rcode) // reply, authoritative, keep RD
	clear(head[6:dnsHeader])
	if r.truncated {
		head[2] |= 0x02
		return dst
	}
	answers := uint16(0)
	owner := []byte{0xc0, dnsHeader} // points to the question
	if r.cname != "" {
		target := appendName(nil, r.cname)
		dst = appendRecord(dst, owner, typeCNAME, r.ttl, target)
		owner = target
		answers++
	}
	for _, a := range r.addrs {
		switch {
		case q.qtype == typeA && a.Is4():
			dst = appendRecord(dst, owner, typeA, r.ttl, a.AsSlice())
			answers++
		case q.qtype == typeAAAA && a.Is6():
			dst = appendRecord(dst, owner, typeAAAA, r.ttl, a.AsSlice())
			answers++
		}
	}
	if limit > 0 && len(dst)-start > limit {
		r.truncated = true
		return appendReply(dst[:start], query, q, r, 0)
	}
	binary.BigEndian.PutUint16(dst[start+6:], answers)
	return dst
}

func appendRecord(dst, owner []byte, rtype uint16, ttl uint32, data []byte) []byte {
	dst = append(dst, owner...)
	dst = binary.BigEndian.AppendUint16(dst, rtype)
	dst = binary.BigEndian.AppendUint16(dst, dnsClassIN)
	dst = binary.BigEndian.AppendUint32(dst, ttl)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(data)))
	return append(dst, data...)
}

func appendName(dst []byte, name string) []byte {
	for label := range strings.SplitSeq(name, ".") {
		dst = append(dst, byte(len(label)))
		dst = append(dst, label...)
	}
	return append(dst, 0)
}
