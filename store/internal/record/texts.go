package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"headway/store"
	"headway/visit"
)

// The texts of a page are stored as the lengths of its text, of the Markdown and of the
// fields, and these and the problems of the fields, compressed together: the Markdown repeats
// most of the text.

// maxTexts is the size of the longest texts before compression.
const maxTexts = 3*visit.MaxText + 3*binary.MaxVarintLen64

// Texts encodes the texts of a page; nil if it has none.
func Texts(c *visit.Content) []byte {
	if c.Size() == 0 {
		return nil
	}
	b := textBuffers.Get().(*textBuffer)
	b.raw = binary.AppendUvarint(b.raw[:0], uint64(len(c.Text)))
	b.raw = binary.AppendUvarint(b.raw, uint64(len(c.Markdown)))
	b.raw = binary.AppendUvarint(b.raw, uint64(len(c.Fields)))
	b.raw = append(append(b.raw, c.Text...), c.Markdown...)
	b.raw = append(append(b.raw, c.Fields...), c.FieldProblems...)
	b.packed = s2.Encode(b.packed[:cap(b.packed)], b.raw)
	packed := bytes.Clone(b.packed)
	if cap(b.raw) <= maxBuffer {
		textBuffers.Put(b)
	}
	return packed
}

// textBuffer is what a text is compressed in: the result is a third of it.
type textBuffer struct{ raw, packed []byte }

// maxBuffer is the size of the largest buffer that is kept.
const maxBuffer = 256 << 10

var textBuffers = sync.Pool{New: func() any { return new(textBuffer) }}

// ReadTexts decodes what Texts wrote into the content of a visit.
func ReadTexts(data []byte, v *visit.Visit) error {
	size, err := s2.DecodedLen(data)
	if err == nil && size > maxTexts {
		err = fmt.Errorf("%d bytes, at most %d", size, maxTexts)
	}
	var raw []byte
	if err == nil {
		raw, err = s2.Decode(nil, data)
	}
	if err != nil {
		return fmt.Errorf("text of %s: %w: %w", v.Item.URL, store.ErrCorrupt, err)
	}
	texts, ok := split(raw)
	if !ok {
		return fmt.Errorf("text of %s: %w", v.Item.URL, store.ErrCorrupt)
	}
	c := v.Page.Content
	c.Text, c.Markdown, c.Fields, c.FieldProblems = texts[0], texts[1], visit.Object(texts[2]), visit.Object(texts[3])
	return nil
}

// split returns text, Markdown, fields and problems.
func split(raw []byte) (texts [4]string, ok bool) {
	var lengths [3]uint64
	for i := range lengths {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			return texts, false
		}
		raw, lengths[i] = raw[size:], n
	}
	for i, n := range lengths {
		if n > uint64(len(raw)) {
			return texts, false
		}
		texts[i], raw = string(raw[:n]), raw[n:]
	}
	texts[3] = string(raw)
	return texts, true
}
