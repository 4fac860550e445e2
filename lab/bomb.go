package lab

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"
)

const (
	bombBytes = 1 << 30 // what a bomb unfolds to
	bombBlock = 1 << 20 // what is compressed once and repeated
)

// pageBomb is about 1 MB of gzip that unfolds to bombBytes.
var pageBomb = sync.OnceValue(func() []byte { return gzipBomb("", 0) })

// gzipBomb is head followed by bombBytes times one byte, in gzip form. The
// bytes are compressed once and the block repeated, so that a bomb costs the
// lab next to nothing.
func gzipBomb(head string, fill byte) []byte {
	plain := bytes.Repeat([]byte{fill}, bombBlock)
	packed := deflateBlock(plain)
	var b body
	b.reset(true)
	b.text(head)
	b.flushText()
	crc := b.crc
	for range bombBytes / bombBlock {
		b.out = append(b.out, packed...)
		crc = crc32.Update(crc, crc32.IEEETable, plain)
	}
	b.out = append(b.out, deflateEnd...)
	b.out = binary.LittleEndian.AppendUint32(b.out, crc)
	return binary.LittleEndian.AppendUint32(b.out, b.length+bombBytes)
}
