package fetch

import (
	"context"
	"math/bits"
	"sync"
)

const (
	// leastBuffer is the smallest buffer; most bodies as sent fit into it.
	leastBuffer = 32 << 10
	// pooledBuffer is the largest buffer that is kept for the next body.
	pooledBuffer = 1 << 20
	// bufferClasses are the sizes from leastBuffer to pooledBuffer, doubling.
	bufferClasses = 6
)

// bufferPools keep buffers by size.
var bufferPools [bufferClasses]sync.Pool

// buffer collects bytes in one piece. Its capacity is paid for by a hold.
type buffer struct {
	data []byte
}

// bufferSize rounds up to a size that buffers have.
func bufferSize(n int64) int64 {
	if n <= leastBuffer {
		return leastBuffer
	}
	return 1 << bits.Len64(uint64(n-1))
}

// bufferClass is the index of the pool for a size of bufferSize.
func bufferClass(size int64) int { return bits.Len64(uint64(size/leastBuffer)) - 1 }

// newBuffer returns an empty buffer with room for at least n bytes. The caller
// has paid for bufferSize(n).
func newBuffer(n int64) *buffer {
	size := bufferSize(n)
	if size <= pooledBuffer {
		if b, ok := bufferPools[bufferClass(size)].Get().(*buffer); ok {
			b.data = b.data[:0]
			return b
		}
	}
	return &buffer{data: make([]byte, 0, size)}
}

// free gives the memory to the next body.
func (b *buffer) free() {
	if size := int64(cap(b.data)); size <= pooledBuffer {
		bufferPools[bufferClass(size)].Put(b)
	}
}

// room returns the free space behind the data.
func (b *buffer) room() []byte { return b.data[len(b.data):cap(b.data)] }

// widened returns a buffer of twice the size with the same data, paid for by
// h, and frees b.
func (b *buffer) widened(ctx context.Context, h *hold, pause, resume func()) (*buffer, error) {
	size := int64(cap(b.data))
	if err := h.grow(ctx, 2*size, pause, resume); err != nil {
		return b, err
	}
	wide := newBuffer(2 * size)
	wide.data = append(wide.data, b.data...)
	b.free()
	h.shrink(size)
	return wide, nil
}
