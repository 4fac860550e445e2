package parquet

import (
	"github.com/klauspost/compress/zstd"
	codecs "github.com/parquet-go/parquet-go/compress/zstd"
)

// pageSize is the approximate size of a column's page before compression, and the
// compression window: pages are compressed separately, and the library's default window of
// 4 MB costs 16 MB of memory per file.
const pageSize = 256 << 10

// codec compresses pages in little memory. Its output is standard zstd.
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

// Encode compresses a page. It is safe for concurrent use.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.pages.EncodeAll(src, dst[:0]), nil
}
