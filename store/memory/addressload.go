package memory

import (
	"context"
	"fmt"
	"slices"

	"headway/store"
)

var _ store.AddressLoads = (*Store)(nil)

// ShareAddressLoad implements [store.AddressLoads].
func (s *Store) ShareAddressLoad(ctx context.Context, w store.WorkerID, mine []store.AddressLoad) ([]store.AddressLoad, error) {
	if err := store.CheckAddressLoads(mine); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "address loads"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	said, known := map[store.WorkerID][]store.AddressLoad{}, false
	for _, x := range s.ledger.Workers() {
		said[x.ID], known = s.addressLoads[x.ID], known || x.ID == w
	}
	if !known {
		return nil, fmt.Errorf("worker %d shares its address load: %w", w, store.ErrFenced)
	}
	said[w] = slices.Clone(mine)
	s.addressLoads = said
	var others []store.AddressLoad
	for _, m := range mine {
		sum := store.AddressLoad{Address: m.Address}
		for id, list := range said {
			if i := slices.IndexFunc(list, func(c store.AddressLoad) bool { return c.Address == m.Address }); i >= 0 && id != w {
				sum.Hosts += list[i].Hosts
			}
		}
		if sum.Hosts > 0 {
			others = append(others, sum)
		}
	}
	return others, nil
}
