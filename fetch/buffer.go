package fetch

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// leastBuffer is the smallest buffer; most bodies as sent fit into it.
	leastBuffer = 32 << 10
	// bufferStep is how much larger the next class of buffers is.
	bufferStep = 4
	// bufferClasses are the sizes from leastBuffer to largestClass.
	bufferClasses = 4
	// largestClass is the largest buffer that is kept for the next body. What
	// needs more is rare, and gets all it may ever need at once.
	largestClass = leastBuffer * bufferStep * bufferStep * bufferStep
)

// buffers keeps memory for the next bodies. Of those beyond largestClass it
// keeps one, so that large bodies one after the other, which are mostly traps,
// do not each leave their size behind as garbage.
type buffers struct {
	classes [bufferClasses]sync.Pool
	large   atomic.Pointer[buffer]
}

// buffer collects bytes in one piece. Its capacity is paid for by a hold.
type buffer struct {
	data []byte
}

// bufferSize is the size of a buffer for n bytes of a body that is bounded by
// limit, with room for the byte that tells that the bound is passed.
func bufferSize(n, limit int64) int64 {
	n = min(n, limit+1)
	for size := int64(leastBuffer); size <= largestClass; size *= bufferStep {
		if n <= size {
			return size
		}
	}
	return limit + 1
}

// bufferClass is the index of the pool for a size up to largestClass.
func bufferClass(size int64) int { return (bits.Len64(uint64(size/leastBuffer)) - 1) / 2 }

// get returns an empty buffer of a size from bufferSize, which the caller has
// paid for.
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

// put gives the memory of b to the next body.
func (bs *buffers) put(b *buffer) {
	b.data = b.data[:0]
	if size := b.size(); size <= largestClass {
		bs.classes[bufferClass(size)].Put(b)
		return
	}
	bs.large.Store(b)
}

// size is what the buffer costs.
func (b *buffer) size() int64 { return int64(cap(b.data)) }

// room returns the free space behind the data.
func (b *buffer) room() []byte { return b.data[len(b.data):cap(b.data)] }

// widen moves the data of b, whose body is bounded by limit, to the next larger
// buffer, which the caller has paid for.
func (bs *buffers) widen(b *buffer, limit int64) *buffer {
	wide := bs.get(bufferSize(bufferStep*b.size(), limit))
	wide.data = append(wide.data, b.data...)
	bs.put(b)
	return wide
}

// widenOn is widen with the memory paid for by h.
func (bs *buffers) widenOn(ctx context.Context, h *hold, b *buffer, limit int64, pause, resume func()) (*buffer, error) {
	old := b.size()
	if err := h.grow(ctx, bufferSize(bufferStep*old, limit), pause, resume); err != nil {
		return b, err
	}
	wide := bs.widen(b, limit)
	h.shrink(old)
	return wide, nil
}
