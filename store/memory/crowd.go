package memory

import (
	"context"
	"fmt"
	"slices"

	"headway/store"
)

var _ store.Crowds = (*Store)(nil)

// Crowds implements [store.Crowds].
func (s *Store) Crowds(ctx context.Context, w store.WorkerID, mine []store.Crowd) ([]store.Crowd, error) {
	if err := store.CheckCrowds(mine); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "crowds"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	said, known := map[store.WorkerID][]store.Crowd{}, false
	for _, x := range s.ledger.Workers() {
		said[x.ID], known = s.crowds[x.ID], known || x.ID == w
	}
	if !known {
		return nil, fmt.Errorf("worker %d tells its crowds: %w", w, store.ErrFenced)
	}
	said[w] = slices.Clone(mine)
	s.crowds = said
	var others []store.Crowd
	for _, m := range mine {
		sum := store.Crowd{Address: m.Address}
		for id, list := range said {
			if i := slices.IndexFunc(list, func(c store.Crowd) bool { return c.Address == m.Address }); i >= 0 && id != w {
				sum.Hosts += list[i].Hosts
			}
		}
		if sum.Hosts > 0 {
			others = append(others, sum)
		}
	}
	return others, nil
}
