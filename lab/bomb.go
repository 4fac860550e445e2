package lab

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// A bomb compresses one block and repeats its compressed form, so that it costs the lab
// almost nothing. Each is made at the first request.
const (
	bombBlock  = 1 << 20
	bombBlocks = 1 << 10 // a bomb decompresses to 1 GiB
)

var (
	pageBomb   = sync.OnceValue(func() []byte { return gzipBomb("", 0, bombBlocks) })
	robotsBomb = sync.OnceValue(func() []byte { return gzipBomb(robotsRules, ' ', bombBlocks) })
	brBomb     = sync.OnceValue(func() []byte { return brotliBomb(bombBlocks) })
	zstdBomb   = sync.OnceValue(func() []byte { return bytes.Repeat(zstdFrame(make([]byte, bombBlock)), bombBlocks) })
	twiceBomb  = sync.OnceValue(func() []byte { return gzipOnce(pageBomb()) })
	nested     = sync.OnceValue(func() []byte {
		return gzipNested([]byte("<p>a thousand layers deep"), nestedCodings, gzip.NoCompression)
	})
)

// bombExhibits are responses that decompress to far more than was sent.
var bombExhibits = []Exhibit{
	{Path: "/exhibit/bomb/br", About: "13 KB of brotli that decompress to one gigabyte", serve: func(x *exchange) { x.encoded(htmlType, "br", brBomb()) }},
	{Path: "/exhibit/bomb/zstd", About: "118 KB of zstd that decompress to one gigabyte", serve: func(x *exchange) { x.encoded(htmlType, "zstd", zstdBomb()) }},
	{Path: "/exhibit/bomb/twice", About: "a gzip bomb inside gzip: 3 KB decompress to one gigabyte", serve: func(x *exchange) {
		x.encoded(htmlType, "gzip, gzip", twiceBomb())
	}},
	{Path: "/exhibit/codings/1000", About: "1,000 layers of gzip, each listed in Content-Encoding", serve: func(x *exchange) {
		x.encoded(htmlType, strings.Repeat("gzip, ", nestedCodings-1)+"gzip", nested())
	}},
	{Path: "/exhibit/codings/unknown", About: "an unknown Content-Encoding", serve: func(x *exchange) {
		x.encoded(htmlType, "x-lab", []byte("<p>plain text"))
	}},
	{Path: "/exhibit/codings/lie", About: "plain text labelled as gzip", serve: func(x *exchange) {
		x.encoded(htmlType, "gzip", []byte("<p>plain text"))
	}},
	{Path: "/exhibit/codings/identity", About: "plain text with Content-Encoding: identity", serve: func(x *exchange) {
		x.encoded(htmlType, "identity", []byte("<p>plain text"))
	}},
}

const nestedCodings = 1000

// gzipBomb is head followed by this many blocks of one byte.
func gzipBomb(head string, fill byte, blocks int) []byte {
	plain := bytes.Repeat([]byte{fill}, bombBlock)
	packed := deflateBlock(plain)
	var b body
	b.reset(true)
	b.text(head)
	b.flushText()
	crc := b.crc
	for range blocks {
		b.out = append(b.out, packed...)
		crc = crc32.Update(crc, crc32.IEEETable, plain)
	}
	b.out = append(b.out, deflateEnd...)
	b.out = binary.LittleEndian.AppendUint32(b.out, crc)
	return binary.LittleEndian.AppendUint32(b.out, uint32(len(head)+blocks*bombBlock))
}

// brotliBomb is this many blocks of zero bytes, at least two. The encoder ends each flush
// at a byte boundary, and from the second block on it has the same history and so writes
// the same bytes; a test decompresses it.
func brotliBomb(blocks int) []byte {
	var buf bytes.Buffer
	w := brotli.NewWriterLevel(&buf, brotli.DefaultCompression)
	plain := make([]byte, bombBlock)
	cut := make([]int, 0, 2)
	for range 2 {
		must(w.Write(plain))
		must(0, w.Flush())
		cut = append(cut, buf.Len())
	}
	must(0, w.Close())
	all := buf.Bytes()
	out := bytes.Clone(all[:cut[0]])
	out = append(out, bytes.Repeat(all[cut[0]:cut[1]], blocks-1)...)
	return append(out, all[cut[1]:]...)
}

// zstdFrame is one complete zstd frame; frames may be concatenated.
func zstdFrame(plain []byte) []byte {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(0, err)
	defer enc.Close()
	return enc.EncodeAll(plain, nil)
}

func gzipOnce(plain []byte) []byte { return gzipNested(plain, 1, gzip.DefaultCompression) }

// gzipNested wraps text in this many layers of gzip.
func gzipNested(plain []byte, layers, level int) []byte {
	w, err := gzip.NewWriterLevel(nil, level)
	must(0, err)
	for range layers {
		var buf bytes.Buffer
		w.Reset(&buf)
		must(w.Write(plain))
		must(0, w.Close())
		plain = buf.Bytes()
	}
	return plain
}

// must is for encoders that write to memory, which cannot fail.
func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}
