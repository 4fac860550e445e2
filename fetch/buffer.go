package fetch

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// leastBuffer is the smallest buffer; most compressed bodies fit into it.
	leastBuffer = 32 << 10
	// bufferStep is the factor between two buffer size classes.
	bufferStep = 4
	// bufferClasses are the sizes from leastBuffer to largestClass.
	bufferClasses = 4
	// largestClass is the largest pooled buffer. Larger bodies are rare; they get a
	// buffer of the maximum size at once.
	largestClass = leastBuffer * bufferStep * bufferStep * bufferStep
)

// buffers is a pool of buffers by size class. It keeps only one buffer larger than
// largestClass, so that a series of large bodies, mostly traps, does not leave each
// buffer to the garbage collector.
type buffers struct {
	classes [bufferClasses]sync.Pool
	large   atomic.Pointer[buffer]
}

// buffer is a contiguous byte buffer. A hold has reserved its capacity.
type buffer struct {
	data []byte
}

// bufferSize returns the buffer size for n bytes of a body limited to limit,
// including the extra byte that shows that the limit is exceeded.
func bufferSize(n, limit int64) int64 {
	n = min(n, limit+1)
	for size := int64(leastBuffer); size <= largestClass; size *= bufferStep {
		if n <= size {
			return size
		}
	}
	return limit + 1
}

// bufferClass returns the pool index of a size up to largestClass.
func bufferClass(size int64) int { return (bits.Len64(uint64(size/leastBuffer)) - 1) / 2 }

// get returns an empty buffer of a size from bufferSize, which the caller has
// reserved.
func (bs *buffers) get(size int64) *buffer {
	if size <= largestClass {
		if b, ok := bs.classes[bufferClass(size)].Get().(*buffer); ok {
			return b
		}
	} else if b := bs.large.Swap(nil); b != nil && b.size() == size {
		return b
	}
	return &buffer{data: make([]byte, 0, size)}
}

// put returns b to the pool.
func (bs *buffers) put(b *buffer) {
	b.data = b.data[:0]
	if size := b.size(); size <= largestClass {
		bs.classes[bufferClass(size)].Put(b)
		return
	}
	bs.large.Store(b)
}

// size is the memory the buffer occupies.
func (b *buffer) size() int64 { return int64(cap(b.data)) }

// room returns the free space behind the data.
func (b *buffer) room() []byte { return b.data[len(b.data):cap(b.data)] }

// widen copies b, whose body is limited to limit, into a buffer of the next larger
// class, which the caller has reserved.
func (bs *buffers) widen(b *buffer, limit int64) *buffer {
	wide := bs.get(bufferSize(bufferStep*b.size(), limit))
	wide.data = append(wide.data, b.data...)
	bs.put(b)
	return wide
}

// widenOn is widen, with the memory reserved from h.
func (bs *buffers) widenOn(ctx context.Context, h *hold, b *buffer, limit int64, pause, resume func()) (*buffer, error) {
	old := b.size()
	if err := h.grow(ctx, bufferSize(bufferStep*old, limit), pause, resume); err != nil {
		return b, err
	}
	wide := bs.widen(b, limit)
	h.shrink(old)
	return wide, nil
}
