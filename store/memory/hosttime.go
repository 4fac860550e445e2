package memory

import (
	"context"
	"maps"
	"time"

	"headway/job"
	"headway/store"
)

var _ store.HostTimes = (*Store)(nil)

// HostTime implements [store.HostTimes].
func (s *Store) HostTime(ctx context.Context, id job.ID) (map[string]time.Duration, error) {
	if err := s.begin(ctx, "host time"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	sums := map[string]time.Duration{}
	if r := s.jobs[id]; r != nil {
		maps.Copy(sums, r.hostTime)
	}
	return sums, nil
}
