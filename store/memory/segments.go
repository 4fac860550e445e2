package memory

import (
	"context"

	"headway/store"
)

var _ store.Segments = (*Store)(nil)

// KnownSegments implements [store.Segments].
func (s *Store) KnownSegments(ctx context.Context, keys []string) (map[string]bool, error) {
	if err := s.begin(ctx, "known segments"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	known := map[string]bool{}
	for _, r := range s.jobs {
		for _, k := range keys {
			if r.segments[k] {
				known[k] = true
			}
		}
	}
	return known, nil
}
