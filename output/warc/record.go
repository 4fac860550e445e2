package warc

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
)

// The types of records.
const (
	typeInfo     = "warcinfo"
	typeResponse = "response"
	typeRequest  = "request"
	typeRevisit  = "revisit"
	typeMetadata = "metadata"
)

// Profiles of revisit records.
const (
	profileSame        = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

const (
	version      = "WARC/1.1\r\n"
	typeHTTPIn   = "application/http;msgtype=response"
	typeHTTPOut  = "application/http;msgtype=request"
	typeFields   = "application/warc-fields"
	dateLayout   = "2006-01-02T15:04:05.000000Z"
	maxKeptPress = 1 << 20 // of the memory of a press, between two exchanges
)

// digest is the SHA-256 of bytes, by which payloads are compared.
type digest [sha256.Size]byte

// String writes it as the standard has it.
func (d digest) String() string { return "sha256:" + base32.StdEncoding.EncodeToString(d[:]) }

// digestOf hashes the parts as if they were one.
func digestOf(parts ...[]byte) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(d[:0])
	return d
}

// newID names a record, for ever and everywhere: a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return "<urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + ">"
}

// date writes a moment.
func date(t time.Time) string { return t.UTC().Format(dateLayout) }

// fields are named fields, in their order.
type fields struct{ text []byte }

// add writes a field on one line, whatever its value holds: a value that came
// from elsewhere cannot begin another field. Empty ones are left out.
func (f *fields) add(name, value string) {
	if value = oneLine(value); value == "" {
		return
	}
	f.text = append(f.text, name...)
	f.text = append(f.text, ": "...)
	f.text = append(f.text, value...)
	f.text = append(f.text, "\r\n"...)
}

// oneLine replaces what may not stand in a field: controls, and bytes that are
// no UTF-8.
func oneLine(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			clean = false
			break
		}
	}
	if !clean {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return strings.TrimSpace(s)
}

// press makes records. It is used by one goroutine.
type press struct {
	deflate *flate.Writer
	out     bytes.Buffer // the records made, one gzip member after the other
	header  fields
	heads   []byte
}

func newPress() *press {
	p := &press{}
	var err error
	if p.deflate, err = flate.NewWriter(&p.out, flate.DefaultCompression); err != nil {
		panic(err) // the level is a constant
	}
	return p
}

// reset makes the press empty.
func (p *press) reset() {
	if p.out.Reset(); p.out.Cap() > maxKeptPress {
		p.out = bytes.Buffer{}
	}
}

// block is what a record holds: a head, and a body that may be folded already.
type block struct {
	head, body []byte
	folded     bool
}

// record adds one record with these fields.
func (p *press) record(kind, id string, at time.Time, contentType string, more *fields, b block) error {
	h := &p.header
	h.text = append(h.text[:0], version...)
	h.add("WARC-Type", kind)
	h.add("WARC-Record-ID", id)
	h.add("WARC-Date", date(at))
	h.text = append(h.text, more.text...)
	h.add("WARC-Block-Digest", digestOf(b.head, b.body).String())
	h.add("Content-Type", contentType)
	h.add("Content-Length", strconv.Itoa(len(b.head)+len(b.body)))
	h.text = append(h.text, "\r\n"...)
	if err := p.member(h.text, b); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return nil
}

// recordEnd is what a record ends with.
const recordEnd = "\r\n\r\n"

// gzipHeader begins a member: deflated, without a name or a time.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// member adds the gzip member of a record. A body that is folded already is
// stored in it as it is: to deflate it would cost more CPU than everything else
// here, for nothing. What is small is deflated without the large tables that a
// body is worth.
func (p *press) member(header []byte, b block) error {
	p.out.WriteString(gzipHeader)
	parts := [][]byte{header, b.head, b.body, []byte(recordEnd)}
	if len(b.body) > 0 && !b.folded {
		p.deflate.Reset(&p.out)
		for _, part := range parts {
			if _, err := p.deflate.Write(part); err != nil {
				return err
			}
		}
		if err := p.deflate.Close(); err != nil {
			return err
		}
	} else {
		p.heads = append(append(p.heads[:0], header...), b.head...)
		if err := flate.StatelessDeflate(&p.out, p.heads, false, nil); err != nil { // up to a whole byte
			return err
		}
		for piece := range slices.Chunk(b.body, math.MaxUint16) {
			p.store(0, piece)
		}
		p.store(1, []byte(recordEnd))
	}
	crc, size := uint32(0), 0
	for _, part := range parts {
		crc = crc32.Update(crc, crc32.IEEETable, part)
		size += len(part)
	}
	end := binary.LittleEndian.AppendUint32(p.out.AvailableBuffer(), crc)
	p.out.Write(binary.LittleEndian.AppendUint32(end, uint32(size)))
	return nil
}

// store adds a block of deflate that is not compressed; final is 1 for the last.
func (p *press) store(final byte, data []byte) {
	head := append(p.out.AvailableBuffer(), final)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(data)))
	head = binary.LittleEndian.AppendUint16(head, ^uint16(len(data)))
	p.out.Write(head)
	p.out.Write(data)
}
