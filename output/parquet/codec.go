package parquet

import (
	"github.com/klauspost/compress/zstd"
	codecs "github.com/parquet-go/parquet-go/compress/zstd"
)

// pageSize is how large a page of a column becomes, more or less, before it is
// compressed, and how far back compression looks: pages are compressed one by
// one, and the 4 MB that the library looks back cost 16 MB of memory a file.
const pageSize = 256 << 10

// codec compresses pages in little memory. What it writes, any zstd reads.
type codec struct {
	codecs.Codec
	pages *zstd.Encoder
}

func newCodec() (*codec, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(pageSize),
		zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	return &codec{pages: e}, nil
}

// Encode compresses a page. It may be called by many goroutines at once.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.pages.EncodeAll(src, dst[:0]), nil
}
