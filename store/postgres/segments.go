package postgres

import (
	"context"
	"fmt"

	"headway/store"
)

var _ store.Segments = (*Store)(nil)

// queueSegments stores the segments of a commit. Their jobs exist, as their visits do.
func (b *batch) queueSegments(segments []store.Segment) {
	if len(segments) == 0 {
		return
	}
	keys, jobs, sizes := make([]string, len(segments)), make([]int32, len(segments)), make([]int64, len(segments))
	for i, s := range segments {
		keys[i], jobs[i], sizes[i] = s.Key, number(s.Job), s.Bytes
	}
	b.exec("insert into segment (key, job, bytes) select * from unnest($1::text[], $2::int[], $3::bigint[])", keys, jobs, sizes)
}

// knownSegments selects those of the keys $1 that are referenced.
const knownSegments = "select key from segment where key = any($1)"

// KnownSegments implements [store.Segments].
func (s *Store) KnownSegments(ctx context.Context, keys []string) (map[string]bool, error) {
	known := map[string]bool{}
	var key string
	if err := s.all(ctx, []any{&key}, func() { known[key] = true }, knownSegments, keys); err != nil {
		return nil, fmt.Errorf("known segments: %w", err)
	}
	return known, nil
}
