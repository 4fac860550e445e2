package output

import (
	"context"
	"time"
)

// Archive keeps the exchanges of a fleet's pages in segments: one for each commit and job, which
// is written before the commit. All methods are safe for concurrent use.
type Archive interface {
	// Records encodes an exchange. The records begin with that of the response, which has the
	// returned length and can be read alone. It keeps neither x nor its bytes.
	Records(ctx context.Context, x *Exchange) (records []byte, response int64, err error)
	// Begin returns the first bytes of a segment.
	Begin(key string, now time.Time) ([]byte, error)
	// Put stores a segment: when it returns nil, the segment is durable and complete. It may
	// be called again with the same key and bytes.
	Put(ctx context.Context, key string, segment []byte) error
}
