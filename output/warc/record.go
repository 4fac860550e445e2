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
	version        = "WARC/1.1\r\n"
	typeHTTPIn     = "application/http;msgtype=response"
	typeHTTPOut    = "application/http;msgtype=request"
	typeFields     = "application/warc-fields"
	dateLayout     = "2006-01-02T15:04:05.000000Z"
	maxKeptBuilder = 1 << 20 // memory a builder keeps between two exchanges
)

// digest is the SHA-256 of bytes, by which payloads are compared.
type digest [sha256.Size]byte

// String formats it as the standard does.
func (d digest) String() string { return "sha256:" + base32.StdEncoding.EncodeToString(d[:]) }

// digestOf hashes the concatenated parts.
func digestOf(parts ...[]byte) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(d[:0])
	return d
}

// newID returns a globally unique record ID: a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return "<urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + ">"
}

// date formats a time.
func date(t time.Time) string { return t.UTC().Format(dateLayout) }

// fields are named fields in order.
type fields struct{ text []byte }

// add writes a field on one line, whatever its value: an untrusted value cannot start another
// field. Empty values are omitted.
func (f *fields) add(name, value string) {
	if value = oneLine(value); value == "" {
		return
	}
	f.text = append(f.text, name...)
	f.text = append(f.text, ": "...)
	f.text = append(f.text, value...)
	f.text = append(f.text, "\r\n"...)
}

// oneLine replaces what is not allowed in a field: control characters and invalid UTF-8.
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

// recordBuilder builds records. It is used by one goroutine.
type recordBuilder struct {
	deflate *flate.Writer
	out     bytes.Buffer // the finished records, one gzip member each
	header  fields
	heads   []byte
}

func newRecordBuilder() *recordBuilder {
	p := &recordBuilder{}
	var err error
	if p.deflate, err = flate.NewWriter(&p.out, flate.DefaultCompression); err != nil {
		panic(err) // the level is a constant
	}
	return p
}

// reset empties the builder.
func (p *recordBuilder) reset() {
	if p.out.Reset(); p.out.Cap() > maxKeptBuilder {
		p.out = bytes.Buffer{}
	}
}

// block is the content of a record: a header, and a body that may already be compressed.
type block struct {
	head, body []byte
	compressed bool
}

// record adds one record with these fields.
func (p *recordBuilder) record(kind, id string, at time.Time, contentType string, more *fields, b block) error {
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

// recordEnd ends a record.
const recordEnd = "\r\n\r\n"

// gzipHeader starts a member: deflate, without a name or a time.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// member adds the gzip member of a record. A body that is already compressed is stored: to
// deflate it again would take more CPU than everything else here, without benefit. Small
// parts are deflated without the large tables used for a body.
func (p *recordBuilder) member(header []byte, b block) error {
	p.out.WriteString(gzipHeader)
	parts := [][]byte{header, b.head, b.body, []byte(recordEnd)}
	if len(b.body) > 0 && !b.compressed {
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
		if err := flate.StatelessDeflate(&p.out, p.heads, false, nil); err != nil { // to a byte boundary
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

// store adds an uncompressed deflate block; final is 1 for the last.
func (p *recordBuilder) store(final byte, data []byte) {
	head := append(p.out.AvailableBuffer(), final)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(data)))
	head = binary.LittleEndian.AppendUint16(head, ^uint16(len(data)))
	p.out.Write(head)
	p.out.Write(data)
}
