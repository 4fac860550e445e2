package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// The links of a page are stored in columns, compressed together: their number; kind and
// nofollow of each; the URLs, each with how much it shares with the one before, the first
// with the page; the rel attributes; the texts.

// linkKinds are the kinds of links with a number, the index; 0 is any other, and its name
// follows. A kind may be added at the end.
var linkKinds = [...]string{"", "a", "area", "frame", "link", "header", "refresh", "image"}

// maxLinks is the size of the longest links before compression.
const maxLinks = visit.MaxLinkBytes + visit.MaxLinks*16

// window is how far back the compressor looks.
const window = 256 << 10

// compressor and decompressor are safe for concurrent use.
var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxLinks), zstd.WithDecoderMaxWindow(1<<20))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// minLink is the size of the shortest link before compression.
const minLink = 5

// Links encodes the links of a visit that are kept; nil if there are none.
func Links(v *visit.Visit) []byte {
	links := v.Kept()
	if len(links) == 0 {
		return nil
	}
	raw := make([]byte, 0, v.BulkSize()-v.Page.Content.Size()+8*len(links)+binary.MaxVarintLen64)
	raw = binary.AppendUvarint(raw, uint64(len(links)))
	for i := range links {
		kind := max(slices.Index(linkKinds[:], links[i].Kind), 0)
		mark := byte(kind << 1)
		if links[i].Nofollow {
			mark |= 1
		}
		if raw = append(raw, mark); kind == 0 {
			raw = appendText(raw, links[i].Kind)
		}
	}
	last := v.Item.URL.String()
	for i := range links {
		u := links[i].URL.String()
		n := shared(last, u)
		raw = appendText(binary.AppendUvarint(raw, uint64(n)), u[n:])
		last = u
	}
	for i := range links {
		raw = appendText(raw, links[i].Rel)
	}
	for i := range links {
		raw = appendText(raw, links[i].Anchor)
	}
	return compressor().EncodeAll(raw, nil)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// shared is the length of the longest common prefix.
func shared(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// ReadLinks decodes what Links wrote for a page.
func ReadLinks(data []byte, page weburl.URL) ([]visit.Link, error) {
	var list []visit.Link
	err := readLinks(data, page, func(int, []byte) bool { return true }, func(_ int, l visit.Link) { list = append(list, l) })
	return list, err
}

// LinksTo decodes the links of a page to a target, from a position on, and calls yield with
// each and its position.
func LinksTo(data []byte, page, target weburl.URL, from int, yield func(position int, l visit.Link)) error {
	return readLinks(data, page, func(i int, url []byte) bool { return i >= from && string(url) == target.String() }, yield)
}

// readLinks decodes the links of a page whose URL is wanted.
func readLinks(data []byte, page weburl.URL, want func(i int, url []byte) bool, yield func(i int, l visit.Link)) error {
	raw, err := decompressor().DecodeAll(data, nil)
	if err != nil {
		return fmt.Errorf("links of %s: %w: %w", page, store.ErrCorrupt, err)
	}
	d := linkDecoder{raw: raw}
	n := d.number(visit.MaxLinks)
	if n > len(d.raw)/minLink {
		n, d.bad = 0, true
	}
	list, wanted := make([]visit.Link, n), make([]bool, n)
	for i := range list {
		d.mark(&list[i])
	}
	last := []byte(page.String())
	for i := range list {
		last = append(last[:d.number(len(last))], d.text()...)
		if len(last) > weburl.MaxLength {
			d.bad = true
		}
		if wanted[i] = !d.bad && want(i, last); wanted[i] {
			list[i].URL, err = weburl.Parse(string(last))
			d.bad = d.bad || err != nil
		}
	}
	for i := range list {
		if text := d.text(); wanted[i] {
			list[i].Rel = string(text)
		}
	}
	for i := range list {
		if text := d.text(); wanted[i] {
			list[i].Anchor = string(text)
		}
	}
	if d.bad || len(d.raw) > 0 {
		return fmt.Errorf("links of %s: %w", page, store.ErrCorrupt)
	}
	for i := range list {
		if wanted[i] {
			yield(i, list[i])
		}
	}
	return nil
}

// linkDecoder reads the columns. Once bad, it reads zeros.
type linkDecoder struct {
	raw []byte
	bad bool
}

// number reads a number up to a maximum.
func (d *linkDecoder) number(most int) int {
	n, size := binary.Uvarint(d.raw)
	if d.bad || size <= 0 || n > uint64(most) {
		d.bad = true
		return 0
	}
	d.raw = d.raw[size:]
	return int(n)
}

// text reads a text.
func (d *linkDecoder) text() []byte {
	n := d.number(len(d.raw))
	if n > len(d.raw) {
		d.bad = true
		return nil
	}
	text := d.raw[:n]
	d.raw = d.raw[n:]
	return text
}

// mark reads the kind of a link and nofollow.
func (d *linkDecoder) mark(l *visit.Link) {
	if d.bad || len(d.raw) == 0 || int(d.raw[0]>>1) >= len(linkKinds) {
		d.bad = true
		return
	}
	mark := d.raw[0]
	d.raw = d.raw[1:]
	l.Kind, l.Nofollow = linkKinds[mark>>1], mark&1 != 0
	if mark>>1 == 0 {
		l.Kind = string(d.text())
	}
}
